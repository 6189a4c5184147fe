# SPDX-License-Identifier: GPL-2.0
"""The demo's report: one HTML page without outside resources."""

from __future__ import annotations

import base64
import html
from pathlib import Path
from typing import Any

STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.55 system-ui, sans-serif; color: #222; background: #fff;
       max-width: 68rem; margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin-bottom: .2rem; }
h2 { margin-top: 2.4rem; border-bottom: 1px solid #ddd; padding-bottom: .2rem; }
p, li, dd { max-width: 46rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100%; }
th, td { padding: .35rem .45rem; text-align: right; border-bottom: 1px solid #e5e5e5; white-space: nowrap; }
th { font-weight: 600; vertical-align: bottom; background: #fafafa; }
th:first-child, td:first-child { text-align: left; }
tr.ours { background: #fff4ec; font-weight: 600; }
.scroll { overflow-x: auto; }
.met { color: #00664a; } .missed { color: #a8320a; font-weight: 600; }
figure { margin: 1.2rem 0; } img { max-width: 100%; height: auto; }
figcaption { color: #444; font-size: .95rem; max-width: 46rem; }
dt { font-weight: 600; margin-top: .7rem; }
pre, code { font-family: ui-monospace, monospace; font-size: .92em; }
pre { background: #f6f6f6; padding: .8rem 1rem; overflow-x: auto; }
small { color: #555; }
"""

TOPOLOGY = """
 s1 ---+                          +--- d1     20 ms there and back
 s2 ---+---  r  ===========  x ---+--- d2     40 ms
 s3 ---+       bottleneck         +--- d3     80 ms
 s4 ---+       {rate:^11}         +--- d4    160 ms
"""


def picture(path: Path, caption: str) -> str:
    """A figure with its image inside."""
    data = base64.b64encode(path.read_bytes()).decode()
    return (
        f'<figure><img alt="{html.escape(caption)}" src="data:image/png;base64,{data}">'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def milliseconds(seconds: float) -> str:
    """Three digits are enough."""
    return f"{seconds * 1e3:.1f}"


def table(runs: list[dict[str, Any]]) -> str:
    """The rows of the terminal's table."""
    head = (
        "<tr><th>congestion control<br>+ queue</th><th>link used</th><th>Jain<br>index</th>"
        "<th>goodput per flow, Mbit/s<br><small>20, 40, 80, 160 ms</small></th>"
        "<th>queue delay, ms<br><small>p50</small></th><th><small>p95</small></th><th><small>p99</small></th>"
        "<th>retrans-<br>mitted</th><th>dropped</th><th>p99 in the<br>start, ms</th></tr>"
    )
    body = []
    for run in runs:
        m = run["metrics"]
        ours = ' class="ours"' if run["cc"] == "pktpair" else ""
        rates = "&ensp;".join(f"{rate / 1e6:.2f}" for rate in m["window_goodput_bit_s"])
        body.append(
            f"<tr{ours}><td>{run['cc']} + {run['qdisc']}</td><td>{m['utilisation'] * 100:.1f} %</td>"
            f"<td>{m['jain']:.4f}</td><td>{rates}</td><td>{milliseconds(m['queue_delay_p50_s'])}</td>"
            f"<td>{milliseconds(m['queue_delay_p95_s'])}</td><td>{milliseconds(m['queue_delay_p99_s'])}</td>"
            f"<td>{m['retransmits']}</td><td>{m['drops']}</td>"
            f"<td>{milliseconds(m['start_queue_delay_p99_s'])}</td></tr>"
        )
    return f'<div class="scroll"><table>{head}{"".join(body)}</table></div>'


def goal_list(goals: list[dict[str, Any]]) -> str:
    """Met or missed, each with its figure."""
    lines = []
    for goal in goals:
        word = "met" if goal["met"] else "missed"
        lines.append(f'<li><span class="{word}">{word}</span>: {html.escape(goal["text"])}</li>')
    return f"<ul>{''.join(lines)}</ul>"


def page(runs: list[dict[str, Any]], goals: list[dict[str, Any]], pictures: dict[str, Path], minutes: float) -> str:
    """The whole report."""
    first = runs[0]
    values = first["parameters"]
    rate = f"{values['rate_mbit']:g}"
    begin, end = first["metrics"]["window_s"]
    modules = ", ".join(f"{name} ({version})" for name, version in first["modules"].items())
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Packet pair beside its peers</title><style>{STYLE}</style></head><body>
<h1>Packet pair beside its peers</h1>
<p><small>kernel {html.escape(first["kernel"])}, clock {first["clock"]}, seed {first["seed"]},
modules {html.escape(modules)}; measured in {minutes:.1f} minutes</small></p>

<h2>What was done</h2>
<p>Four computers send as much as they can through one router to four receivers. The paths are unequal: the
shortest takes 20 ms there and back, the longest eight times that. All share one link of {rate} Mbit/s:</p>
<pre>{TOPOLOGY.format(rate=f"{rate} Mbit/s")}</pre>
<p>This was done {len(runs)} times, with the same kernel, the same traffic (iperf3) and the same network, and only two
things changed: <b>how senders choose their rate</b> (the congestion control: CUBIC, Linux's default; BBR; and
<b>pktpair</b>, this project's) and <b>how the router queues</b> (pfifo, one queue for all; fq_codel and CAKE, which
serve flows in turn and drop when packets wait too long; and <b>fq_rr</b>, this project's, which serves flows in
turn and does no more).</p>

<h2>What came out</h2>
{table(runs)}
<p>What this project wants of <b>pktpair + fq_rr</b> here:</p>
{goal_list(goals)}

<h2>How it works</h2>
<p>Where a router serves flows in turn, two packets that a sender lets go back to back leave the router <em>n</em>
packet times apart, if <em>n</em> flows are waiting. The receiver's acknowledgements carry that gap back, so the sender
reads its fair rate off the gap, without first having to cause a loss (as CUBIC must) or to push more than its share
into the network for a while (as BBR does). And since it knows its rate and what it has outstanding, it knows how many
of its packets are waiting in the router, and keeps a handful there: enough that the link never idles, few enough that
nobody waits.</p>
<p>So look for three things: the four flows get the same although their paths differ; the link is full; and the
queue stays short, from the start on. The others reach one or two of the three, and most pay for it with packets that
are dropped and sent again.</p>

<h2>Goodput</h2>
{
        picture(
            pictures["goodput"],
            "What each flow delivers, over time, in bins of a quarter of a second. Equal shares lie "
            "on top of each other. Grey: the start, which the table's columns leave out.",
        )
    }

<h2>Queue delay</h2>
{
        picture(
            pictures["delay_over_time"],
            "Each dot is an acknowledgement: how much longer its packet took than it would "
            "have on an empty path. The scale is logarithmic: from one line to the next is ten times. In the single "
            "queue of pfifo anybody else's packets, a voice call's for example, would wait as long.",
        )
    }
{
        picture(
            pictures["delay_cdf"],
            "The same as a distribution over all flows: the further left a curve is, the shorter "
            "the wait; where it crosses 0.5 is the median.",
        )
    }

<h2>What the words mean</h2>
<dl>
<dt>window</dt><dd>What is measured lies between {begin:.1f} s and {end:.1f} s, when all flows are sending and have had
{values["settle"]:g} s to settle. The start is shown apart.</dd>
<dt>link used</dt><dd>Packets delivered in the window, with their IP and TCP headers, over what {rate} Mbit/s allow in
that time. Ethernet headers count on neither side.</dd>
<dt>goodput</dt><dd>Payload acknowledged in the window, over its length.</dd>
<dt>Jain index</dt><dd>1 if all flows have the same goodput, 0.25 if one of four has it all.</dd>
<dt>queue delay</dt><dd>The round trip that an acknowledgement shows, minus the path's own. p50, p95, p99: half of all
acknowledgements, 95 and 99 in a hundred, show no more.</dd>
<dt>retransmitted, dropped</dt><dd>Segments sent again by the senders, and packets dropped in the bottleneck, over the
whole run.</dd>
<dt>virtual time</dt><dd>The guest's clock counts its instructions, and jumps while it idles. The figures therefore
hardly depend on how fast or how busy this computer is, and another run gives the same or very nearly so.</dd>
</dl>

<h2>Go on from here</h2>
<pre>scripts/lab list                                   # more experiments
scripts/lab run demo-dumbbell --cc pktpair --qdisc fq_codel --set rate_mbit=10
scripts/lab run demo-dumbbell --cc cubic --qdisc pfifo --pcap
scripts/lab shell                                  # the machine it ran on</pre>
<p>Every run's figures lie beside this page as JSON; <code>summary.json</code> holds the table.
<code>Documentation/lab.rst</code> describes the lab, <code>Documentation/tcp_pktpair.rst</code> and
<code>Documentation/fq_rr.rst</code> the modules.</p>
</body></html>
"""
