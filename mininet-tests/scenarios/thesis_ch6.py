# SPDX-License-Identifier: GPL-2.0
"""The eight scenarios of Keshav's thesis (1991), chapter 6, with its protocols and switches, on its time scale.

    s1, s2, ... --- r0 ======== r1 (======== r2 ======== r3) --- d1, d2, ...     10 packets of 1000 bytes a second

Protocols are congestion controls: thesis_generic, thesis_jk and thesis_decbit, pktpair_1994, and today's. Switches are
queues: ``fcfs`` is fq_rr with one queue; ``decbit`` is a FIFO with selective DECbit, ``fqbit`` fair queueing that sets
the bit. A Telnet source sends a key some time after the answer to the one before. scripts/lab
reproduce compares them with what is published.
"""

import random
from typing import Any

import numpy as np
from lab.analyse.figures import QUEUE_SAMPLE, SAMPLE, acks_of_flows, arrived, events, jain, unpacked
from lab.model import thesis
from lab.model.benchmarks import OPEN_BUFFERS
from lab.model.plan import TIME_STAMP_BYTES, Flow, Plan, Record, Source
from lab.model.scenario import Check, Parameter, Value, Values
from lab.model.thesis import CASES, INTERVALS, PAYLOAD_BYTES, PERIODS_S

CLAIM = "packet pair with fair queueing gives every source its share, whatever the others do"
PUBLISHED, GENERIC, JK, DECBIT = "pktpair_1994", "thesis_generic", "thesis_jk", "thesis_decbit"
# A lab queue, and its options.
QUEUES = {
    "fcfs": ("fq_rr", "flows 1 drop arriving no-aqm"),
    "fq_rr": ("fq_rr", "drop {drop} no-aqm"),
    "decbit": ("switch_decbit", ""),
    "fqbit": ("switch_fqbit", ""),
}
COMBINATIONS = [
    (PUBLISHED, "fq_rr"),
    *((cc, queue) for cc in (GENERIC, JK) for queue in ("fcfs", "fq_rr")),
    (DECBIT, "decbit"),
    (DECBIT, "fqbit"),
]
PARTNERS = {"generic": GENERIC, "jk": JK}
DROPS = ("longest-tail", "longest-queue")
READINGS = ("each", "all")
PARAMETERS = {
    "scenario": Parameter(1, "", "of the chapter", 1, len(CASES)),
    "partner": Parameter("generic", "", "of scenario 5: what the other two sources are", choices=tuple(PARTNERS)),
    "setpoint": Parameter(5, "packets", "of pktpair_1994", 2, 100),
    "pair_window": Parameter("thesis", "", "of pktpair_1994 in scenarios 1, 2 and 4 to 6", choices=("open", "thesis")),
    "drop": Parameter(DROPS[0], "", "what a full buffer drops with fair queueing", choices=DROPS),
    "cross": Parameter("each", "", "of scenarios 7 and 8: whose the four Poisson sources are", choices=READINGS),
    "panic": Parameter("yes", "", "whether selective DECbit has a panic mode", choices=("no", "yes")),
    "factor": Parameter(0.9, "", "capacity factor of selective DECbit", 0.01, 1),
    "interval": Parameter(0.0, "s", "of seven, of which six are measured; 0: the scenario's", 0, 600),
}
VARIANTS: list[dict[str, Value]] = [{"scenario": number} for number in CASES]
# Packet pair's single probes, of which 6.6.3 speaks at figure 6.13.
SINGLE_PROBES = "pktpair:pktpair_sample"
START_S = 0.5
SAMPLE_S = 2.0
# Of the thesis' protocols, whose module has the scenario's window. That of today's controls is open where it is five
# packets.
WINDOWED = (GENERIC, JK, DECBIT)
LARGE_WINDOW = 40
EACH_ACKED = (PUBLISHED, *WINDOWED, "reno")
# A receiver offers whole segments, which the kernel counts with the time stamps when the connection is made.
SEGMENT_BYTES = PAYLOAD_BYTES + TIME_STAMP_BYTES
# The kernel's TCP_RTO_MAX, which tcp_thesis has as well.
LONGEST_TIMEOUT_S = 120.0
# With these the timeout alone finds losses.
BY_TIMEOUT = {
    f"net.ipv4.tcp_{name}": value
    for name, value in {"recovery": "0", "early_retrans": "0", "frto": "0", "reordering": "127"}.items()
}


def interval_s(values: Values) -> float:
    """A seventh of a run; scenario 3 has three periods instead."""
    number = values["scenario"]
    return float(values["interval"] or CASES[number].interval_s) if number != 3 else CASES[number].interval_s


def end_s(values: Values) -> float:
    """When sources end."""
    return PERIODS_S["on"][1] if values["scenario"] == 3 else INTERVALS * interval_s(values)


def tail_s(number: int) -> float:
    """After so long, what sources had when they ended has arrived: the longest path with full buffers.

    Eight packets have been written and not sent. DECbit's window is one packet where every packet is marked, so that
    they take a round trip each, and the last may be lost twice: timeouts of one, two and four round trips. Where
    packets were lost all the time (scenario 4 over a FIFO), a timer waits for as long as it can.
    """
    case = CASES[number]
    round_trip_s = case.round_trip_s + 2 * max(path.extra_s for path in thesis.files_of(number))
    return case.links * case.buffers * thesis.PACKET_S + 16 * round_trip_s + LONGEST_TIMEOUT_S


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """All start at once, within a hundredth of a second by the seed."""
    number = values["scenario"]
    case, until_s = CASES[number], end_s(values)
    files, telnets = thesis.files_of(number), thesis.telnets_of(number)
    others = thesis.others_of(number, values["cross"])
    queue, options = QUEUES.get(qdisc, (qdisc, ""))
    of_module = queue.startswith("switch_")
    limit = 0 if of_module else case.buffers
    topology = thesis.network(number, [*files, *telnets, *others], queue, limit, options.format(drop=values["drop"]))
    jitter = random.Random(f"starts {seed}")
    flows, sysctls, routes = [], {}, {}
    for place, path in enumerate([*files, *telnets]):
        own = PARTNERS[values["partner"]] if number == 5 and place >= case.files // 2 else cc
        start_s = round(START_S + 0.01 * jitter.random(), 6)
        more: dict[str, Any] = {"exchanges": thesis.keys(seed, path.name, until_s), "until_s": until_s}
        if path in files:
            more = {"seconds": until_s - start_s, "write_bytes": 4 * PAYLOAD_BYTES, "unsent_bytes": 4 * PAYLOAD_BYTES}
            more["packet_bytes"] = thesis.PACKET_BYTES
        flows.append(Flow(f"source{path.name}", path.source, path.sink, own, start_s=start_s, **more))
        sysctls |= {end: BY_TIMEOUT for end in (path.source, path.sink) if own == GENERIC}
        at_sink = ["quickack 1"] if own in EACH_ACKED else []
        limited = own == "reno" or (own == PUBLISHED and values["pair_window"] == "thesis")
        if limited or (case.window >= LARGE_WINDOW and own not in WINDOWED):
            at_sink.append(f"window {case.window * SEGMENT_BYTES} advmss {SEGMENT_BYTES}")
        at_sink += [f"congctl {own}"] if own == DECBIT else []
        if at_sink:
            routes[path.sink] = " ".join(at_sink)
    modules: dict[str, dict[str, str]] = {"tcp_pktpair": {"setpoint_packets": str(values["setpoint"])}}
    if cc != PUBLISHED:
        modules = {}
    if any(flow.cc in WINDOWED for flow in flows):
        modules["tcp_thesis"] = {"window": str(case.window)}
    if of_module:
        modules["sch_thesis"] = {
            **{"limit_packets": str(case.buffers), "rate_bit_s": str(thesis.SLOW_BIT_S)},
            **{"factor_pct": str(round(values["factor"] * 100)), "panic_mode": str(int(values["panic"] == "yes"))},
        }
    buffers = {"net.ipv4.tcp_rmem": OPEN_BUFFERS, "net.ipv4.tcp_wmem": OPEN_BUFFERS}
    return Plan(
        topology,
        tuple(flows),
        tuple(_source(path, number, seed, until_s) for path in others),
        record=Record(sample_s=SAMPLE_S, acks=True, events=(SINGLE_PROBES,) if number == 3 and cc == PUBLISHED else ()),
        observed=tuple(f"r{link}-r{link + 1}" for link in range(case.links)),
        hash_seed=seed,
        sysctls={"*": buffers, **sysctls},
        module_parameters=modules,
        routes=routes,
        settle_s=interval_s(values),
        seconds=until_s + tail_s(number),
    )


def _source(path: thesis.Path, number: int, seed: int, until_s: float) -> Source:
    """The malicious source, the background, or a Poisson source."""
    model: dict[str, Any] = {"model": "constant", "rate_packets_s": thesis.MALICIOUS_PACKETS_S, "start_s": START_S}
    if number == 3:
        model = {"model": "on_off", "rate_packets_s": thesis.BACKGROUND_PACKETS_S, "start_s": START_S}
        model |= {"on_s": thesis.PERIOD_S, "off_s": thesis.PERIOD_S}
    elif number != 4:
        model = {"model": "poisson", "rate_packets_s": thesis.POISSON_PACKETS_S, "start_s": START_S}
        model["seed"] = f"{path.name} {seed}"
    return Source(f"other{path.name}", path.source, path.sink, model, until_s, thesis.PACKET_BYTES)


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """Packets a second, delays and losses of each source, in the measured intervals; of scenario 3 in its periods."""
    number = values["scenario"]
    one_s = interval_s(values)
    told: dict[str, Any] = {}
    periods = {name: (begin_s, end) for name, (begin_s, end) in PERIODS_S.items()}
    if number != 3:
        periods = {"": (one_s, INTERVALS * one_s)}
    for name, (begin_s, end) in periods.items():
        before = f"{name}_" if name else ""
        found = _of_period(plan, raw, begin_s, end, 1 if name else INTERVALS - 1)
        told |= {f"{before}{key}": value for key, value in found.items()}
        if not plan.sources:
            told["drops_measured"] = _dropped(plan, raw, begin_s, end)
    told |= _of_run(plan, raw, end_s(values))
    return told


def _of_period(plan: Plan, raw: dict[str, Any], begin_s: float, end: float, parts: int) -> dict[str, Any]:
    """Of each source between two moments.

    :param parts: intervals in it, of which deviations are taken
    """
    edges_s = np.linspace(begin_s, end, parts + 1)
    acks = acks_of_flows(raw["trace"], raw["begin_s"])
    told: dict[str, Any] = {}
    rates, telnet_rates = [], []
    for flow, result in zip(plan.flows, raw["flows"], strict=True):
        name = flow.name.removeprefix("source")
        if flow.exchanges:
            times = np.array(result["exchanges"], dtype=float).reshape(-1, 2) / 1e9
            own = times[(times[:, 1] >= begin_s) & (times[:, 1] < end)]
            counted = np.histogram(own[:, 1], edges_s)[0] / np.diff(edges_s)
            told |= _told("telnet", name, counted, own[:, 1] - own[:, 0], np.searchsorted(edges_s, own[:, 1], "right"))
            telnet_rates.append(float(np.mean(counted)))
            continue
        seen = acks[plan.port(flow)]
        at = np.array([seen.at(seen.acked_bytes, edge) for edge in edges_s]) / PAYLOAD_BYTES
        counted = np.diff(at) / np.diff(edges_s)
        chosen = (seen.time_s >= begin_s) & (seen.time_s < end) & (seen.rtt_s > 0)
        places = np.searchsorted(edges_s, seen.time_s[chosen], "right")
        told |= _told("file", name, counted, seen.rtt_s[chosen], places)
        again = seen.at(seen.retransmits, end) - seen.at(seen.retransmits, begin_s)
        told[f"again_{name}"] = round(again / (end - begin_s), 4)
        rates.append(float(np.mean(counted)))
    told |= {"sum": round(sum(rates), 4), "file_jain": round(jain(rates), 5)}
    received = [len(one.between(begin_s, end)) / (end - begin_s) for one in arrived(plan, raw).values()]
    return {**told, **({"other_rate": round(sum(received), 4)} if received else {})}


def _told(kind: str, name: str, rates: Any, delays_s: Any, places: Any) -> dict[str, Any]:
    """Means, and deviations of the intervals' means.

    :param rates: packets a second, of each interval
    :param places: of delays, which interval each is in, from 1
    """
    return {
        f"{kind}_rate_{name}": round(float(np.mean(rates)), 4),
        f"{kind}_deviation_{name}": _deviation(rates),
        f"{kind}_delay_{name}": round(float(np.mean(delays_s)), 4) if len(delays_s) else None,
        f"{kind}_delay_deviation_{name}": _deviation(_means(delays_s, places, len(rates))),
    }


def _means(values: Any, places: Any, count: int) -> list[float]:
    """Of each of so many intervals; nothing where one has no value."""
    parts = [values[places == place] for place in range(1, count + 1)]
    return [float(np.mean(part)) for part in parts] if all(len(part) for part in parts) else []


def _deviation(means: Any) -> float | None:
    """Of a sample; None of fewer than two."""
    return round(float(np.std(means, ddof=1)), 4) if len(means) > 1 else None


def _dropped(plan: Plan, raw: dict[str, Any], begin_s: float, end: float) -> int:
    """At all slow lines, to within what happens between two samples."""
    found = unpacked(raw["queues"], QUEUE_SAMPLE)
    total = 0
    for index in range(len(plan.observed)):
        own = found[(found["queue"] == index) & (found["time_ns"] < end * 1e9)]
        before = own[own["time_ns"] < begin_s * 1e9]
        if len(own):
            total += int(own["drops"][-1]) - (int(before["drops"][-1]) if len(before) else 0)
    return total


def _of_run(plan: Plan, raw: dict[str, Any], until_s: float) -> dict[str, Any]:
    """Losses, windows and what is outstanding, from the first packet on."""
    dropped = sum(
        int(entry.get("drops", 0))
        for device in plan.observed
        for entry in raw["qdiscs"][device]
        if not entry.get("root") or len(raw["qdiscs"][device]) == 1
    )
    lost = sum(result["sent"] - result["received"] for result in raw["sources"])
    found = unpacked(raw["samples"], SAMPLE)
    told: dict[str, Any] = {
        # of files and Telnet sources: all that was dropped was either theirs or never arrived
        "drops_of_tcp": dropped - lost,
        "drops_rate": round((dropped - lost) / until_s, 4),
        "other_lost": lost,
        "other_sent": sum(result["sent"] for result in raw["sources"]),
        "length_s": until_s,
    }
    begin_s, end = PERIODS_S["off"]
    for index, flow in enumerate(plan.flows):
        own = found[(found["flow"] == index) & (found["time_ns"] < until_s * 1e9)]
        if flow.exchanges or not len(own):
            continue
        name = flow.name.removeprefix("source")
        told |= {f"most_window_{name}": int(own["cwnd"].max()), f"most_outstanding_{name}": int(own["unacked"].max())}
        # when the news of the background's end has come and windows have grown
        settled = own[(own["time_ns"] >= (begin_s + end) / 2 * 1e9) & (own["time_ns"] < end * 1e9)]
        if len(settled):
            told |= {f"window_off_{name}": [int(settled["cwnd"].min()), int(settled["cwnd"].max())]}
        if SINGLE_PROBES in plan.record.events:
            told[f"probe_jump_on_{name}"] = _greatest_jump(raw, plan.port(flow), *PERIODS_S["on"])
    return told


def _greatest_jump(raw: dict[str, Any], port: int, begin_s: float, end: float) -> float | None:
    """By how much of itself a probe's time for a packet differs from the one before it, at most; None without two."""
    gaps_ns = [
        int(one["gap_ns"]) / int(one["covered_segments"])
        for moment, one in events(raw["trace"], "pktpair_sample")
        if int(one["sport"]) == port and one["verdict"] == "sample" and begin_s <= moment - raw["begin_s"] < end
    ]
    return round(float(np.max(np.abs(np.diff(gaps_ns)) / gaps_ns[:-1])), 4) if len(gaps_ns) > 1 else None


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """Something arrives; what is published is judged over the whole sweep."""
    return [Check("sum" if values["scenario"] != 3 else "off_sum", ">=", 0.01)]
