#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Every option of fq_rr through tc and back, and every way to get one wrong.

Run in the lab, with TC_LIB_DIR naming the plugin's folder.  Prints TAP.
"""

from __future__ import annotations

import json
import os
import re
import struct
import sys
import time
from pathlib import Path

from in_guest.link import Sender
from in_guest.netlink import attribute
from in_guest.qdisc import (
    STATISTICS,
    backlogs,
    configure,
    fq_rr,
    module_users,
    newer_tc,
    policy,
    qdiscs,
    request,
    run_on_v0,
    snapshot,
    tc,
    the_kernel_has_not_complained,
)
from in_guest.tap import Json, equal, expect, run

# numbers of the attributes, as in pkt_sched_fq_rr.h
LIMIT, MEMORY_LIMIT, FLOWS, QUANTUM, RATE64, OVERHEAD = 2, 3, 4, 5, 6, 7
MPU, SCHEDULER, DROP, SPLIT_GSO, SEED = 8, 9, 10, 11, 12
QLBP, MU_MIN, MU_MAX, Q_MAX, LOAD, MAX_DELAY = 13, 14, 15, 16, 17, 18
MODE, CHARGE_DROPS, ECN, UNUSED = 19, 20, 21, 22
LAYER, FRAMING, CATCH_UP = 23, 24, 25
AQM, TARGET, INTERVAL, CE_THRESHOLD, NOECN = 26, 27, 28, 29, 30
HOSTS, NAT = 31, 32
# and of a class's
WEIGHT = 1

DEFAULTS: Json = {
    "limit": None,
    "memory_limit": None,
    "flows": 1024,
    "quantum": None,
    "rate": None,
    "overhead": 0,
    "mpu": 0,
    "scheduler": "drr",
    "drop": "longest-queue",
    "split_gso": True,
    "seed": None,
    "layer": "frame",
    "framing": "plain",
    "catch_up_us": 2000,
    "qlbp": False,
    "mode": "flow",
    "charge_drops": False,
    "ecn": None,
    "aqm": True,
    "target_us": 5000,
    "interval_us": 100000,
    "ce_threshold_us": None,
    "noecn": False,
    "hosts": "none",
    "nat": False,
}

# further options that there are with qlbp
QLBP_DEFAULTS: Json = {
    "qlbp": True,
    "mu_min": None,
    "mu_max": None,
    "q_max": None,
    "load": 80,
    "max_delay_us": 10000,
}

# a link's name, and what it stands for in the manual page of CAKE: overhead, mpu, framing
LINKS = {
    "conservative": (48, 0, "atm"),
    "pppoa-vcmux": (10, 0, "atm"),
    "pppoa-llc": (14, 0, "atm"),
    "pppoe-vcmux": (32, 0, "atm"),
    "pppoe-llcsnap": (40, 0, "atm"),
    "bridged-vcmux": (24, 0, "atm"),
    "bridged-llcsnap": (32, 0, "atm"),
    "ipoa-vcmux": (8, 0, "atm"),
    "ipoa-llcsnap": (16, 0, "atm"),
    "pppoe-ptm": (30, 0, "ptm"),
    "bridged-ptm": (22, 0, "ptm"),
    "docsis": (18, 64, "plain"),
    "ethernet": (38, 84, "plain"),
    "ethernet ether-vlan ether-vlan": (46, 84, "plain"),
}

# what is typed, the key in JSON, the value there
ROUND_TRIPS: list[tuple[str, str, object]] = [
    ("limit 1", "limit", 1),
    ("limit auto", "limit", None),
    ("memory-limit auto", "memory_limit", None),
    ("limit 1048576", "limit", 1 << 20),
    ("memory-limit 131072", "memory_limit", 128 << 10),
    ("memory-limit 1g", "memory_limit", 1 << 30),
    ("memory-limit 200000b", "memory_limit", 200000),
    ("memory-limit 1.5mb", "memory_limit", 3 << 19),
    ("flows 1", "flows", 1),
    ("flows 65536", "flows", 65536),
    ("quantum 256", "quantum", 256),
    ("quantum 1048576", "quantum", 1 << 20),
    ("quantum 3k", "quantum", 3072),
    ("quantum auto", "quantum", None),
    ("rate 8kbit", "rate", 1000),
    ("rate 41120kbit", "rate", 5140000),
    ("rate 9999999bps", "rate", 9999999),
    ("rate 100gbit", "rate", 12500000000),
    ("rate 1tbit", "rate", 125000000000),
    ("rate unlimited", "rate", None),
    ("overhead -64", "overhead", -64),
    ("overhead 256", "overhead", 256),
    ("mpu 0", "mpu", 0),
    ("mpu 256", "mpu", 256),
    ("scheduler drr", "scheduler", "drr"),
    ("scheduler strict", "scheduler", "strict"),
    ("drop longest-queue", "drop", "longest-queue"),
    ("drop longest-head", "drop", "longest-head"),
    ("drop longest-tail", "drop", "longest-tail"),
    ("drop arriving", "drop", "arriving"),
    ("split-gso", "split_gso", True),
    ("no-split-gso", "split_gso", False),
    ("seed 1", "seed", 1),
    ("seed 4294967295", "seed", 2**32 - 1),
    ("seed random", "seed", None),
    ("layer ip", "layer", "ip"),
    ("layer frame", "layer", "frame"),
    ("catch-up 0", "catch_up_us", 0),
    ("catch-up 250", "catch_up_us", 250),
    ("catch-up 2.5ms", "catch_up_us", 2500),
    ("catch-up 1s", "catch_up_us", 1000000),
    ("framing atm", "framing", "atm"),
    ("framing ptm", "framing", "ptm"),
    ("framing plain", "framing", "plain"),
    ("atm", "framing", "atm"),
    ("ptm", "framing", "ptm"),
    ("noatm", "framing", "plain"),
    ("overhead 20 ether-vlan", "overhead", 24),
    ("no-qlbp", "qlbp", False),
    ("hosts src", "hosts", "src"),
    ("hosts dst", "hosts", "dst"),
    ("hosts both", "hosts", "both"),
    # before mode class, with which there are none
    ("hosts none", "hosts", "none"),
    ("no-nat", "nat", False),
    ("nat", "nat", True),
    ("mode flow", "mode", "flow"),
    ("mode src-host", "mode", "src-host"),
    ("mode dst-host", "mode", "dst-host"),
    ("mode class", "mode", "class"),
    ("charge-drops", "charge_drops", True),
    ("no-charge-drops", "charge_drops", False),
    ("ecn 1", "ecn", 1),
    ("ecn 100", "ecn", 100),
    ("ecn off", "ecn", None),
    ("aqm", "aqm", True),
    ("no-aqm", "aqm", False),
    ("target 10", "target_us", 10),
    ("target 2.5ms", "target_us", 2500),
    ("target 70ms", "target_us", 70000),
    ("target 5ms", "target_us", 5000),
    ("interval 5ms", "interval_us", 5000),
    ("interval 10s", "interval_us", 10000000),
    ("ce-threshold 10us", "ce_threshold_us", 10),
    ("ce-threshold 10s", "ce_threshold_us", 10000000),
    ("ce-threshold off", "ce_threshold_us", None),
    ("noecn", "noecn", True),
    ("ecn", "noecn", False),
]

# the same with a rate of 100 Mbit/s and qlbp
QLBP_ROUND_TRIPS: list[tuple[str, str, object]] = [
    ("mu-min 8kbit", "mu_min", 1000),
    ("mu-min 90mbit", "mu_min", 11250000),
    ("mu-min auto", "mu_min", None),
    ("mu-max 100mbit", "mu_max", 12500000),
    ("mu-max 40mbit", "mu_max", 5000000),
    ("mu-max auto", "mu_max", None),
    ("q-max 60", "q_max", 60),
    ("q-max 10000b", "q_max", 10000),
    ("q-max 1g", "q_max", 1 << 30),
    ("q-max auto", "q_max", None),
    ("load 1", "load", 1),
    ("load 100", "load", 100),
    ("max-delay 6", "max_delay_us", 6),
    ("max-delay 2.5ms", "max_delay_us", 2500),
    ("max-delay 10s", "max_delay_us", 10000000),
]

# what is typed, and what the message must contain: the value and the limit
BAD_WORDS: list[tuple[str, list[str]]] = [
    ("limit 0", ["limit", '"0"', "1..1048576", "auto"]),
    ("memory-limit 0", ["memory-limit", '"0"', "131072..1073741824", "auto"]),
    ("limit 1048577", ["limit", '"1048577"', "1..1048576"]),
    ("limit -1", ["limit", '"-1"', "1..1048576"]),
    ("limit 10x", ["limit", '"10x"', "whole number"]),
    ("limit 99999999999999999999", ["limit", "99999999999999999999", "1..1048576"]),
    ("memory-limit 131071", ["memory-limit", '"131071"', "131072..1073741824"]),
    ("memory-limit 5G", ["memory-limit", '"5G"', "131072..1073741824"]),
    ("memory-limit nan", ["memory-limit", '"nan"', "131072..1073741824"]),
    ("flows 0", ["flows", '"0"', "1..65536"]),
    ("flows 65537", ["flows", '"65537"', "1..65536"]),
    ("quantum 255", ["quantum", '"255"', "256..1048576", "auto"]),
    ("quantum 1048577", ["quantum", '"1048577"', "256..1048576"]),
    ("rate 0", ["rate", '"0"', "8000bit..1000Gbit", "unlimited"]),
    ("rate 7kbit", ["rate", '"7kbit"', "8000bit..1000Gbit"]),
    ("rate 2tbit", ["rate", '"2tbit"', "8000bit..1000Gbit"]),
    ("rate -5mbit", ["rate", '"-5mbit"', "8000bit..1000Gbit"]),
    ("rate fast", ["rate", '"fast"', "8000bit..1000Gbit"]),
    ("overhead -65", ["overhead", '"-65"', "-64..256"]),
    ("overhead 257", ["overhead", '"257"', "-64..256"]),
    ("mpu 257", ["mpu", '"257"', "0..256"]),
    ("mpu -1", ["mpu", '"-1"', "0..256"]),
    ("scheduler fifo", ["scheduler", '"fifo"', "drr | strict"]),
    ("drop newest", ["drop", '"newest"', "longest-queue | longest-head | longest-tail | arriving"]),
    ("seed 0", ["seed", '"0"', "1..4294967295", "random"]),
    ("seed 4294967296", ["seed", '"4294967296"', "1..4294967295"]),
    ("qlbp mu-min 7kbit", ["mu-min", '"7kbit"', "8000bit..1000Gbit", "auto"]),
    ("qlbp mu-max 2tbit", ["mu-max", '"2tbit"', "8000bit..1000Gbit", "auto"]),
    ("qlbp q-max 59", ["q-max", '"59"', "60..1073741824", "auto"]),
    ("qlbp q-max 2g", ["q-max", '"2g"', "60..1073741824", "auto"]),
    ("qlbp load 0", ["load", '"0"', "1..100"]),
    ("qlbp load 101", ["load", '"101"', "1..100"]),
    ("qlbp max-delay 0", ["max-delay", '"0"', "1us..10s"]),
    ("qlbp max-delay 11s", ["max-delay", '"11s"', "1us..10s"]),
    ("qlbp max-delay soon", ["max-delay", '"soon"', "1us..10s"]),
    ("no-limit 5", ["what is", '"no-limit"']),
    ("mode port", ["mode", '"port"', "flow | src-host | dst-host | class"]),
    ("ecn 0", ["ecn", '"0"', "1..100", "off"]),
    ("ecn 101", ["ecn", '"101"', "1..100"]),
    ("charge-drops no-charge-drops", ["charge-drops", "twice"]),
    ("layer wire", ["layer", '"wire"', "frame | ip"]),
    ("catch-up -1", ["catch-up", '"-1"', "0us..1s"]),
    ("catch-up 1.1s", ["catch-up", '"1.1s"', "0us..1s"]),
    ("catch-up late", ["catch-up", '"late"', "0us..1s"]),
    ("target 9", ["target", '"9"', "10us..10s"]),
    ("target 11s", ["target", '"11s"', "10us..10s"]),
    ("target soon", ["target", '"soon"', "10us..10s"]),
    ("interval 0", ["interval", '"0"', "10us..10s"]),
    ("interval 10001ms", ["interval", '"10001ms"', "10us..10s"]),
    ("ce-threshold 0", ["ce-threshold", '"0"', "10us..10s", "off"]),
    ("ce-threshold 11s", ["ce-threshold", '"11s"', "10us..10s", "off"]),
    ("ecn noecn", ["noecn", "twice"]),
    ("aqm no-aqm", ["aqm", "twice"]),
    ("no-noecn", ["what is", '"no-noecn"']),
    ("hosts dual", ["hosts", '"dual"', "none | src | dst | both"]),
    ("hosts", ["hosts needs a value"]),
    ("nat no-nat", ["nat", "twice"]),
    ("framing sdh", ["framing", '"sdh"', "plain | atm | ptm"]),
    ("atm framing ptm", ["framing", "twice"]),
    ("docsis overhead 8", ["overhead", "twice"]),
    ("limit 5 ether-vlan", ["ether-vlan", "4", "overhead"]),
    ("overhead 253 ether-vlan", ["overhead 257", "-64..256"]),
    ("rate", ["rate needs a value"]),
    ("limit 5 quantum", ["quantum needs a value"]),
    ("colour red", ["what is", '"colour"', "Usage"]),
    ("limit 5 limit 6", ["limit", "twice"]),
    ("split-gso no-split-gso", ["split-gso", "twice"]),
]


# characters that the kernel (since 6.2) keeps of a message; the rest is cut off
MESSAGE_LENGTH = 79


def u32(kind: int, value: int) -> bytes:
    """A 32-bit attribute."""
    return attribute(kind, struct.pack("=I", value & 0xFFFFFFFF))


def u64(kind: int, value: int) -> bytes:
    """A 64-bit attribute."""
    return attribute(kind, struct.pack("=Q", value & (2**64 - 1)))


# attributes that tc would not send, and what the kernel's message must contain
BAD_ATTRIBUTES: list[tuple[bytes, list[str]]] = [
    (u32(LIMIT, 2**20 + 1), ["limit 1048577 ", "1..1048576 packets"]),
    (u32(LIMIT, 2**32 - 1), ["limit 4294967295 ", "1..1048576 packets"]),
    (u32(MEMORY_LIMIT, 131071), ["memory-limit 131071 ", "131072..1073741824 bytes"]),
    (u32(MEMORY_LIMIT, 2**30 + 1), ["memory-limit 1073741825 ", "131072..1073741824"]),
    (u32(FLOWS, 0), ["flows 0 ", "1..65536"]),
    (u32(FLOWS, 65537), ["flows 65537 ", "1..65536"]),
    (u32(FLOWS, 512), ["flows 1024 is fixed", "512"]),
    (u32(SEED, 8), ["seed 7 is fixed", "8"]),
    (u32(QUANTUM, 1), ["quantum 1 ", "256..1048576 bytes"]),
    (u32(QUANTUM, 2**20 + 1), ["quantum 1048577 ", "256..1048576 bytes"]),
    (u64(RATE64, 0), ["rate 0 ", "1000..125000000000 bytes/s"]),
    (u64(RATE64, 999), ["rate 999 ", "1000..125000000000 bytes/s"]),
    (u64(RATE64, 125000000001), ["rate 125000000001 ", "1000..125000000000 bytes/s"]),
    (u64(RATE64, 2**64 - 2), ["rate 18446744073709551614 ", "1000..125000000000 bytes/s"]),
    (u64(RATE64, 2**63), ["rate 9223372036854775808 ", "1000..125000000000 bytes/s"]),
    (u32(OVERHEAD, -65), ["overhead -65 ", "-64..256 bytes"]),
    (u32(OVERHEAD, 257), ["overhead 257 ", "-64..256 bytes"]),
    (u32(MPU, 257), ["mpu 257 ", "0..256 bytes"]),
    (u32(SCHEDULER, 2), ["scheduler 2 ", "0..1"]),
    (u32(DROP, 4), ["drop 4 ", "0..3"]),
    (u32(SPLIT_GSO, 2), ["split-gso 2 ", "0..1"]),
    (u32(LAYER, 2), ["layer 2 ", "0..1"]),
    (u32(FRAMING, 3), ["framing 3 ", "0..2"]),
    (u32(CATCH_UP, 1000001), ["catch-up 1000001 ", "0..1000000 us"]),
    (u32(QLBP, 2), ["qlbp 2 ", "0..1"]),
    (u64(MU_MIN, 999), ["mu-min 999 ", "1000..125000000000 bytes/s"]),
    (u64(MU_MAX, 125000000001), ["mu-max 125000000001 ", "1000..125000000000 bytes/s"]),
    (u32(Q_MAX, 59), ["q-max 59 ", "60..1073741824 bytes"]),
    (u32(Q_MAX, 2**30 + 1), ["q-max 1073741825 ", "60..1073741824 bytes"]),
    (u32(LOAD, 0), ["load 0 ", "1..100 per cent"]),
    (u32(LOAD, 101), ["load 101 ", "1..100 per cent"]),
    (u32(MAX_DELAY, 0), ["max-delay 0 ", "1..10000000 us"]),
    (u32(MAX_DELAY, 10000001), ["max-delay 10000001 ", "1..10000000 us"]),
    (u32(MODE, 4), ["mode 4 ", "0..3"]),
    (u32(CHARGE_DROPS, 2), ["charge-drops 2 ", "0..1"]),
    (u32(ECN, 101), ["ecn 101 ", "1..100 per cent"]),
    (u32(UNUSED, 1), ["Unsupported attribute"]),
    (u32(AQM, 2), ["aqm 2 ", "0..1"]),
    (u32(TARGET, 9), ["target 9 ", "10..10000000 us"]),
    (u32(TARGET, 10000001), ["target 10000001 ", "10..10000000 us"]),
    (u32(INTERVAL, 0), ["interval 0 ", "10..10000000 us"]),
    (u32(INTERVAL, 2**32 - 1), ["interval 4294967295 ", "10..10000000 us"]),
    (u32(CE_THRESHOLD, 9), ["ce-threshold 9 ", "10..10000000 us"]),
    (u32(CE_THRESHOLD, 10000001), ["ce-threshold 10000001 ", "10..10000000 us"]),
    (u32(NOECN, 2), ["noecn 2 ", "0..1"]),
    (u32(HOSTS, 4), ["hosts 4 ", "0..3"]),
    (u32(NAT, 2), ["nat 2 ", "0..1"]),
]

# values outside an option's range that mean auto, none or unlimited
WORDS = {
    RATE64: [2**64 - 1],
    **{kind: [0] for kind in (LIMIT, MEMORY_LIMIT, QUANTUM, MU_MIN, MU_MAX, Q_MAX, ECN, CE_THRESHOLD)},
}

# what contradicts itself or the rate: options, attributes, what the message says
CONTRADICTIONS: list[tuple[str, bytes, list[str]]] = [
    ("", u32(QLBP, 1), ["qlbp without a rate needs mu-min and mu-max"]),
    ("", u64(MU_MIN, 5000), ["mu-min", "without qlbp"]),
    ("", u64(MU_MAX, 5000), ["mu-max", "without qlbp"]),
    ("", u32(Q_MAX, 5000), ["q-max", "without qlbp"]),
    ("", u32(LOAD, 50), ["load", "without qlbp"]),
    ("", u32(MAX_DELAY, 5000), ["max-delay", "without qlbp"]),
    ("", u32(TARGET, 100001), ["target 100001 is above interval 100000 us"]),
    ("", u32(HOSTS, 1) + u32(MODE, 3), ["hosts 1: must be 0 with mode class"]),
    ("mode class", u32(HOSTS, 3), ["hosts 3: must be 0 with mode class"]),
    ("hosts dst", u32(MODE, 3), ["hosts 2: must be 0 with mode class"]),
    ("", u32(INTERVAL, 4999), ["target 5000 is above interval 4999 us"]),
    ("target 5ms", u32(TARGET, 9000) + u32(INTERVAL, 8999), ["target 9000 is above interval 8999 us"]),
    ("rate 8mbit qlbp", u64(MU_MAX, 10**6 + 1), ["mu-max 1000001 ", "rate 1000000 bytes/s"]),
    ("rate 8mbit qlbp", u64(MU_MIN, 900001), ["mu-min 900001 ", "mu-max 900000 bytes/s"]),
    ("rate 8mbit qlbp mu-max 8mbit", u64(RATE64, 999999), ["mu-max 1000000 ", "rate 999999 bytes/s"]),
    ("rate 8mbit qlbp", u64(RATE64, 2**64 - 1), ["without a rate needs mu-min and mu-max"]),
    ("rate 8mbit qlbp", u32(MAX_DELAY, 66), ["q-max 59 ", "60..1073741824 bytes"]),
    ("rate 900gbit qlbp", u32(MAX_DELAY, 10**7), ["q-max 1012500000000 ", "60..1073741824 bytes"]),
    (
        "rate 1000gbit qlbp mu-max 1000gbit q-max 60",
        u64(RATE64, 124999999999),
        ["mu-max 125000000000 is above the rate 124999999999 bytes/s"],
    ),
]

# attributes that are no attributes: what, and why
MALFORMED: list[tuple[bytes, str]] = [
    (attribute(LIMIT, b"\1"), "a limit of one byte"),
    (attribute(LIMIT, b"\1" * 8), "a limit of eight bytes"),
    (attribute(RATE64, b"\1" * 4), "a rate of four bytes"),
    (attribute(99, b"\1\0\0\0"), "an attribute that does not exist"),
    (struct.pack("HH", 400, LIMIT) + b"\0" * 4, "an attribute longer than its nest"),
    (struct.pack("HH", 2, LIMIT), "an attribute shorter than its header"),
]


def options() -> Json:
    """The options of the qdisc as tc reports them."""
    found = fq_rr()["options"]
    assert isinstance(found, dict)
    return found


def fresh(arguments: str = "") -> None:
    """Replace whatever is at the root by a new fq_rr."""
    if snapshot() is not None:
        tc("qdisc del dev v0 root")
    tc(f"qdisc add dev v0 root handle 1: fq_rr {arguments}")


def nat_names_the_module_that_is_missing() -> None:
    """Without nf_conntrack, nat is refused by name, when created and by a change; with it, it is taken."""
    module = Path("/sys/module/nf_conntrack")
    expect(not module.exists(), "the table of connections is there before anybody wants it")
    fresh("limit 77")
    before = snapshot()
    errno, text = request(u32(LIMIT, 50) + u32(NAT, 1))
    expect(errno, "accepted")
    expect("nat" in text and "nf_conntrack" in text, f"no module in {text!r}")
    expect(snapshot() == before, "changed something")
    tc("qdisc del dev v0 root")
    done = tc("qdisc add dev v0 root handle 1: fq_rr nat hosts src", check=False)
    expect(done.returncode != 0, "created")
    expect("nf_conntrack" in done.stderr, f"no module in {done.stderr!r}")
    run("modprobe", "nf_conntrack")
    fresh("nat hosts src")
    # it has its value whatever becomes of the module, and can be changed
    run("modprobe", "-r", "nf_conntrack")
    tc("qdisc change dev v0 root fq_rr limit 9")
    equal((options()["nat"], options()["limit"]), (True, 9), "nat and limit")
    tc("qdisc change dev v0 root fq_rr no-nat")
    expect(tc("qdisc change dev v0 root fq_rr nat", check=False).returncode, "nat again, without the module")
    run("modprobe", "nf_conntrack")


def defaults_are_as_documented() -> None:
    """A qdisc added without options."""
    fresh()
    equal(options(), DEFAULTS, "options")


ODD = (
    "limit 77 memory-limit 777777 flows 64 quantum 3000 rate 12345kbit overhead -11 mpu 64 "
    "scheduler strict drop longest-tail no-split-gso seed 5 "
    "mode dst-host charge-drops ecn 33 layer ip framing atm catch-up 1500us "
    "no-aqm target 7ms interval 70ms ce-threshold 3ms noecn hosts src"
)


def paste() -> None:
    """Replace the qdisc by one with the options that tc prints of it."""
    wanted = snapshot()
    text = tc("qdisc show dev v0").stdout.split("refcnt 2 ")[1].strip()
    fresh(text)
    expect(snapshot() == wanted, f"given back, {text!r} is something else")


def every_option_comes_back() -> None:
    """Set at creation: the value comes back, the others are the defaults."""
    for typed, key, value in ROUND_TRIPS:
        fresh(typed)
        equal(options(), DEFAULTS | {key: value}, typed)
        paste()


def every_option_of_qlbp_comes_back() -> None:
    """Each at creation, one by change; none is left when qlbp is switched off."""
    plain = DEFAULTS | {"rate": 12500000}
    for typed, key, value in QLBP_ROUND_TRIPS:
        fresh(f"rate 100mbit qlbp {typed}")
        equal(options(), plain | QLBP_DEFAULTS | {key: value}, typed)
        paste()
    tc("qdisc change dev v0 root fq_rr load 50")
    equal(options(), plain | QLBP_DEFAULTS | {key: value, "load": 50}, "change load 50")
    tc("qdisc change dev v0 root fq_rr no-qlbp")
    equal(options(), plain, "no-qlbp")
    tc("qdisc change dev v0 root fq_rr qlbp")
    equal(options(), plain | QLBP_DEFAULTS, "qlbp again")
    fresh("qlbp mu-min 8kbit mu-max 9kbit q-max 100")
    paste()


def contradictions_are_refused_by_the_kernel() -> None:
    """The message names both sides, nothing changes."""
    for typed, bad, wanted in CONTRADICTIONS:
        tc("qdisc del dev v0 root")
        configure(typed, create=True)
        before = snapshot()
        errno, text = request(u32(MPU, 99) + bad)
        expect(errno, f"{typed!r} and {wanted}: accepted")
        for part in wanted:
            expect(part in text, f"{typed!r}: no {part!r} in {text!r}")
        expect(len(text) <= MESSAGE_LENGTH, f"longer than {MESSAGE_LENGTH}: {text!r}")
        expect(snapshot() == before, f"{typed!r} and {wanted}: changed something")


def automatic_parameters_follow_the_rules_of_thumb() -> None:
    """(1 + load) / 2 and load / 2 of the rate, and what that sends in max-delay."""
    fresh("rate 100mbit qlbp load 80 max-delay 10ms")
    wanted = {"mu_min_Bps": 5000000, "mu_max_Bps": 11250000, "q_max_bytes": 112500, "pacing_bound_ns": 10**7}
    found = fq_rr()
    equal({key: found[key] for key in wanted}, wanted, "at 100 Mbit/s")
    tc("qdisc change dev v0 root fq_rr rate 50mbit load 50")
    wanted = {"mu_min_Bps": 1562500, "mu_max_Bps": 4687500, "q_max_bytes": 46875, "pacing_bound_ns": 10**7}
    found = fq_rr()
    equal({key: found[key] for key in wanted}, wanted, "at 50 Mbit/s")


def a_change_keeps_the_others() -> None:
    """Set by change on a qdisc where everything differs from the defaults."""
    fresh(ODD)
    paste()
    for typed, key, value in ROUND_TRIPS:
        if key in ("flows", "seed"):
            continue
        before = options()
        tc(f"qdisc change dev v0 root fq_rr {typed}")
        equal(options(), before | {key: value}, f"change {typed}")
    unchanged = snapshot()
    tc("qdisc change dev v0 root fq_rr")
    expect(snapshot() == unchanged, "a change of nothing changes something")
    tc("qdisc change dev v0 root fq_rr flows 64 seed 5")
    expect(snapshot() == unchanged, "flows and seed as they are change something")


def links_have_the_names_of_cake() -> None:
    """Each sets overhead, mpu, framing and layer, whatever they were."""
    fresh("overhead -11 mpu 9 layer frame framing ptm limit 77")
    for name, (overhead, mpu, framing) in LINKS.items():
        wanted = {"overhead": overhead, "mpu": mpu, "framing": framing, "layer": "ip"}
        tc(f"qdisc change dev v0 root fq_rr {name}")
        equal(options(), DEFAULTS | {"limit": 77} | wanted, name)
    tc("qdisc change dev v0 root fq_rr raw")
    equal(options(), DEFAULTS | {"limit": 77}, "raw")


def bad_words_are_refused_by_tc() -> None:
    """Each message names value and limit, and nothing changes."""
    fresh("limit 100 seed 7")
    before = snapshot()
    for typed, wanted in BAD_WORDS:
        # a good option first, which must not take effect
        good = "" if typed.split()[0] in ("mpu", "docsis") else "mpu 9"
        done = tc(f"qdisc change dev v0 root fq_rr {good} {typed}", check=False)
        expect(done.returncode != 0, f"{typed}: accepted")
        for text in wanted:
            expect(text in done.stderr, f"{typed}: no {text!r} in {done.stderr!r}")
        expect(snapshot() == before, f"{typed}: changed something")


def bad_attributes_are_refused_by_the_kernel() -> None:
    """Past tc's checks: message with value and limit, nothing changes.

    Each request also carries good attributes before and after the bad one,
    which must not take effect.
    """
    fresh("limit 100 seed 7")
    before = snapshot()
    for bad, wanted in BAD_ATTRIBUTES:
        for good in (u32(MPU, 99), u64(RATE64, 10**6)):
            if good[2:4] == bad[2:4]:
                continue
            errno, text = request(good + bad)
            expect(errno, f"{wanted}: accepted")
            for part in wanted:
                expect(part in text, f"no {part!r} in {text!r}")
            expect(len(text) <= MESSAGE_LENGTH, f"longer than {MESSAGE_LENGTH}: {text!r}")
            errno, _ = request(bad + good)
            expect(errno, f"{wanted}: accepted")
        expect(snapshot() == before, f"{wanted}: changed something")


def each_range_is_in_the_policy() -> None:
    """What is beyond an option's range, and is no word of its, is refused by the policy, which says the range."""
    fresh("limit 100 seed 7")
    refused = set()
    for bad, wanted in BAD_ATTRIBUTES:
        limits = re.search(r"(-?\d+)\.\.(\d+)", " ".join(wanted[1:]))
        if not limits:
            continue
        kind, value = struct.unpack_from("H", bad, 2)[0], int(wanted[0].split()[1])
        known = [int(limits[1]), int(limits[2]), *WORDS.get(kind, ())]
        hull = min(known), max(known)
        beyond = not hull[0] <= value <= hull[1]
        equal(policy(bad), hull if beyond else None, f"{wanted}: by the policy")
        refused |= {kind} if beyond else set()
    # between its word, 0, and its greatest value nothing is beyond
    equal(
        refused, {struct.unpack_from("H", bad, 2)[0] for bad, _ in BAD_ATTRIBUTES} - {SEED, UNUSED, MU_MIN}, "options"
    )


def malformed_attributes_are_refused_by_the_kernel() -> None:
    """What no tc would send."""
    fresh("limit 100 seed 7")
    before = snapshot()
    for bad, reason in MALFORMED:
        errno, _ = request(u32(LIMIT, 50) + bad)
        expect(errno, f"{reason}: accepted")
        expect(snapshot() == before, f"{reason}: changed something")
    errno, _ = request(u32(LIMIT, 50), nested=False)
    expect(errno, "options that are not marked as a nest: accepted")
    expect(snapshot() == before, "a nest not marked: changed something")


def good_attributes_by_hand_are_taken() -> None:
    """The same road as the bad ones, so their refusal means something."""
    fresh("limit 100 seed 7")
    equal(request(u32(LIMIT, 50) + u64(RATE64, 1000)), (0, ""), "request")
    equal((options()["limit"], options()["rate"]), (50, 1000), "limit and rate")
    tc("qdisc del dev v0 root")
    errno, _ = request(u32(LIMIT, 2**20 + 1), create=True)
    expect(errno, "limit 1048577 at creation: accepted")
    equal([q["kind"] for q in qdiscs()], ["noqueue"], "qdiscs after a creation that failed")
    equal(request(u32(LIMIT, 51), create=True), (0, ""), "creation")
    equal(options()["limit"], 51, "limit")


def fixed_options_cannot_change() -> None:
    """Packets of one flow would be in two queues."""
    fresh("flows 64 seed 5")
    before = snapshot()
    for typed, wanted in (("flows 65", "flows 64 is fixed"), ("seed random", "seed 5 is fixed")):
        done = tc(f"qdisc change dev v0 root fq_rr limit 5 {typed}", check=False)
        expect(done.returncode != 0, f"{typed}: accepted")
        expect(wanted in done.stderr, f"{typed}: {done.stderr!r}")
        expect(snapshot() == before, f"{typed}: changed something")
    # the longest message that there is
    fresh("seed 4294967295")
    errno, text = request(u32(SEED, 2**32 - 2))
    expect(errno, "another seed: accepted")
    expect(text.endswith("4294967294: delete it first"), f"message cut off: {text!r}")
    expect(len(text) <= MESSAGE_LENGTH, f"longer than {MESSAGE_LENGTH}: {text!r}")


def a_weight_comes_back() -> None:
    """As it is given, and can be given again; other queues keep theirs."""
    fresh("flows 64 seed 7")
    for weight in (1, 2, 255):
        tc(f"class change dev v0 classid 1:5 fq_rr weight {weight}")
        shown = tc("class show dev v0").stdout
        equal("class fq_rr 1:5" in shown, weight != 1, f"a class of weight {weight} and no packets is shown: {shown!r}")
        if weight != 1:
            expect(f"weight {weight} " in shown, f"no weight {weight} in {shown!r}")
    tc("class replace dev v0 classid 1:40 fq_rr weight 3")
    tc("class change dev v0 classid 1:40 fq_rr")
    equal(sorted(re.findall(r"class fq_rr (\S+)", tc("class show dev v0").stdout)), ["1:40", "1:5"], "classes")
    expect("weight" in tc("class change dev v0 classid 1:5 fq_rr help", check=False).stderr, "help")


def a_newer_tc_reads_and_prints_the_same() -> None:
    """One that prints classes in JSON, as this machine's may not: options, statistics, a class and its weight."""
    newer = newer_tc()
    pacing = "rate 100mbit qlbp mu-min 8kbit mu-max 90mbit q-max 10000b load 50 max-delay 2500us hosts both"
    for arguments in ("", ODD, pacing):
        fresh(arguments)
        wanted = snapshot()
        equal(json.loads(tc("-s -j qdisc show dev v0", program=newer).stdout), qdiscs(), f"{arguments!r} in JSON")
        for command in ("qdisc show dev v0", "-s qdisc show dev v0"):
            equal(tc(command, program=newer).stdout, tc(command).stdout, f"{arguments!r} as text")
        tc("qdisc del dev v0 root")
        tc(f"qdisc add dev v0 root handle 1: fq_rr {arguments}", program=newer)
        expect(snapshot() == wanted, f"read by a newer tc, {arguments!r} is something else")
    fresh("flows 64 seed 7")
    tc("class change dev v0 classid 1:5 fq_rr weight 9", program=newer)
    (shown,) = json.loads(tc("-s -j class show dev v0", program=newer).stdout)
    equal((shown["class"], shown["handle"], shown["weight"], shown["stats"]["qlen"]), ("fq_rr", "1:5", 9, 0), "class")
    done = tc("class change dev v0 classid 1:5 fq_rr weight 256", check=False, program=newer)
    expect(done.returncode and "1..255" in done.stderr, f"weight 256: {done.stderr!r}")
    done = tc("qdisc change dev v0 root fq_rr target 11s", check=False, program=newer)
    expect(done.returncode and "10us..10s" in done.stderr, f"target 11s: {done.stderr!r}")


def bad_weights_are_refused() -> None:
    """By tc and by the kernel, with value and limit; nothing changes."""
    fresh("flows 64 seed 7")
    tc("class change dev v0 classid 1:5 fq_rr weight 9")
    before = tc("class show dev v0").stdout
    for typed, wanted in (
        ("1:5 fq_rr weight 0", ["weight", '"0"', "1..255"]),
        ("1:5 fq_rr weight 256", ["weight", '"256"', "1..255"]),
        ("1:5 fq_rr weight", ["weight needs a value"]),
        ("1:5 fq_rr limit 5", ["what is", '"limit"', "Usage"]),
        ("1:0 fq_rr weight 2", []),
        ("1:41 fq_rr weight 2", []),
    ):
        done = tc(f"class change dev v0 classid {typed}", check=False)
        expect(done.returncode != 0, f"{typed}: accepted")
        for text in wanted:
            expect(text in done.stderr, f"{typed}: no {text!r} in {done.stderr!r}")
    for minor, options_given, wanted in (
        (5, u32(WEIGHT, 0), ["weight 0 ", "1..255"]),
        (5, u32(WEIGHT, 256), ["weight 256 ", "1..255"]),
        (5, u32(WEIGHT, 2**32 - 1), ["weight 4294967295 ", "1..255"]),
        (5, attribute(WEIGHT, b"\1"), []),
        (65, u32(WEIGHT, 2), ["class 65 ", "1..64"]),
    ):
        # the kernel asks for a class only where one may be created
        errno, text = request(options_given, minor=minor, create=minor > 64)
        expect(errno, f"{wanted}: accepted")
        for part in wanted:
            expect(part in text, f"no {part!r} in {text!r}")
    equal(tc("class show dev v0").stdout, before, "classes")


def help_shows_every_option() -> None:
    """The usage line has every keyword."""
    text = tc("qdisc add dev v0 root fq_rr help", check=False).stderr
    for name in LINKS:
        expect(name.split()[-1] in text, f"no {name} in {text!r}")
    for typed, _, _ in ROUND_TRIPS + QLBP_ROUND_TRIPS:
        expect(typed.split()[0] in text, f"no {typed.split()[0]} in {text!r}")


def statistics_are_numbers() -> None:
    """-s in text and JSON; every statistic is there."""
    fresh("rate 1mbit qlbp hosts src")
    sender = Sender(1000)
    sender.send(500, 5)
    found = fq_rr()
    sender.close()
    for key in filter(None, STATISTICS):
        expect(isinstance(found.get(key), int), f"{key}: {found.get(key)!r}")
    equal(found["enqueued"], 5, "enqueued")
    equal(found["quantum_bytes"], 1514, "quantum of an Ethernet device")
    expect("drops flushed 0" in tc("-s qdisc show dev v0").stdout, "text of -s")


def the_module_is_held_while_in_use() -> None:
    """The module is not removed from under a qdisc, and cleanly after it."""
    fresh("rate 8kbit")
    sender = Sender(1000)
    sender.send(1514, 1000)
    expect(backlogs()["fq_rr"][0], "no packet is queued")
    done = run("rmmod", "sch_fq_rr", check=False)
    expect(done.returncode != 0 and "in use" in done.stderr, f"rmmod: {done.stderr!r}")
    tc("qdisc del dev v0 root")
    sender.close()
    path = module_path()
    # what ran before may have left a namespace, which dies when it likes
    for _ in range(600):
        if not module_users():
            break
        time.sleep(0.1)
    run("rmmod", "sch_fq_rr")
    run("insmod", path)
    fresh()


def module_path() -> str:
    """Where the module was built for this kernel, or $FQ_RR_MODULE."""
    top = Path(__file__).resolve().parents[2]
    built = top / "build" / os.uname().release / "qdisc" / "sch_fq_rr.ko"
    return os.environ.get("FQ_RR_MODULE", str(built))


def main() -> int:
    """Run all, or those named on the command line, in order."""
    return run_on_v0(
        [
            nat_names_the_module_that_is_missing,
            defaults_are_as_documented,
            every_option_comes_back,
            every_option_of_qlbp_comes_back,
            contradictions_are_refused_by_the_kernel,
            automatic_parameters_follow_the_rules_of_thumb,
            a_change_keeps_the_others,
            links_have_the_names_of_cake,
            bad_words_are_refused_by_tc,
            bad_attributes_are_refused_by_the_kernel,
            each_range_is_in_the_policy,
            malformed_attributes_are_refused_by_the_kernel,
            good_attributes_by_hand_are_taken,
            fixed_options_cannot_change,
            a_weight_comes_back,
            a_newer_tc_reads_and_prints_the_same,
            bad_weights_are_refused,
            help_shows_every_option,
            statistics_are_numbers,
            the_module_is_held_while_in_use,
            the_kernel_has_not_complained,
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
