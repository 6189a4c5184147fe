# SPDX-License-Identifier: GPL-2.0
"""Every kind of network device that the kernel lets a tenant make.

All that rtnl_link knows in the kernel of torture's checkers, with what each needs to
have a carrier: without one a device drops packets before its qdisc sees them.
"""

from __future__ import annotations

from dataclasses import dataclass

NEAR, FAR = "10.1.0.1", "10.1.0.2"
NEAR6, FAR6 = "fd00::1", "fd00::2"
# A link of the tenant's, which tunnels go through.
BASE = "base"


@dataclass(frozen=True)
class Kind:
    """How to make a device: {d} is its name, {p} and {q} are others that it needs.

    :param commands: of ip; the device itself is in the last that makes one
    :param ethernet: whether its packets begin with an Ethernet header
    """

    commands: tuple[str, ...]
    ethernet: bool = True


def _tunnel(kind: str, more: str = "") -> Kind:
    return Kind((f"link add {{d}} type {kind} local {NEAR} remote {FAR} {more}",), ethernet=False)


def _tunnel6(kind: str, more: str = "") -> Kind:
    return Kind((f"link add {{d}} type {kind} local {NEAR6} remote {FAR6} {more}",), ethernet=False)


def _over(what: str) -> Kind:
    """A device on top of another."""
    return Kind(("link add {p} type dummy", "link set {p} up", f"link add link {{p}} {{d}} {what}"))


def _of_ports(what: str) -> Kind:
    """A device that others are ports of."""
    return Kind(
        (
            "link add {p} type dummy",
            f"link add {{d}} {what}",
            "link set {p} master {d}",
            "link set {p} up",
        )
    )


def _ethernet(kind: Kind) -> Kind:
    return Kind(kind.commands)


KINDS: dict[str, Kind] = {
    "dummy": Kind(("link add {d} numtxqueues 4 type dummy",)),
    "veth": Kind(("link add {d} numtxqueues 2 type veth peer name {p}", "link set {p} up")),
    "ifb": Kind(("link add {d} type ifb",)),
    "bridge": _of_ports("type bridge"),
    "bond": _of_ports("type bond mode balance-rr miimon 100"),
    "team": _of_ports("type team"),
    "batadv": _of_ports("type batadv"),
    "vlan": _over("type vlan id 5"),
    "macvlan": _over("type macvlan mode bridge"),
    "macvtap": _over("type macvtap mode vepa"),
    "ipvlan": _over("type ipvlan mode l3"),
    "ipvtap": _over("type ipvtap mode l2"),
    "macsec": _over("type macsec"),
    "hsr": Kind(
        (
            "link add {p} type dummy",
            "link add {q} type dummy",
            "link set {p} up",
            "link set {q} up",
            "link add {d} type hsr slave1 {p} slave2 {q}",
        )
    ),
    "vrf": Kind(("link add {d} type vrf table 10",)),
    "nlmon": Kind(("link add {d} type nlmon",), ethernet=False),
    "vcan": Kind(("link add {d} type vcan",), ethernet=False),
    "vxcan": Kind(("link add {d} type vxcan peer name {p}", "link set {p} up"), ethernet=False),
    "vxlan": Kind((f"link add {{d}} type vxlan id 5 dstport 4789 remote {FAR} dev {BASE}",)),
    "geneve": Kind((f"link add {{d}} type geneve id 5 remote {FAR}",)),
    "bareudp": Kind(("link add {d} type bareudp dstport 6635 ethertype ip",), ethernet=False),
    "gtp": Kind(("link add {d} type gtp role sgsn",), ethernet=False),
    "amt": Kind((f"link add {{d}} type amt mode gateway discovery {FAR} local {NEAR} dev {BASE}",)),
    "wireguard": Kind(("link add {d} type wireguard",), ethernet=False),
    "gre": _tunnel("gre"),
    "gretap": _ethernet(_tunnel("gretap")),
    "erspan": _ethernet(_tunnel("erspan", "seq key 7 erspan_ver 1 erspan 11")),
    "ip6gre": _tunnel6("ip6gre"),
    "ip6gretap": _ethernet(_tunnel6("ip6gretap")),
    "ip6erspan": _ethernet(_tunnel6("ip6erspan", "seq key 7 erspan_ver 1 erspan 11")),
    "ipip": _tunnel("ipip"),
    "sit": _tunnel("sit"),
    "ip6tnl": _tunnel6("ip6tnl", "mode any"),
    "vti": _tunnel("vti", "key 5"),
    "vti6": _tunnel6("vti6", "key 5"),
    "xfrm": Kind((f"link add {{d}} type xfrm dev {BASE} if_id 5",), ethernet=False),
    # these three are made without ip
    "tun": Kind((), ethernet=False),
    "tap": Kind(()),
    "lo": Kind(()),
}

# What fq_rr may be below: commands of tc for a device {d}, and the places for children. In
# the last, whether a child may hold packets back: QFQ warns of one that does.
PARENTS: dict[str, tuple[tuple[str, ...], int, bool]] = {
    "tbf": (("qdisc replace dev {d} root handle 8: tbf rate 5mbit burst 5000 limit 1m",), 1, True),
    "drr": (
        (
            "qdisc replace dev {d} root handle 8: drr",
            "class add dev {d} parent 8: classid 8:1 drr quantum 1514",
            "class add dev {d} parent 8: classid 8:2 drr quantum 600",
            "filter add dev {d} parent 8: protocol ip prio 1 u32 match ip sport 0 1 flowid 8:1",
            "filter add dev {d} parent 8: protocol all prio 2 matchall flowid 8:2",
        ),
        2,
        True,
    ),
    "qfq": (
        (
            "qdisc replace dev {d} root handle 8: qfq",
            "class add dev {d} parent 8: classid 8:1 qfq weight 10 maxpkt 2000",
            "class add dev {d} parent 8: classid 8:2 qfq weight 1",
            "filter add dev {d} parent 8: protocol ip prio 1 u32 match ip sport 0 1 flowid 8:1",
            "filter add dev {d} parent 8: protocol all prio 2 matchall flowid 8:2",
        ),
        2,
        False,
    ),
    "hfsc": (
        (
            "qdisc replace dev {d} root handle 8: hfsc default 1",
            "class add dev {d} parent 8: classid 8:1 hfsc ls m2 3mbit ul m2 5mbit",
        ),
        1,
        True,
    ),
    "htb": (
        (
            "qdisc replace dev {d} root handle 8: htb default 1",
            "class add dev {d} parent 8: classid 8:1 htb rate 2mbit ceil 5mbit",
        ),
        1,
        True,
    ),
    "ets": (("qdisc replace dev {d} root handle 8: ets bands 2 quanta 1500 3000 priomap 0 1",), 2, True),
    "prio": (("qdisc replace dev {d} root handle 8: prio bands 2 priomap 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1",), 2, True),
    "netem": (
        ("qdisc replace dev {d} root handle 8: netem delay 5ms 3ms reorder 20% duplicate 10% limit 500",),
        1,
        True,
    ),
    "red": (
        (
            "qdisc replace dev {d} root handle 8: red limit 200k min 10k max 60k avpkt 1000"
            " burst 30 bandwidth 5mbit probability 0.1 ecn",
        ),
        1,
        True,
    ),
    "sfb": (("qdisc replace dev {d} root handle 8: sfb",), 1, True),
    "multiq": (("qdisc replace dev {d} root handle 8: multiq",), 1, True),
    "mq": (("qdisc replace dev {d} root handle 8: mq",), 2, True),
}
