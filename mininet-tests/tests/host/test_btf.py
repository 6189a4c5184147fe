# SPDX-License-Identifier: GPL-2.0
"""Offsets of structure members, from pahole."""

import shutil
from pathlib import Path

import pytest
from lab import btf
from lab.machines.kernels import find_kernel, uncompressed_image

# What pahole 1.24 prints, shortened: padding, cache lines, bit fields, functions, and inner
# structures with and without a name
RECORDED = """\
struct sock_common {
	union {
		__portpair         skc_portpair;         /*    12     4 */
		struct {
			__be16     skc_dport;            /*    12     2 */
			__u16      skc_num;              /*    14     2 */
		};                                       /*    12     4 */
	};                                               /*    12     4 */
	short unsigned int         skc_family;           /*    16     2 */
	unsigned char              skc_reuse:4;          /*    19: 0  1 */
	unsigned char              skc_ipv6only:1;       /*    19: 5  1 */

	/* XXX 1 bit hole, try to pack */

	struct inet_timewait_death_row * skc_tw_dr;      /*    96     8 */
	/* --- cacheline 2 boundary (128 bytes) --- */
	int                        skc_dontcopy_end[0];  /*   132     0 */

	/* size: 136, cachelines: 3, members: 25 */
	/* last cacheline: 8 bytes */
};
struct tcp_sock {
	struct inet_connection_sock inet_conn;           /*     0  1400 */
	u32                        delivered;            /*  1600     4 */
	struct {
		u32                rtt_us;               /*  2176     4 */
		u64                time;                 /*  2184     8 */
	} rcv_rtt_est;                                   /*  2176    16 */
	bool                       (*smc_hs_congested)(const struct sock  *); /*  2224     8 */

	/* size: 2304, cachelines: 36, members: 171 */
};
"""


def test_recorded() -> None:
    """Each member's offset is read; one of a named inner structure is not the outer one's."""
    assert btf.parse(RECORDED) == {
        "sock_common": {
            "skc_portpair": 12,
            "skc_dport": 12,
            "skc_num": 14,
            "skc_family": 16,
            "skc_reuse": 19,
            "skc_ipv6only": 19,
            "skc_tw_dr": 96,
            "skc_dontcopy_end": 132,
        },
        "tcp_sock": {"inet_conn": 0, "delivered": 1600, "rcv_rtt_est": 2176, "smc_hs_congested": 2224},
    }


def test_missing() -> None:
    """A member or a structure that is not there is named."""
    found = btf.parse(RECORDED)
    assert btf.offset(found, "tcp_sock", "delivered") == 1600
    with pytest.raises(btf.BtfError, match="struct tcp_sock has no member bytes_akced"):
        btf.offset(found, "tcp_sock", "bytes_akced")
    with pytest.raises(btf.BtfError, match="no struct tcp_sack"):
        btf.offset(found, "tcp_sack", "bytes_acked")


def test_a_kernel() -> None:
    """The lab's own kernel is read."""
    image = uncompressed_image(find_kernel(None))
    found = btf.offsets(image, ("sock_common", "no_such_struct"))
    assert list(found) == ["sock_common"]
    assert btf.offset(found, "sock_common", "skc_num") == 14  # two addresses, a hash, a port
    assert btf.ack_probe(image).startswith("p:lab/ack tcp_rate_gen sport=+14($arg1):u16")


def test_no_type_information(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without type information, and a machine without pahole, are named."""
    image = tmp_path / "vmlinux"
    image.write_text("no ELF")
    assert shutil.which("pahole"), "scripts/bootstrap installs it"
    with pytest.raises(btf.BtfError, match=str(image)):
        btf.ack_probe(image)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(btf.BtfError, match="pahole is not installed"):
        btf.ack_probe(image)
