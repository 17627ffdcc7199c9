"""Malformed HTTP requests over raw sockets, and pairs that two readers could take for different requests."""

import concurrent.futures
import contextlib
import re
import socket
import ssl
import time

from . import oracles
from .oracles import Answer

#: A head that does not end is answered, or closed, when its 10 s are over, a body after 30 s.
MAX_SECONDS = 40
#: Most of what has not ended is ended by the sender after this.
PATIENCE = 2.5
TOKENS = (b"\0", b"\r", b"\n", b"\r\n", b"\r\n\r\n", b" ", b"\t", b":", b"\xff", b"\x80", b"\x7f", b"%", b"%00",
          b"/..", b"#", b"?", b"//", b"\\", b"\"", b";", b",", b"\r\n ", b"\r\nContent-Length: 5", b"\r\nHost: b",
          b"\r\nTransfer-Encoding: chunked", b"HTTP/1.1", b"\x1b[31m", b"A" * 20_000)
PARTS = ("method", "target", "version", "name", "value", "between")


def attack(lab, record):
    lab.start_cluster()
    cases = list(requests(lab, record))
    smuggled = list(pairs(lab, record.random("pairs")))
    # Those that wait for the rest of a request wait together.
    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        answers = pool.map(lambda data: send(lab.port, data), cases)
        for number, (data, answer) in enumerate(zip(cases, answers)):
            record.judge(data, judge(data, answer))
            if number % 25 == 0:
                honest = oracles.answer(lab.ask("GET", "/v1/status"), allowed={200})
                record.judge("an honest request after it", honest)
        waiting = deadlines(lab, record)
        for data, answer in zip(waiting, pool.map(lambda data: send(lab.port, data, MAX_SECONDS), waiting)):
            record.judge(data, judge(data, answer))
        for data, answer in zip(smuggled, pool.map(lambda data: send(lab.port, data), smuggled)):
            record.judge(data, judge(data, answer) or smuggling(answer))
    record.judge("an honest request at the end", oracles.answer(lab.ask("GET", "/v1/status"), allowed={200}))


def send(port, data, patience=PATIENCE, context=None):
    """Sends bytes, and reads until the connection is closed or nothing more comes for a second after an answer.

    Where nothing comes, the sender ends what it may have begun, and is to be answered or closed at once. With a
    context, all of it is within TLS.
    """
    begin = time.monotonic()
    received, first, has_ended = b"", None, False
    with contextlib.ExitStack() as stack:
        connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=patience))
        if context:
            connection.settimeout(MAX_SECONDS)
            connection = stack.enter_context(context.wrap_socket(connection, server_hostname="127.0.0.1"))
        try:
            connection.sendall(data)
        except OSError:
            pass  # Refused before its end; what was answered is still there.
        while True:
            connection.settimeout(1 if received else patience)
            try:
                part = connection.recv(65_536)
            except TimeoutError:
                if received:
                    break
                if has_ended or patience == MAX_SECONDS:
                    return Answer(None, {}, b"nothing came, and it was not closed", time.monotonic() - begin)
                connection.shutdown(socket.SHUT_WR)
                has_ended = True
                continue
            except (ConnectionResetError, ssl.SSLError):
                break
            # Behind the end of what is sent, TLS has alerts only, which are not read any more.
            if not part or context and has_ended:
                break
            first = first or time.monotonic() - begin
            received += part
    found = re.match(rb"HTTP/1\.[01] (\d{3})[^\r\n]*\r\n((?:[^\r\n]+\r\n)*)\r\n", received)
    if not found:
        return Answer(0, {"ended": has_ended}, received, time.monotonic() - begin)
    return Answer(int(found.group(1)), {"head": found.group(2)}, received[found.end():], first)


def judge(data, answer):
    if answer.status is None:
        return answer.body.decode()
    if answer.status == 0:
        if answer.body:
            return f"closed with {answer.body[:80]!r} in place of an answer"
        # Who goes away in the middle of a request is owed none.
        return None if answer.headers["ended"] else "closed without an answer"
    if answer.seconds > MAX_SECONDS:
        return f"took {answer.seconds:.1f} s"
    if answer.status < 400 or data.startswith(b"HEAD"):
        return None
    # A body may be followed by the answer to what came behind the request.
    body = answer.body
    length = re.search(rb"(?i)content-length: (\d+)", answer.headers["head"])
    if length:
        body = body[:int(length.group(1))]
    if answer.status >= 500 and answer.status not in (501, 503, 505):
        return f"status {answer.status}: {body!r}"
    return oracles.code(Answer(answer.status, {}, body, answer.seconds))


def smuggling(answer):
    """What hides behind an ambiguous request is not answered, and the request is refused."""
    if answer.status < 400:
        return f"an ambiguous request was taken, with status {answer.status}"
    if b"HTTP/1.1 " in answer.body:
        return f"what was hidden was answered: {answer.body!r}"
    return None


def requests(lab, record):
    authorised = f"Authorization: Bearer {lab.token}".encode()
    random = record.random()
    yield from fixed(authorised)
    good = {
        "method": b"GET", "target": b"/v1/status", "version": b"HTTP/1.1", "name": b"X-Name", "value": b"value",
        "between": b": "}
    for part in PARTS:
        for token in TOKENS:
            for place in (0, None, 1):
                text = good[part]
                place = len(text) if place is None else place
                spoiled = good | {part: text[:place] + token + text[place:]}
                for has_token in (True, False):
                    yield line(spoiled, authorised if has_token else b"X: y")
    if record.is_short:
        return
    for _ in range(400):
        data = bytearray(line(good, authorised))
        for _ in range(random.choice((1, 1, 2, 4))):
            at = random.randrange(len(data))
            match random.randrange(4):
                case 0:
                    del data[at:at + random.choice((1, 2, 10))]
                case 1:
                    data[at:at] = random.choice(TOKENS)
                case 2:
                    data[at] = random.randrange(256)
                case 3:
                    data[at:at] = data[:at]
        # With an end, so that few of them have to be waited for.
        yield bytes(data) + b"\r\n\r\n"


def line(parts, other):
    return b"%s %s %s\r\nHost: 127.0.0.1\r\n%s%s%s\r\n%s\r\nConnection: close\r\n\r\n" % (
        parts["method"], parts["target"], parts["version"], parts["name"], parts["between"], parts["value"], other)


def post(authorised, *lines, body=b"", target=b"/v1/leases"):
    head = b"".join(line + b"\r\n" for line in (
        b"Host: a", authorised, b"Content-Type: application/json", *lines))
    return b"POST %s HTTP/1.1\r\n%s\r\n%s" % (target, head, body)


def deadlines(lab, record):
    """Requests that never end: their deadlines have to be over."""
    authorised = f"Authorization: Bearer {lab.token}".encode()
    host = b"GET /v1/status HTTP/1.1\r\nHost: a\r\n"
    heads = [host + authorised, b"GET", host + b"X", post(authorised, b"Content-Length: 0")[:-2]]
    bodies = [
        post(authorised, b"Content-Length: 5"),
        post(authorised, b"Transfer-Encoding: chunked", body=b"5\r\nab")
    ]
    return heads[:1] if record.is_short else heads + bodies


def fixed(authorised):
    host = b"Host: a\r\n" + authorised + b"\r\n"
    for data in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\0" * 100,
                 b"\x05\x01\x00", b"SSH-2.0-x\r\n", b"EHLO a\r\n\r\n", b"{}\r\n\r\n",
                 b"\xef\xbb\xbfGET / HTTP/1.1\r\n\r\n"):
        yield data
    for version in (b"HTTP/0.9", b"HTTP/1.2", b"HTTP/2", b"HTTP/2.0", b"HTTP/3", b"HTTP/11", b"HTTP/1.", b"HTTP/.1",
                    b"http/1.1", b"HTTP/1.10", b"HTTP/01.1", b"HTTP 1.1", b"HTTPS/1.1", b"", b"HTTP/1.1 HTTP/1.1",
                    b"HTTP/-1.1"):
        yield b"GET /v1/status " + version + b"\r\n" + host + b"\r\n"
    for method in (b"get", b"TRACE", b"CONNECT", b"PUT", b"DELETE", b"PATCH", b"PROPFIND", b"G" * 100,
                   b"G" * 40_000, b"GE T", b"", b"(GET)", b"OPTIONS", b"*", b"POST"):
        yield method + b" /v1/status HTTP/1.1\r\n" + host + b"Content-Length: 0\r\n\r\n"
    for target in (b"*", b"", b"v1/status", b"http://a/v1/status", b"http://a@b/v1/status", b"//v1/status",
                   b"/v1//status", b"/v1/./status", b"/v1/../v1/status", b"/v1/%2e%2e/v1/status", b"/v1%2fstatus",
                   b"/%76%31/status", b"/v1/status%00", b"/v1/status%", b"/v1/status%zz", b"/v1/status?%00",
                   b"/v1/status#x", b"/" + b"a" * 17_000, b"/v1/\xff", b"a:443", b"/v1/status?" + b"&" * 8_000,
                   b"/v1/status?limit=" + b"9" * 400, b"/v1" + b"/a" * 4_000, b"/v1/status\\"):
        yield b"GET " + target + b" HTTP/1.1\r\n" + host + b"Connection: close\r\n\r\n"
    for field in (b"Content-Length: -1", b"Content-Length: +1", b"Content-Length: 0x1", b"Content-Length: 1 1",
                  b"Content-Length: 1, 1", b"Content-Length:", b"Content-Length: 1e1",
                  b"Content-Length: 18446744073709551616", b"Content-Length: 9223372036854775808",
                  b"Content-Length: 16777217", b"Content-Length: " + b"0" * 500,
                  b"Content-Length: 1\r\nContent-Length: 2", b"Content-Length : 1", b"Content-Length: \xb2",
                  b"Transfer-Encoding: gzip", b"Transfer-Encoding: chunked, chunked",
                  b"Transfer-Encoding: chunked, identity", b"Transfer-Encoding: xchunked",
                  b"Transfer-Encoding: \"chunked\"", b"Transfer-Encoding:\x0bchunked", b"Transfer-Encoding",
                  b"Transfer-Encoding: chunked\r\nContent-Length: 1", b"Transfer-Encoding : chunked",
                  b"Expect: 200-ok", b"Content-Encoding: gzip", b"Host: b", b"Host", b": x", b" X: y",
                  b"X: a\r\n b", b"X: a\r\n\tb", b"X: \0", b"X: a\rb", b"X\0: a", b"X: " + b"a" * 40_000,
                  b"\r\n".join(b"X%d: a" % index for index in range(200)),
                  b"Connection: Content-Length, Authorization", b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
                  b"Upgrade: websocket\r\nConnection: Upgrade", b"Content-Type: text/plain", b"Content-Type:"):
        yield post(authorised, field, b"Connection: close", body=b"{}")
        yield b"GET /v1/status HTTP/1.1\r\n" + host + field + b"\r\nConnection: close\r\n\r\n"
    for chunk in (b"x\r\n{}\r\n0\r\n\r\n", b"2;\0\r\n{}\r\n0\r\n\r\n", b"-2\r\n{}\r\n0\r\n\r\n",
                  b"0x2\r\n{}\r\n0\r\n\r\n", b"2\n{}\n0\n\n", b"2\r\n{}X\r\n0\r\n\r\n", b"ffffffffffffffff\r\n{}",
                  b"10000000000000000\r\n{}", b"2 \r\n{}\r\n0\r\n\r\n", b" 2\r\n{}\r\n0\r\n\r\n",
                  b"2\r\n{}\r\n0\r\nX\r\n\r\n", b"2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n", b"1000001\r\n{}",
                  b"2;" + b"e" * 40_000 + b"\r\n{}\r\n0\r\n\r\n", b"\r\n", b"2\r\n{}\r\n00\r\n\r\n",
                  b"2\r{}\r0\r\r", b"2\r\n{}\r\n0\r\n" + b"X: y\r\n" * 2_000 + b"\r\n"):
        yield post(authorised, b"Transfer-Encoding: chunked", b"Connection: close", body=chunk)


def pairs(lab, random):
    """Requests whose length may be read in two ways, and another one hidden in what may be its body."""
    authorised = f"Authorization: Bearer {lab.token}".encode()
    hidden = b"GET /v1/queues HTTP/1.1\r\nHost: a\r\n" + authorised + b"\r\n\r\n"
    chunk = b"0\r\n\r\n"
    length = b"Content-Length: %d" % (len(chunk) + len(hidden))
    encodings = (b"Transfer-Encoding: chunked", b"Transfer-Encoding : chunked", b"Transfer-Encoding:\tchunked",
                 b"Transfer-Encoding: xchunked", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x",
                 b"Transfer-Encoding: x, chunked", b"Transfer-Encoding:\x0cchunked",
                 b"X: y\nTransfer-Encoding: chunked", b"Transfer-Encoding: chun\x00ked",
                 b"Transfer-Encoding:\r\n chunked", b" Transfer-Encoding: chunked",
                 b"Transfer-Encoding: \"chunked\"", b"transfer-encoding: Chunked",
                 b"Transfer_Encoding: chunked\r\nTransfer-Encoding: identity", b"Transfer-Encoding: chunked;a=b",
                 b"Transfer-Encoding: ,chunked", b"Transfer-Encoding: chunked,")
    for encoding in encodings:
        for first, second in ((length, encoding), (encoding, length)):
            yield post(authorised, first, second, body=chunk + hidden)
    for lengths in ((b"Content-Length: 0", length), (length, b"Content-Length: 0"), (b"Content-Length: 5, 6", ),
                    (b"Content-Length: 0\r\n Content-Length: 5", ), (b"Content-Length: 0\rContent-Length: 5", ),
                    (b"Content-Length:\n 5", ), (b"Content-Length: 5 ; 6", ), (b"Content-Length: 0 5", ),
                    (b"Content-Length: +0", )):
        yield post(authorised, *lengths, body=hidden)
    for size in (b"0 ", b"0\n", b"+0", b"-0", b"0x0", b"0_", b"\0000"):
        yield post(authorised, b"Transfer-Encoding: chunked", body=size + b"\r\n\r\n" + hidden) if size != b"0\n" else \
            post(authorised, b"Transfer-Encoding: chunked", body=b"0\n\n" + hidden)
