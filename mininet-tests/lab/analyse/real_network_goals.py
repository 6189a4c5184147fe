# SPDX-License-Identifier: GPL-2.0
"""Rows of ``lab real-networks``, and the goals that they are judged by. Nothing is measured or drawn here.

A goal is about tcp_pktpair's runs of one case, over its seeds, or about all cases in turn together. What a
peer got in the same case, with the same starts, is the limit of some.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..model.real_networks import CASES, PACKET_PAIR, Case
from ..model.scenario import Check
from .figures import rounded
from .real_networks import PREFIX, RECOVERED, RECOVERY_LIMIT_S
from .verdict import Row, Verdict, mean

OURS, FAST, FAIR = PACKET_PAIR, "bbr", "cubic"
# Of every row, in this order; some kinds have further ones.
FIELDS = (
    *("case", "cc", "peers", "qdisc", "seed", "goodput_mbit", "fair_mbit", "utilisation", "delay_p50_s"),
    *("delay_p99_s", "rtt_max_s", "retransmits", "others_retransmits", "packets", "rounds", "false_alarms"),
    *("alarm_rounds", "route_alarms"),
)
FURTHER = ("start_utilisation", "recovery_s", "recovery_delay_p99_s")
# Where turns are taken, ACKs in slots or with jitter, or packets lost at random.
DELAY_BEYOND_BBR_S = 0.010
RETRANSMITTED = 0.005
USED = 0.97
START_USED = 0.9
# Where packets are lost at random.
LOSSY_USED = 0.8
ROUTE_DELAY_S = 0.05
# Of one more CUBIC flow's goodput in the same place: as a mean over seeds, and of any seed.
SHARE, SHARE_OF_A_SEED = (0.7, 1.3), (0.4, 2.0)
# Of the losses that one more CUBIC flow causes to others.
LOSSES_OF_OTHERS = 1.2
# What tcp_pktpair holds in a queue: its setpoint, and a shortest train as it comes.
SETPOINT_PACKETS, SETPOINT_S, TRAIN_PACKETS = 5, 0.005, 4
FULL_FRAME_BITS = 1500 * 8
POLICER_USED, POLICER_LOST = 0.9, 0.03
# One false alarm in so many round trips, and one is allowed whatever their number.
ROUNDS_OF_AN_ALARM = 5000
ALL_IN_TURN = "all in turn"


def rows(measured: Iterable[tuple[Row, Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Lines of summary.json.

    ``fair_mbit`` of a FIFO or a bucket is what CUBIC got in the same place with the same seed, None if that was not
    measured; elsewhere the payload of the link's rate over its flows.

    :param measured: of each run case, cc and seed, and what was found
    """
    pairs = list(measured)
    of_cubic = {(asked["case"], asked["seed"]): found["goodput_mbit"] for asked, found in pairs if asked["cc"] == FAIR}
    made = []
    for asked, found in pairs:
        case = CASES[asked["case"]]
        shares = case.kind in ("fifo", "bucket")
        fair = of_cubic.get((asked["case"], asked["seed"])) if shares else rounded(case.payload_share_mbit)
        row = {**asked, "peers": case.beside, "qdisc": qdisc(case), "fair_mbit": fair, **found}
        made.append({name: row[name] for name in (*FIELDS, *FURTHER) if name in row})
    return made


def qdisc(case: Case) -> str:
    """The bottleneck's queue, for people."""
    size = f"{case.pipes:g} BDP"
    return {"fifo": f"{case.queue}, {size}", "bucket": f"{case.queue} flows 1"}.get(case.kind, case.queue)


def _sum(group: Sequence[Row], name: str) -> int:
    return sum(int(row[name]) for row in group)


def judge(all_rows: Sequence[Row]) -> list[Verdict]:
    """Every goal that the rows allow to judge: a case needs all three congestion controls."""
    by_case: dict[str, dict[str, list[Row]]] = {}
    for row in all_rows:
        by_case.setdefault(row["case"], {}).setdefault(row["cc"], []).append(row)
    found: list[Verdict] = []
    for name, by_cc in by_case.items():
        if {OURS, FAST, FAIR} <= by_cc.keys():
            found += of_case(name, CASES[name], by_cc[OURS], by_cc[FAST], by_cc[FAIR])
    return found + of_alarms([row for row in all_rows if row["cc"] == OURS and CASES[row["case"]].in_turn])


def of_case(name: str, case: Case, ours: Sequence[Row], bbr: Sequence[Row], cubic: Sequence[Row]) -> list[Verdict]:
    """The goals of a case's kind; a kind of which nothing is said is there for its alarms."""
    if case.kind in ("slot", "jitter"):
        least_lost = max(_sum(cubic, "retransmits"), RETRANSMITTED * _sum(ours, "packets"))
        return [
            of_delay(name, ours, bbr),
            Verdict(name, "retransmissions", "<=", rounded(least_lost), _sum(ours, "retransmits")),
            Verdict(name, "utilisation", ">=", USED, rounded(mean(ours, "utilisation"))),
        ]  # fmt: skip
    if case.kind == "loss":
        return [
            of_delay(name, ours, bbr),
            Verdict(name, "utilisation", ">=", LOSSY_USED, rounded(mean(ours, "utilisation"))),
        ]
    if case.kind == "gro":
        return [Verdict(name, "retransmissions", "<=", _sum(cubic, "retransmits"), _sum(ours, "retransmits"))]
    if case.kind == "start":
        return [Verdict(name, "utilisation from the fifth round trip on", ">=", START_USED,
                        rounded(mean(ours, "start_utilisation")))]  # fmt: skip
    if case.kind == "route":
        limit_s = RECOVERY_LIMIT_S[case.path_ms, case.longer_ms]
        return [
            Verdict(name, f"s until {RECOVERED * 100:g} % of the link are used", "<=", limit_s,
                    rounded(mean(ours, "recovery_s"))),
            Verdict(name, "queue delay p99 meanwhile, s", "<", ROUTE_DELAY_S,
                    rounded(mean(ours, "recovery_delay_p99_s"))),
        ]  # fmt: skip
    if case.kind == "policer":
        lost = _sum(ours, "retransmits") / max(1, _sum(ours, "packets"))
        return [
            Verdict(name, "utilisation", ">=", POLICER_USED, rounded(mean(ours, "utilisation"))),
            Verdict(name, "lost part", "<", POLICER_LOST, rounded(lost)),
        ]
    if case.kind in ("fifo", "bucket"):
        return of_alone(name, case, ours) if case.alone else of_share(name, ours, cubic)
    return []


def of_delay(name: str, ours: Sequence[Row], bbr: Sequence[Row]) -> Verdict:
    """Beside BBR's queue in the same place."""
    limit_s = rounded(mean(bbr, "delay_p99_s") + DELAY_BEYOND_BBR_S)
    return Verdict(name, "queue delay p99, s", "<=", limit_s, rounded(mean(ours, "delay_p99_s")))


def of_alone(name: str, case: Case, ours: Sequence[Row]) -> list[Verdict]:
    """A flow alone on a FIFO keeps its setpoint there."""
    packet_s = FULL_FRAME_BITS / (case.rate_mbit * 1e6)
    limit_s = min(SETPOINT_PACKETS * packet_s, SETPOINT_S) + TRAIN_PACKETS * packet_s
    return [
        Verdict(name, "utilisation", ">=", USED, rounded(mean(ours, "utilisation"))),
        Verdict(name, "queue delay p50, s", "<=", rounded(limit_s), rounded(mean(ours, "delay_p50_s"))),
    ]


def of_share(name: str, ours: Sequence[Row], cubic: Sequence[Row]) -> list[Verdict]:
    """Beside what one more CUBIC flow gets, and does to the others, in the same place."""
    share = rounded(mean(ours, "goodput_mbit") / mean(cubic, "goodput_mbit"))
    of_seeds = [rounded(float(row["goodput_mbit"]) / float(row["fair_mbit"])) for row in ours]
    return [
        Verdict(name, "of CUBIC's goodput, least", ">=", SHARE[0], share),
        Verdict(name, "of CUBIC's goodput, most", "<=", SHARE[1], share),
        Verdict(name, "of CUBIC's goodput, least of a seed", ">=", SHARE_OF_A_SEED[0], min(of_seeds)),
        Verdict(name, "of CUBIC's goodput, most of a seed", "<=", SHARE_OF_A_SEED[1], max(of_seeds)),
        Verdict(name, "retransmissions of others", "<=",
                rounded(LOSSES_OF_OTHERS * _sum(cubic, "others_retransmits")), _sum(ours, "others_retransmits")),
    ]  # fmt: skip


def of_alarms(in_turn: Sequence[Row]) -> list[Verdict]:
    """All cases in turn together."""
    if not in_turn:
        return []
    limit = max(1.0, _sum(in_turn, "rounds") / ROUNDS_OF_AN_ALARM)
    return [Verdict(ALL_IN_TURN, "false alarms", "<=", rounded(limit), _sum(in_turn, "false_alarms"))]


def checks(case: Case, cc: str) -> list[Check]:
    """What a run can be asked by itself, without a peer's: how much of the link is used."""
    if cc != OURS:
        return []
    if case.kind == "start":
        return [Check(f"{PREFIX}start_utilisation", ">=", START_USED)]
    least = {"slot": USED, "jitter": USED, "loss": LOSSY_USED, "fifo": USED, "policer": POLICER_USED}.get(case.kind)
    if least is None or (case.kind == "fifo" and not case.alone):
        return []
    return [Check(f"{PREFIX}utilisation", ">=", least)]
