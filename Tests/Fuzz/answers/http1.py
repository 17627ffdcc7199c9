"""Answers of HTTP/1: parts of real ones put together at random, then changed."""

STATUSES = (
    "HTTP/1.1 200 OK", "HTTP/1.1 206 Partial Content", "HTTP/1.0 200 OK", "HTTP/1.1 302 Found",
    "HTTP/1.1 304 Not Modified", "HTTP/1.1 204 No Content", "HTTP/1.1 401 Unauthorized",
    "HTTP/1.1 416 Range Not Satisfiable", "HTTP/1.1 429 Too Many", "HTTP/1.1 503 Busy",
    "HTTP/1.1 101 Switching Protocols", "HTTP/1.1 999 ?", "HTTP/1.1 200", "HTTP/2 200", "ICY 200 OK",
)
INFORMATIONAL = (
    "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
    "HTTP/1.1 103 Early Hints\r\n folded\r\n\r\n",
)
NAMES = (
    "Content-Length", "Transfer-Encoding", "Content-Encoding", "Content-Range", "Content-Type", "Location",
    "ETag", "Last-Modified", "Connection", "Retry-After", "Date", "Set-Cookie", "Trailer", "Upgrade",
    "WWW-Authenticate", "Proxy-Authenticate", "Strict-Transport-Security", "Alt-Svc", "Repr-Digest",
    "Digest", "Content-MD5", "x-goog-hash", "x-amz-checksum-sha256", "Accept-Ranges", "X",
)
VALUES = (
    "0", "5", "1024", "-1", "18446744073709551615", "99999999999999999999", "5, 6", "chunked", "gzip",
    "gzip, chunked", "identity", "bytes 0-1023/1024", "bytes 0-0/*", "bytes */0", "close", "keep-alive",
    "\"a\"", "W/\"a\"", "/next", "http://127.0.0.1/", "//x", "%", "Sun, 06 Nov 1994 08:49:37 GMT",
    "sha-256=:AAAA:", "crc32c=AAAAAA==", "h2c", "Basic realm=\"x\"", "Negotiate", "max-age=1", "a=b; Path=/", "",
)
TOKENS = (
    b"\r\n", b"\n", b"\r", b"\r\n ", b"\r\n\t", b":", b" ", b"\0", b"\r\n\r\n", b"0\r\n\r\n", b"ffffffffffffffff",
    b"HTTP/1.1 200 OK\r\n", b"\r\nContent-Length: 3\r\n", b"\r\nTransfer-Encoding: chunked\r\n", b"\xff", b"%", b";",
)


def value(random):
    text = random.choice(VALUES)
    if random.random() < 0.05:
        text *= random.choice((2, 50, 5_000))
    return text


def header(random):
    fold = random.choice(("\r\n ", "\r\n\t", "\n ")) if random.random() < 0.1 else ""
    return f"{random.choice(NAMES)}:{random.choice(('', ' ', '  '))}{fold}{value(random)}"


def chunked(random, body):
    out = b""
    while body:
        size = random.randint(1, max(len(body), 1))
        extension = b";" + b"e" * random.choice((0, 3, 3_000)) if random.random() < 0.1 else b""
        out += b"%x%s\r\n%s\r\n" % (size, extension, body[:size])
        body = body[size:]
    trailers = "".join(header(random) + "\r\n" for _ in range(random.choice((0, 0, 1, 3))))
    return out + b"0\r\n" + trailers.encode() + b"\r\n"


def answer(random):
    """The bytes of one answer."""
    body = random.randbytes(random.choice((0, 1, 5, 1_024, 20_000)))
    lines = [header(random) for _ in range(random.choice((0, 1, 3, 8)))]
    framing = random.choice(("length", "length", "chunked", "chunked", "close", "both"))
    if framing in ("length", "both"):
        lines.append(f"Content-Length: {len(body)}")
    if framing in ("chunked", "both"):
        lines.append("Transfer-Encoding: chunked")
        body = chunked(random, body)
    random.shuffle(lines)
    if random.random() < 0.1:
        lines.insert(0, " " + header(random))
    before = random.choice(INFORMATIONAL) * random.choice((1, 1, 40)) if random.random() < 0.15 else ""
    end = random.choice(("\r\n",) * 8 + ("\n", "\r"))
    head = before + end.join([random.choice(STATUSES), *lines, "", ""])
    return mutated(random, head.encode("latin-1") + body)


def mutated(random, data):
    """Some of the bytes removed, repeated, replaced, or with others between them; often none."""
    data = bytearray(data)
    for _ in range(random.choice((0, 0, 1, 1, 2, 5, 20))):
        # Mostly where the header is.
        reach = min(len(data), 400) if random.random() < 0.8 else len(data)
        at = random.randrange(reach + 1)
        span = random.choice((1, 1, 2, 8, 100))
        match random.randrange(5):
            case 0:
                del data[at:at + span]
            case 1:
                data[at:at] = data[at:at + span] * random.choice((1, 2, 30))
            case 2:
                data[at:at] = random.choice(TOKENS)
            case 3:
                data[at:at + 1] = random.randbytes(1)
            case 4:
                data[at:at + span] = random.choice(TOKENS)
    return bytes(data)
