"""Answers of HTTP/2 (RFC 9113): frames put together at random, then changed."""

from .http1 import mutated

DATA, HEADERS, PRIORITY, RESET, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
END_STREAM, END_HEADERS, PADDED, HAS_PRIORITY = 1, 4, 8, 32


def frame(kind, flags, stream, payload, length=None):
    count = len(payload) if length is None else length
    return (count & 0xFFFFFF).to_bytes(3, "big") + bytes((kind & 255, flags & 255)) + (
        stream & 0xFFFFFFFF).to_bytes(4, "big") + payload


# Settings, and :status 404 to the first request.
NOT_FOUND = frame(SETTINGS, 0, 0, b"") + frame(SETTINGS, 1, 0, b"") + frame(HEADERS, 5, 1, b"\x8d")


def literal(name, text):
    """A header field that is not indexed, without Huffman (RFC 7541, 6.2.2)."""
    return b"\0" + integer(len(name)) + name + integer(len(text)) + text


def integer(number, prefix=7):
    limit = (1 << prefix) - 1
    if number < limit:
        return bytes((number,))
    out, number = bytearray((limit,)), number - limit
    while number >= 128:
        out.append(number % 128 + 128)
        number //= 128
    return bytes(out) + bytes((number,))


def fields(random):
    """A block of header fields; :status first, most times."""
    block = b""
    if random.random() < 0.9:
        # Indexed :status 200, 204, 206, 304, 400, 404, 500 of the static table.
        block += bytes((random.choice((0x88,) * 6 + tuple(range(0x89, 0x8F))),))
    for _ in range(random.choice((0, 1, 2, 8))):
        name = random.choice((
            b"content-length", b"content-type", b"content-encoding", b"transfer-encoding", b"connection", b"location",
            b"etag", b":status", b":path", b"X-Upper", b"", b" x", b"a" * 5_000, b"trailer", b"content-range"))
        text = random.choice((
            b"5", b"0", b"1024", b"-1", b"gzip", b"chunked", b"/next", b"a\r\nb: c", b"a\0b", b"\xff", b"", b" x",
            b"b" * 9_000, b"bytes 0-1/2"))
        block += literal(name, text)
    if random.random() < 0.1:
        # References into a table that may not be there, sizes that are not allowed.
        block += random.choice((b"\xff\xff\xff\xff\x0f", b"\xbe", b"\x3f\xe1\xff\xff\xff\x0f", b"\x80", b"\x20"))
    return block


def headers(random, stream, flags):
    block = fields(random)
    if random.random() < 0.2:
        block = bytes((random.choice((0, 3, 255)),)) + block + bytes(3)
        flags |= PADDED
    if random.random() < 0.1:
        block = random.randbytes(5) + block
        flags |= HAS_PRIORITY
    if random.random() < 0.2:
        cut = random.randrange(len(block) + 1)
        rest = frame(CONTINUATION, END_HEADERS, stream, block[cut:])
        return frame(HEADERS, flags & ~END_HEADERS, stream, block[:cut]) + rest
    return frame(HEADERS, flags, stream, block)


def other(random, stream):
    number = random.choice((0, 1, 0x7FFFFFFF, 0xFFFFFFFF)).to_bytes(4, "big")
    return random.choice((
        lambda: frame(SETTINGS, random.choice((0, 1)), random.choice((0, 0, 1)), b"".join(
            random.randrange(9).to_bytes(2, "big") + number for _ in range(random.choice((0, 1, 20))))),
        lambda: frame(PING, random.choice((0, 1)), 0, random.randbytes(random.choice((8, 8, 7)))),
        lambda: frame(GOAWAY, 0, 0, number + bytes(4) + b"why"),
        lambda: frame(RESET, 0, stream, random.randrange(15).to_bytes(4, "big")),
        lambda: frame(WINDOW, 0, random.choice((0, stream)), number),
        lambda: frame(PUSH, END_HEADERS, stream, number + fields(random)),
        lambda: frame(PRIORITY, 0, stream, random.randbytes(5)),
        lambda: frame(random.randrange(256), random.randrange(256), stream, random.randbytes(20)),
        lambda: frame(DATA, 0, stream, b"", length=random.choice((1, 0xFFFFFF))),
    ))()


def answer(random):
    """The bytes of what a server sends on one connection; its first request has stream 1."""
    out = frame(SETTINGS, 0, 0, b"") + frame(SETTINGS, 1, 0, b"")
    stream = 1
    for _ in range(random.choice((0, 0, 1, 3))):
        out += other(random, stream)
    has_body = random.random() < 0.8
    out += headers(random, stream, END_HEADERS | (0 if has_body else END_STREAM))
    for index in range(random.choice((1, 2, 6)) if has_body else 0):
        if random.random() < 0.2:
            out += other(random, random.choice((stream, 2, 3, 0)))
        payload = random.randbytes(random.choice((0, 5, 1_024, 16_384)))
        out += frame(DATA, END_STREAM if random.random() < 0.4 else 0, stream, payload)
    if random.random() < 0.2:
        out += headers(random, stream, END_HEADERS | END_STREAM)
    for _ in range(random.choice((0, 0, 2))):
        out += other(random, random.choice((stream, 2, 0)))
    return mutated(random, out) if random.random() < 0.6 else out
