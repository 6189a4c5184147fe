"""Two flows through one bottleneck: how much of it they use, how fairly, and how long packets wait.

scripts/lab sweep THIS_FILE.py --set rate_mbit=5,20 --cc pktpair,cubic --qdisc fq_rr,fq_codel --seeds 1-3 --out study
scripts/lab report study
"""

import random

from lab.model.plan import Flow, Plan
from lab.model.scenario import Check, Parameter
from lab.model.topologies import topology

# One sentence that the checks below decide.
CLAIM = "two flows with round trips of 20 and 60 ms share a bottleneck equally"

# What --set may change: default, unit, meaning, lowest and highest value.
PARAMETERS = {
    "rate_mbit": Parameter(10.0, "Mbit/s", "of the bottleneck", 0.5, 200),
    "seconds": Parameter(6.0, "s", "how long each flow sends", 3, 600),
}

# What is run unless --cc or --qdisc say otherwise.
COMBINATIONS = [("pktpair", "fq_rr"), ("cubic", "fq_codel")]


def plan(values, cc, qdisc, seed):
    """One run. Topologies are in mininet-tests/topologies; topology("NAME", file="FILE.py") takes one of yours."""
    network = topology(
        "dumbbell", pairs=2, rate_mbit=values["rate_mbit"], queue=qdisc, limit_packets=500, delays_ms=[20.0, 60.0]
    )
    # what differs from seed to seed is drawn from the seed
    start_s = random.Random(seed).uniform(0, 0.1)
    flows = (
        Flow("near", "s1", "d1", cc, seconds=values["seconds"]),
        Flow("far", "s2", "d2", cc, start_s=start_s, seconds=values["seconds"]),
    )
    return Plan(network, flows, hash_seed=seed, settle_s=2.0)


def checks(values, cc, qdisc):
    """What the claim asserts of a run's metrics; a check that fails is in the table, and ends nothing."""
    return [Check("jain", ">=", 0.95), Check("utilisation", ">=", 0.9)]
