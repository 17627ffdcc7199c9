"""Malformed requests, broken handshakes and slow clients, over http and over https: nothing of them stays."""

import concurrent.futures
import pathlib
import random as randomness
import socket
import ssl
import time

from . import idle_connections, oracles, raw_requests

#: A head, with its handshake, has 10 s; then the answer is sent, and the client has a moment to read it.
MAX_SLOW_SECONDS = 25
#: Seconds between two bytes of a slow client.
PAUSE = 0.5
MAX_DESCRIPTORS = 16
MAX_MIB = 32
#: The header of a record and of a hello that does not come.
HELLO = bytes([22, 3, 1, 1, 0, 1, 0, 0, 252, 3, 3])


def attack(lab, record):
    lab.start_cluster()
    pair = lab.certificate("attack")
    count = record.count(1_000, 150)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(against, lab, record, scheme, pair, count) for scheme in ("http", "https")]:
            done.result()


def against(lab, record, scheme, pair, count):
    """Attacks one coordinator, and compares what it holds afterwards with what it held before."""
    secure = scheme == "https"
    context = ssl.create_default_context(cafile=pair[0]) if secure else None
    child = lab.start_coordinator(
        f"leaks-{scheme}", options=["--tls-certificate", pair[0], "--tls-key", pair[1]] if secure else [])
    random = record.random(scheme)
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        # Its own connections to the database are open then.
        list(pool.map(lambda _: honest(lab, child.port, context), range(32)))
        before = held(child)
        cases = random.sample(list(raw_requests.requests(lab, record)), count)
        with concurrent.futures.ThreadPoolExecutor(30) as crawlers:
            slow = [crawlers.submit(crawl, child.port, context, number) for number in range(30)]
            send = lambda data: raw_requests.send(child.port, data, context=context)  # noqa: E731
            for number, (data, answer) in enumerate(zip(cases, pool.map(send, cases))):
                record.judge((scheme, data), raw_requests.judge(data, answer))
                if number % 50 == 0:
                    record.judge(f"an honest request over {scheme}", honest(lab, child.port, context))
            if secure:
                for garbage in handshakes(random, count // 4):
                    record.judge((scheme, garbage), no_answer(raw_requests.send(child.port, garbage)))
            for one in slow:
                record.judge(f"a slow client over {scheme}", ended(one.result()))
    record.judge(f"an honest request over {scheme} afterwards", honest(lab, child.port, context))
    record.judge(f"what stays of attacks over {scheme}", settled(child, before))
    after = held(child)
    record.notes.append(f"{scheme}: {after[0] - before[0]} descriptors, {after[1] - before[1]:.1f} MiB and "
                        f"{after[2]} connections more")
    lab.stop(child)


def honest(lab, port, context):
    head = b"GET /v1/status HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer "
    answer = raw_requests.send(port, head + lab.token.encode() + b"\r\n\r\n", context=context)
    return None if answer.status == 200 else f"status {answer.status}: {oracles.tail(answer.body)}"


def handshakes(random, count):
    """What begins as TLS and is none."""
    for number in range(count):
        garbage = randomness.Random(random.random()).randbytes(1 + number % 300)
        length = len(garbage).to_bytes(2, "big")
        yield (HELLO + garbage, bytes([22, 3, 3]) + length + garbage, bytes([23, 3, 3]) + length + garbage,
               bytes([21, 3, 3, 0, 2, 2, 40]) + garbage)[number % 4]


def no_answer(answer):
    """Closed, perhaps with an alert."""
    if answer.status is None:
        return answer.body.decode()
    return f"status {answer.status}" if 200 <= answer.status < 400 else None


def crawl(port, context, number):
    """Sends a byte now and then; returns after how many seconds the server ended it, or None."""
    begin = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=5) as plain:
        # Within TLS, or before it.
        wraps = context and number % 2 == 0
        connection = context.wrap_socket(plain, server_hostname="127.0.0.1") if wraps else plain
        try:
            connection.sendall(HELLO if context and not wraps else b"GET / HTTP/1.1\r\nX: ")
            while time.monotonic() - begin < MAX_SLOW_SECONDS:
                connection.settimeout(PAUSE)
                try:
                    if not connection.recv(4_096):
                        return time.monotonic() - begin
                except TimeoutError:
                    connection.sendall(b"\3")
        except OSError:
            return time.monotonic() - begin
        finally:
            if wraps:
                connection.close()
    return None


def ended(seconds):
    return f"was not ended in {MAX_SLOW_SECONDS} s" if seconds is None else None


def held(child):
    """Descriptors, MiB and connections of clients."""
    return (*idle_connections.cost(child.pid), connections(child.port))


def connections(port):
    """Connections of a listening port that it has not closed."""
    rows = (row.split() for row in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:])
    return sum(row[1].endswith(f":{port:04X}") and row[3] in ("01", "08") for row in rows)


def settled(child, before, seconds=20):
    """Waits until all is as before."""
    limit = time.monotonic() + seconds
    while True:
        wrong = leak(before, held(child))
        if not wrong or time.monotonic() > limit:
            return wrong
        time.sleep(0.2)


def leak(before, after):
    return (idle_connections.bound("descriptors more", after[0] - before[0], MAX_DESCRIPTORS)
            or idle_connections.bound("MiB more", after[1] - before[1], MAX_MIB)
            or idle_connections.bound("connections", after[2], 0))
