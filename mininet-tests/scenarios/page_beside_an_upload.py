# SPDX-License-Identifier: GPL-2.0
"""A web page over a home uplink while the same host uploads, and another host does too.

The page is 20 connections, each with five responses of 20 kB and a pause after each; its requests and
acknowledgments go up the link, where the uploads are. ``lab router`` judges it beside its peers.
"""

import random
from typing import Any

from lab.model.benchmarks import OPEN_BUFFERS
from lab.model.flows import BLOCK_BYTES, UNSENT_BYTES
from lab.model.plan import Exchange, Flow, Plan
from lab.model.scenario import Check, Parameter, Values
from lab.model.topologies import topology

CLAIM = "a page of 2 MB comes soon beside uploads of its own host and of another"
COMBINATIONS = [("cubic", "fq_rr"), ("cubic", "cake")]
PARAMETERS = {
    "up_mbit": Parameter(5.0, "Mbit/s", "rate of the uplink", 1, 100),
    "page_path_ms": Parameter(40.0, "ms", "of the empty path", 1, 200),
    "uploads": Parameter(1, "", "of the page's host", 1, 20),
    "others_uploads": Parameter(4, "", "of the other host", 0, 20),
}
# What makes hosts share the link, and a host's flows its part.
OPTIONS = {"fq_rr": "hosts src", "cake": "dual-srchost"}
CONNECTIONS, RESPONSES = 20, 5
REQUEST_BYTES, RESPONSE_BYTES = 500, 20_000
PAUSES_S = (0.02, 0.2)
# Uploads have found their shares then.
PAGE_S, SECONDS = 4.0, 14.0
UPLOADS_WITHIN_S = 0.2


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """Pauses and starts are the seed's."""
    network = topology(
        "dumbbell",
        pairs=2,
        rate_mbit=values["up_mbit"],
        queue=qdisc,
        limit_packets=0,
        delays_ms=[values["page_path_ms"]],
        options=OPTIONS.get(qdisc, ""),
    )
    drawn = random.Random(seed)

    def upload(name: str, pair: int) -> Flow:
        start_s = round(drawn.random() * UPLOADS_WITHIN_S, 6)
        return Flow(name, f"s{pair}", f"d{pair}", cc, start_s=start_s, seconds=SECONDS - start_s,
                    write_bytes=BLOCK_BYTES, unsent_bytes=UNSENT_BYTES)  # fmt: skip

    own = [upload(f"up{number + 1}", 1) for number in range(values["uploads"])]
    others = [upload(f"other{number + 1}", 2) for number in range(values["others_uploads"])]
    page = []
    for number in range(CONNECTIONS):
        pauses = [round(drawn.uniform(*PAUSES_S), 3) for _ in range(RESPONSES)]
        exchanges = tuple(Exchange(REQUEST_BYTES, RESPONSE_BYTES, pause_s) for pause_s in pauses)
        page.append(Flow(f"page{number + 1}", "s1", "d1", cc, start_s=PAGE_S, exchanges=exchanges,
                         connects="start", background=True))  # fmt: skip
    return Plan(
        network,
        (*own, *others, *page),
        hash_seed=seed,
        settle_s=2.0,
        sysctls={"*": {"net.ipv4.tcp_rmem": OPEN_BUFFERS, "net.ipv4.tcp_wmem": OPEN_BUFFERS}},
    )


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """From the page's first connection to its last byte, s."""
    ended_ns = [result["exchanges"][-1][1] for result in raw["flows"] if result["name"].startswith("page")]
    began_ns = [result["exchanges"][0][0] for result in raw["flows"] if result["name"].startswith("page")]
    return {"page_s": round((max(ended_ns) - min(began_ns)) / 1e9, 6)}


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """A page has less than the time of a person's patience."""
    return [Check("page_s", "<=", 10.0), Check("utilisation", ">=", 0.9)]
