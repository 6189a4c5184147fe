# SPDX-License-Identifier: GPL-2.0
"""The kernel's type information."""

import pytest
from lab import btf
from lab.machines.kernels import find_kernel, uncompressed_image


def test_offsets() -> None:
    """The kernel's type information is read, and a member that is not there is named."""
    types = btf.Btf.of_kernel(uncompressed_image(find_kernel(None)))
    assert types.offset("sock_common", "skc_num") == 14  # two addresses, a hash, a port
    assert types.offset("tcp_sock", "bytes_acked") % 8 == 0
    assert btf.ack_probe(types).startswith("p:lab/ack tcp_rate_gen sport=+14($arg1):u16")
    with pytest.raises(btf.BtfError, match="tcp_sock has no member bytes_akced"):
        types.offset("tcp_sock", "bytes_akced")
