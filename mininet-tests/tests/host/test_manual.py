# SPDX-License-Identifier: GPL-2.0
"""fq_rr's manual page: for whom it is, what stays bad, and its worked numbers, computed anew."""

import math
import re

import pytest
from conftest import TOP

PAGE = (TOP / "tc-plugin" / "tc-fq_rr.8").read_text()
FULL_FRAME_BYTES = 1514
# of AAL5 over ATM: a cell, its payload, and what PPPoE by VC multiplexing adds to an IP packet
CELL_BYTES, CELL_PAYLOAD_BYTES, ADDED_BYTES = 53, 48, 8 + 2 + 14 + 8


def section(name: str) -> str:
    """The text of a section, one space between words, without what sets type."""
    text = re.sub(
        r"^\.(?:BR|B|I|IP|TP|P|RS|RE|nf|fi)\b ?(?:\\\(bu 2)?",
        "",
        PAGE.partition(f".SH {name}\n")[2].partition("\n.SH ")[0],
        flags=re.M,
    )
    return " ".join(text.replace('"', "").split())


@pytest.mark.parametrize("user", ["A home's uplink or downlink", "An ISP's edge", "A hypervisor", "A laboratory"])
def test_each_user_finds_settings(user: str) -> None:
    found = re.search(rf"^\.TP\n{re.escape(user)}\n((?:(?!\.TP|\.P\n).*\n)+)", PAGE, re.MULTILINE)
    assert found and re.search(r"^\.BR? ", found[1], re.MULTILINE), user


def test_it_says_when_not_and_what_stays_bad() -> None:
    when = section("WHEN TO USE IT")
    said, _, bad = when.partition("What stays bad:")
    assert said.count("Not where ") >= 2
    assert PAGE.partition("What stays bad:")[2].partition("\n.SH")[0].count(".IP \\(bu 2") >= 5 and bad


def test_the_home_examples_numbers() -> None:
    """A full packet's time, a call's wait behind one packet of each of three uploads, and the buffer."""
    examples = section("EXAMPLES")
    rate_mbit = int(re.search(r"fq_rr rate (\d+)mbit", examples)[1])
    packet_ms = FULL_FRAME_BYTES * 8 / rate_mbit / 1000
    assert f"A full packet takes {packet_ms:.2f} ms" in examples
    assert f"beside three uploads waits for at most one packet of each, {3 * packet_ms:.1f} ms" in examples


def test_the_adsl_examples_numbers() -> None:
    """Cells of a full and of an empty packet, and how long they take at 1 Mbit/s."""
    examples = section("EXAMPLES")

    def cells(ip_bytes: int) -> int:
        return math.ceil((ip_bytes + ADDED_BYTES) / CELL_PAYLOAD_BYTES)

    full, empty = cells(1492), cells(40)
    words = {2: "two"}
    assert f"takes {full} cells ({full * CELL_BYTES * 8 / 1000:.3f} ms)" in examples
    assert f"an empty ACK {words[empty]} ({empty * CELL_BYTES * 8 / 1000:.3f} ms)" in examples


def test_costs_lead_with_both_kinds_of_packet() -> None:
    """The first table has packets with and without a hash, of fq_rr and its peers, and right quotients."""
    table = (TOP / "Documentation" / "cost.rst").read_text().split("========================  ===========  =======")
    head, body = table[1], table[2]
    assert head.split() == ["\\", "with", "a", "hash", "no", "hash"]
    rows = {line[:24].strip(): [float(word) for word in line[24:].split()] for line in body.strip().splitlines()}
    for peer in ("fq_codel", "CAKE"):
        for i in range(2):
            assert rows[f"fq_rr over {peer}"][i] == round(rows["fq_rr"][i] / rows[peer][i], 2), peer


def test_delays_of_small_shares_are_the_routers() -> None:
    """Medians of CUBIC flows over fq_rr and fq_codel, as Documentation/router.rst has them."""
    router = (TOP / "Documentation" / "router.rst").read_text()

    def medians_ms(case: str) -> list[int]:
        cell = re.split(r" {2,}", re.search(rf"^{case} .*", router, re.MULTILINE)[0])[1]
        return [round(float(queue.split(",")[0])) for queue in cell.split(";")[:2]]

    (one, peers_one), (eight, peers_eight), (slow, peers_slow) = map(medians_ms, ("1-2-20", "8-20-20", "8-2-20"))
    bad = section("WHEN TO USE IT")
    assert f"one CUBIC flow {one} ms at 2 Mbit/s; of eight {eight} ms each at 20 Mbit/s, {slow} at 2." in bad
    assert f"has {peers_one}, {peers_eight} and {peers_slow} ms there" in bad
    assert f"{eight} ms where eight uploads share 20 Mbit/s" in " ".join((TOP / "README.md").read_text().split())
