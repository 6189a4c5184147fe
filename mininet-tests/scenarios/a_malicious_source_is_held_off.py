# SPDX-License-Identifier: GPL-2.0
"""A source that sends at the link's rate, come what may, beside a file and a keyboard.

S. Keshav's thesis (1991), scenario 4 (6.6.4, table 6.7): FTP, Telnet and an
"ill-behaved" source of ten packets a second share a link of ten packets a second.
First come, first served, the first two are shut out; with fair queueing each has
what it needs or half the link.  There, who loses packets does not pay for them;
had he to, "malicious sources would have got almost zero throughput": that is
``charge-drops``, but for what a debt is bounded by.  A source that overflows the buffer
only once in two seconds pays for 64 packets, is served again, and takes its turns until
the next overflow.

The thesis' figure 6.14 is lost, so the buffer (20 packets) is what its round trips of
2.1 s with one queue tell.  Its access lines of 800 kbit/s are here the time of one
packet on them.  Round trips are TCP's for the file, one way for the keyboard, whose
packets nobody answers here (an answer of 40 bytes would take 0.4 ms).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from lab.analyse.figures import acks_of_flows, arrived, rounded
from lab.model.flows import dumbbell
from lab.model.layout import lay_out
from lab.model.plan import TCP_HEADER_BYTES, TIME_STAMP_BYTES, Command, Flow, Plan, Source
from lab.model.scenario import Check, Parameter, Value, Values

CLAIM = "a malicious source has no more than its share (thesis, table 6.7), and with charge-drops less than half of it"
# The thesis' JK and PP.
COMBINATIONS = [("reno", "fq_rr"), ("pktpair", "fq_rr")]
DISCIPLINES = {
    "fair": "",
    "charged": "charge-drops",
    # one queue that drops what arrives is what the thesis calls FCFS
    "first-come": "flows 1 drop arriving",
}
VARIANTS: list[dict[str, Value]] = [{"discipline": name} for name in DISCIPLINES]
PARAMETERS = {
    "discipline": Parameter("fair", "", "how the link is shared", choices=tuple(DISCIPLINES)),
    "interval": Parameter(25.0, "s", "a seventh of the run; the first is not measured", 10, 600),
}
RATE_BIT_S = 80_000
PACKET_BYTES = 1000
PACKET_S = PACKET_BYTES * 8 / RATE_BIT_S
ACCESS_MS = 10.0
BUFFER_PACKETS = 20
INTERVALS = 7
# What the file's receiver offers: five segments, which the kernel counts with the
# time stamps' 12 bytes when the connection is made, and without later. It rounds to
# whole segments, of the size that the receiver's own route tells.
SEGMENT_BYTES = PACKET_BYTES - TCP_HEADER_BYTES + TIME_STAMP_BYTES
WINDOW_BYTES = 5 * SEGMENT_BYTES
KEY_BYTES, KEY_GAP_S = 40, 5.0
START_S = 0.5
# Neither buffer of the socket is to hold minutes of data when time is up.
SOCKET_BYTES, BLOCK_BYTES = 20_000, 4740
# Table 6.7, packets/s and s: with fair queueing, by what sends the file
PUBLISHED = {"reno": {"file": 5.02, "malicious": 4.97, "rtt": 1.00}, "pktpair": {"file": 5.09, "malicious": 4.90}}
# With drops charged the malicious source has a quarter of what it has else: at most a
# half, and the file at least what that leaves of the link.
CHARGED_PACKETS_S = 2.5
CHARGED_FILE_PACKETS_S = 7.5
# The thesis' file has 2.38 there.
FIRST_COME_PACKETS_S = 3.2


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """All start at once, each from its own host."""
    end_s = INTERVALS * values["interval"]
    # the thesis has no delay control
    options = f"no-aqm {DISCIPLINES[values['discipline']]}".rstrip() if qdisc == "fq_rr" else ""
    network = dumbbell(qdisc, RATE_BIT_S, (ACCESS_MS,) * 3, BUFFER_PACKETS, PACKET_BYTES, options)
    # the receiver reads its route when the connection is made
    (route,) = lay_out(network).routes("d1")
    window = ("window", str(WINDOW_BYTES), "advmss", str(SEGMENT_BYTES))
    limited = Command("limit", 0.0, "d1", ("ip", "route", "change", *route.split(), *window))
    keys = {"model": "poisson", "rate_packets_s": 1 / KEY_GAP_S, "start_s": START_S, "seed": f"keys {seed}"}
    always = {"model": "constant", "rate_packets_s": 1 / PACKET_S, "start_s": START_S}
    return Plan(
        network,
        (
            Flow(
                "f1",
                "s1",
                "d1",
                cc,
                start_s=START_S,
                seconds=end_s - START_S,
                connects="start",
                packet_bytes=PACKET_BYTES,
                window_bytes=SOCKET_BYTES,
                write_bytes=BLOCK_BYTES,
            ),
        ),
        (
            Source("keys", "s2", "d2", keys, end_s, KEY_BYTES),
            Source("malicious", "s3", "d3", always, end_s, PACKET_BYTES),
        ),
        # pktpair needs no limit to know when to stop
        () if cc.startswith("pktpair") else (limited,),
        hash_seed=seed,
        settle_s=values["interval"],
    )


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """Packets a second and delays, over all intervals but the first."""
    begin_s, end_s = values["interval"], INTERVALS * values["interval"]
    seconds = end_s - begin_s
    seen = acks_of_flows(raw["trace"], raw["begin_s"])[plan.port(plan.flows[0])]
    payload_bytes = seen.at(seen.acked_bytes, end_s) - seen.at(seen.acked_bytes, begin_s)
    chosen = (seen.time_s >= begin_s) & (seen.time_s < end_s) & (seen.rtt_s > 0)
    figures: dict[str, Any] = {
        "file_packets_s": rounded(payload_bytes / (PACKET_BYTES - TCP_HEADER_BYTES) / seconds, 3),
        "file_rtt_s": rounded(np.mean(seen.rtt_s[chosen])) if chosen.any() else None,
    }
    for name, packets in arrived(plan, raw).items():
        delay_s = packets.between(begin_s, end_s)
        figures[f"{name}_packets_s"] = rounded(len(delay_s) / seconds, 3)
        figures[f"{name}_delay_s"] = rounded(np.mean(delay_s)) if len(delay_s) else None
    return figures


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """Table 6.7 for the file and the malicious source within 8 %, and that keys are not delayed."""
    if qdisc != "fq_rr":
        return []
    if values["discipline"] == "first-come":
        return [Check("file_packets_s", "<=", FIRST_COME_PACKETS_S)]
    found = [
        # a random number of keys: the mean is 0.2
        Check("keys_packets_s", ">=", 0.15),
        # a packet on the link and half a one more
        Check("keys_delay_s", "<=", 1.5 * PACKET_S),
    ]
    published = PUBLISHED.get(cc)
    if values["discipline"] == "charged":
        return [
            *found,
            Check("malicious_packets_s", "<=", CHARGED_PACKETS_S),
            Check("file_packets_s", ">=", CHARGED_FILE_PACKETS_S),
        ]
    if published:
        for name in ("file", "malicious"):
            found.append(Check(f"{name}_packets_s", "in", [published[name] * 0.92, published[name] * 1.08]))
        if "rtt" in published:
            found.append(Check("file_rtt_s", "in", [published["rtt"] * 0.75, published["rtt"] * 1.25]))
    return found
