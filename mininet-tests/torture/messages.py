# SPDX-License-Identifier: GPL-2.0
"""Netlink messages for qdiscs, well-formed and not, and a socket that never waits.

The kernel answers a request before send() returns: an answer that is not there
then will never come.
"""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random

from in_guest.netlink import (
    NLA_F_NESTED,
    NLM_F_ACK,
    NLM_F_DUMP,
    NLM_F_REQUEST,
    NLMSG_ERROR,
    TCA_KIND,
    TCA_OPTIONS,
    attribute,
)

from . import options

# Attributes that are no option: padding, one that is gone, and two beyond the last.
OPTIONS = {option.number for option in options.read()}
UNUSED = tuple(sorted({*range(1, max(OPTIONS) + 3)} - OPTIONS))
HEADER_BYTES, TCMSG_BYTES = 16, 20
NLMSG_DONE = 3
NLM_F_DUMP_INTR = 0x10
SO_RCVBUFFORCE = 33
# Longer than any request that a program makes, as long as a socket lets through.
JUNK_BYTES = 60000


def message(order: int, flags: int, body: bytes) -> bytes:
    """A request with its header."""
    return struct.pack("=IHHII", HEADER_BYTES + len(body), order, flags, 1, 0) + body


def tcmsg(device: int, handle: int, parent: int) -> bytes:
    """What every request about a qdisc begins with."""
    return struct.pack("=BBHiIII", 0, 0, 0, device, handle, parent, 0)


class Netlink:
    """A socket for requests and dumps."""

    def __init__(self, protocol: int = 0) -> None:
        """Open it with room for what a dump of many classes takes; by default for routing and qdiscs."""
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
        # a tenant may not: the kernel then fills in a dump as it is read
        with suppress(PermissionError):
            self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 32 << 20)

    def answers(self) -> Iterator[bytes]:
        """Every message that waits."""
        while True:
            try:
                data = self.socket.recv(1 << 20, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            while len(data) >= HEADER_BYTES:
                length = struct.unpack_from("=I", data)[0]
                yield data[:length]
                data = data[length + 3 & ~3 :]

    def ask(self, request: bytes) -> int | None:
        """The kernel's errno for a request, 0 if it did it, None if it did not say."""
        said = None
        try:
            self.socket.send(request)
            for answer in self.answers():
                if struct.unpack_from("=H", answer, 4)[0] == NLMSG_ERROR:
                    said = -struct.unpack_from("=i", answer, HEADER_BYTES)[0]
        except OSError as error:
            if error.errno not in (errno.ENOBUFS, errno.ENOMEM):
                raise
            said = None
        except MemoryError:
            # what failed was this program's own room for the answer
            said = None
        return said

    def dump(self, order: int, wanted: int, body: bytes) -> list[bytes]:
        """All messages of a kind; a dump that was disturbed is had again."""
        while True:
            found, ended, disturbed = [], False, False
            self.socket.send(message(order, NLM_F_REQUEST | NLM_F_DUMP, body))
            while not ended:
                # the kernel fills in the rest of a dump as it is read
                data = self.socket.recv(1 << 20)
                while len(data) >= HEADER_BYTES:
                    length, kind, flags = struct.unpack_from("=IHH", data)
                    disturbed = disturbed or bool(flags & NLM_F_DUMP_INTR)
                    ended = ended or kind in (NLMSG_DONE, NLMSG_ERROR)
                    if kind == wanted:
                        found.append(data[:length])
                    data = data[length + 3 & ~3 :]
            if not disturbed:
                return found

    def drop_answers(self) -> None:
        """Forget what waits, errors included."""
        for _ in range(3):
            with suppress(OSError):
                for _ in self.answers():
                    pass


# ---- what is wrong with a message ----
# Each takes the options' attributes as a list, and gives the body after tcmsg.


def _body(options: bytes, kind: bytes = b"fq_rr\0", nested: int = NLA_F_NESTED) -> bytes:
    return attribute(TCA_KIND, kind) + attribute(TCA_OPTIONS | nested, options)


def cut_short(random: Random, parts: list[bytes]) -> bytes:
    """The message ends in the middle of an attribute."""
    whole = _body(b"".join(parts))
    return whole[: random.randrange(len(whole))]


def length_beyond_the_end(random: Random, parts: list[bytes]) -> bytes:
    """An attribute says that it is longer than the message."""
    spoilt = random.randrange(len(parts))
    size = random.choice((0xFFFF, 0x7FFF, len(parts[spoilt]) + random.randint(1, 64)))
    parts[spoilt] = struct.pack("H", size) + parts[spoilt][2:]
    return _body(b"".join(parts))


def length_of_nothing(random: Random, parts: list[bytes]) -> bytes:
    """An attribute says that it is shorter than its own header."""
    spoilt = random.randrange(len(parts))
    parts[spoilt] = struct.pack("H", random.randrange(4)) + parts[spoilt][2:]
    return _body(b"".join(parts))


def value_of_other_size(random: Random, parts: list[bytes]) -> bytes:
    """An attribute has more or fewer bytes than its type."""
    spoilt = random.randrange(len(parts))
    kind = struct.unpack_from("H", parts[spoilt], 2)[0]
    parts[spoilt] = attribute(kind, random.randbytes(random.choice((0, 1, 2, 3, 5, 7, 9, 12, 64))))
    return _body(b"".join(parts))


def oversized(random: Random, parts: list[bytes]) -> bytes:
    """As long as a socket lets through."""
    junk = attribute(random.choice((1, 2, 3, 25, 99)), random.randbytes(JUNK_BYTES))
    return _body(b"".join(parts) + junk)


def repeated(random: Random, parts: list[bytes]) -> bytes:
    """Attributes come several times, with different values."""
    kinds = [struct.unpack_from("H", part, 2)[0] for part in parts]
    many = [attribute(random.choice(kinds), random.randbytes(random.choice((4, 8)))) for _ in range(300)]
    random.shuffle(many)
    return _body(b"".join(parts + many[: random.randint(1, 300)]))


def nested_wrongly(random: Random, parts: list[bytes]) -> bytes:
    """Options in options, values marked as nests, options where none belong."""
    way = random.randrange(4)
    options = b"".join(parts)
    if way == 0:
        for _ in range(random.randint(1, 30)):
            options = attribute(TCA_OPTIONS | NLA_F_NESTED, options)
        return _body(options)
    if way == 1:
        kinds = [struct.unpack_from("H", part, 2)[0] | NLA_F_NESTED for part in parts]
        return _body(b"".join(attribute(kind, part[4:]) for kind, part in zip(kinds, parts, strict=True)))
    if way == 2:
        return attribute(TCA_KIND, b"fq_rr\0") + options
    return _body(options, nested=0)


def unknown(random: Random, parts: list[bytes]) -> bytes:
    """Attributes of numbers that there are none of."""
    numbers = [random.choice((0, *UNUSED, 99, 0x3FFF)) for _ in range(3)]
    return _body(b"".join(parts) + b"".join(attribute(number, random.randbytes(4)) for number in numbers))


def other_bytes(random: Random, parts: list[bytes]) -> bytes:
    """Any bytes of the options are others."""
    spoilt = bytearray(b"".join(parts))
    for _ in range(random.randint(1, 8)):
        spoilt[random.randrange(len(spoilt))] = random.randrange(256)
    return _body(bytes(spoilt))


def odd_kind(random: Random, parts: list[bytes]) -> bytes:
    """The qdisc's name is none."""
    kind = random.choice((b"", b"\0", b"fq_rr", b"fq_rr_\0", b"x" * 15, b"y" * 200, b"fq_rr\0fq\0", b"\xff\xfe\0"))
    return _body(b"".join(parts), kind=kind)


def junk(random: Random, parts: list[bytes]) -> bytes:
    """No attributes at all."""
    return random.randbytes(random.choice((0, 1, 3, 4, 20, 400)))


MALFORMED: tuple[Callable[[Random, list[bytes]], bytes], ...] = (
    cut_short,
    length_beyond_the_end,
    length_of_nothing,
    value_of_other_size,
    oversized,
    repeated,
    nested_wrongly,
    unknown,
    other_bytes,
    odd_kind,
    junk,
)


def malformed(random: Random, order: int, flags: int, head: bytes, parts: list[bytes]) -> bytes:
    """A request that no program would make, or hardly.

    :param head: tcmsg, which is kept as long as the message reaches it
    :param parts: the options' attributes
    """
    whole = message(order, flags | NLM_F_ACK, head + random.choice(MALFORMED)(random, parts))
    if random.random() < 0.1:
        # the header's length is another than the message's
        length = random.choice((0, 15, 16, 20, len(whole) - 4, len(whole) + 4, 0xFFFFFFFF))
        whole = struct.pack("=I", length) + whole[4:]
    if random.random() < 0.05:
        # of nothing at all the socket itself says that there is no data
        whole = whole[: random.randrange(1, len(whole))]
    return whole


def touches_more_than_options(whole: bytes) -> bool:
    """Whether there are attributes in it that are not the qdisc's own.

    A table of sizes or an estimator is the core's, which has changed the qdisc
    before it looks at those.
    """
    rest = whole[HEADER_BYTES + TCMSG_BYTES :]
    while len(rest) >= 4:
        size, kind = struct.unpack_from("HH", rest)
        if size < 4:
            return False
        if kind & ~NLA_F_NESTED not in (TCA_KIND, TCA_OPTIONS):
            return True
        rest = rest[size + 3 & ~3 :]
    return False
