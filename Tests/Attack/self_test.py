"""Shows that the oracles can fail: each is given observations of what must not get through, and of what may."""

import json
import pathlib
import tempfile

from . import (addresses, documents, extreme_numbers, idle_connections, oracles, paths, raw_answers, raw_requests,
               secure_requests)
from .oracles import Answer, Ended
from .record import Record, shown

REJECTION = b'{"code":"input.field","detail":"m"}'


def ended(status=0, stdout=b"", stderr=b"", seconds=0.1):
    return Ended(status, stdout, stderr, seconds)


def answer(status=200, body=b"{}", seconds=0.1, headers=None):
    return Answer(status, headers if headers is not None else {"head": b"", "ended": False}, body, seconds)


def cases():
    """What an oracle says of an observation, whether that is to be a fault, and what it is about."""
    for status in (-4, -6, -9, -11, 132, 133, 134, 139, None, 17):
        yield oracles.process(ended(status)), True, f"a process that ends with {status}"
    for status in (0, 1, 2, 3, 99):
        yield oracles.process(ended(status)), False, f"a process that ends with {status}"
    for text in (b"x (worker.internal)", b"Fatal error: Double value cannot be converted", b"cluster.internal",
                 b"internal.unknown"):
        yield oracles.process(ended(2, stderr=text)), True, text
        yield oracles.process(ended(0, stdout=text)), True, text
    for text in (b'{"a":NaN}', b'{"a":Infinity}', b'{"a":-Infinity}', b'{"a":'):
        yield oracles.numbers(ended(stdout=text)), True, text
    yield oracles.numbers(ended(stdout=b'{"a":1e308}')), False, "numbers"
    for text in (b"wait nan s", b"inf", b"| -inf |", b"Infinity s"):
        yield oracles.text_numbers(ended(stdout=text)), True, text
    yield oracles.text_numbers(ended(stdout=b"information of nanny")), False, "words"
    for char in "\0\x07\x1b\r\x7f\x85\x9b\u202e\u200f\u2066\u2028\ufeff":
        yield oracles.controls(f"a{char}b".encode()), True, f"U+{ord(char):04X}"
    yield oracles.controls("a\tb\n\u00e9\u0301\U0001f4a9".encode()), False, "text"
    yield oracles.secret(b"GET /a?sig=mark", b"mark"), True, "a secret"
    yield oracles.secret(b"GET /a?...", b"mark"), False, "no secret"
    for given in (answer(None, b"ConnectionResetError"), answer(500, REJECTION), answer(503, REJECTION),
                  answer(400, b"bad"), answer(400, b"{}"), answer(400, b'{"code":"x y"}'),
                  answer(200, seconds=1.5), answer(200, b"worker.internal")):
        yield oracles.answer(given), True, given
    for given in (answer(), answer(204, b""), answer(400, REJECTION), answer(409, REJECTION)):
        yield oracles.answer(given), False, given
    yield oracles.answer(answer(200), allowed={400}), True, "malformed, and taken"
    yield oracles.refused(answer(200), {401}), True, "answered to strangers"
    yield oracles.refused(answer(401, b"no"), {401}), True, "refused without a code"
    yield oracles.refused(answer(401, REJECTION), {401}), False, "refused"
    yield from of_attacks()


def of_attacks():
    for state, code, is_fault in (("done", None, True), ("failed", None, True), ("ready", None, True),
                                  ("failed", "worker.internal",
                                   True), ("completed", "", True), ("failed", "origin.addressDenied", False)):
        yield oracles.address(state, code), is_fault, (state, code)
    yield addresses.canary_fault([("127.0.0.1", b"GET /")]), True, "a canary that was asked"
    yield addresses.canary_fault([]), False, "a canary that was not"
    for data, given, is_fault in ((b"GET", answer(None, b"nothing came"), True), (b"GET", answer(0, b""), True),
                                  (b"GET", answer(0, b"garbage"), True), (b"GET", answer(500, REJECTION), True),
                                  (b"GET", answer(400, b"<html>"), True), (b"GET", answer(408, REJECTION,
                                                                                          seconds=60), True),
                                  (b"GET", answer(400, REJECTION), False), (b"GET", answer(505, REJECTION), False),
                                  (b"HEAD", answer(400,
                                                   b""), False), (b"GET", answer(0, b"",
                                                                                 headers={"ended": True}), False)):
        yield raw_requests.judge(data, given), is_fault, given
    yield raw_requests.smuggling(answer(200)), True, "an ambiguous request that is taken"
    yield raw_requests.smuggling(answer(400, REJECTION +
                                        b"HTTP/1.1 200 OK\r\n")), True, "a hidden request that is answered"
    yield raw_requests.smuggling(answer(400, REJECTION)), False, "an ambiguous request that is refused"
    good, other = {"state": "completed",
                   "files": [{"sha256": "0" * 64}]}, {"state": "failed", "failure": {"code": "worker.internal"}}
    yield raw_answers.stored(good, [b"hello"]), True, "other bytes are stored"
    yield raw_answers.stored(good, []), True, "bytes are stored where there are none"
    yield raw_answers.stored(other, []), True, "a failure of its own"
    yield raw_answers.stored({"state": "failed", "failure": {"code": "origin.protocol"}},
                             []), False, "nothing is stored"
    yield idle_connections.bound("MiB", 65, 64), True, "memory beyond its bound"
    yield idle_connections.bound("MiB", 64, 64), False, "memory within it"
    for after, is_fault in (((10, 9.0, 0), False), ((27, 9.0, 0), True), ((10, 60.0, 0), True), ((10, 9.0, 1), True)):
        yield secure_requests.leak((10, 9.0, 0), after), is_fault, after
    yield secure_requests.ended(None), True, "a slow client that is served for ever"
    yield secure_requests.ended(10.1), False, "a slow client that is ended"
    yield secure_requests.no_answer(answer(200)), True, "an answer to what is no handshake"
    yield secure_requests.no_answer(answer(0, b"")), False, "a closed connection"
    yield from written()


def written():
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        (root / "x").write_text("as it was")
        (root / paths.CONTAINED).mkdir()
        before = paths.snapshot(root)
        (root / paths.CONTAINED / "a").write_text("stored")
        yield paths.difference(before, paths.snapshot(root)), False, "a file in the site"
        for name, text in (("x", "changed"), ("y", "new")):
            (root / name).write_text(text)
            yield paths.difference(before, paths.snapshot(root)), True, f"{name} outside of it"
            before = paths.snapshot(root)
        (root / "z").symlink_to("/etc")
        yield paths.difference(before, paths.snapshot(root)), True, "a link outside of it"


def run():
    """The number of oracles that were wrong."""
    wrong = count = 0
    for happened, is_fault, about in cases():
        count += 1
        if bool(happened) != is_fault:
            wrong += 1
            print(f"an oracle {'misses' if is_fault else 'takes for a fault'}: {shown(about)} ({happened})")
    record = Record("self-test", "1", is_short=True)
    record.judge("x", None)
    record.judge("x", "y")
    if (record.tried, len(record.through)) != (2, 1):
        wrong += 1
        print("a record does not count")
    for text in documents.malformed(b'{"a": 1, "b": [1, 2]}', record.random()):
        count += 1
        if is_json(text):
            wrong += 1
            print(f"no malformed document: {shown(text)}")
    for host in ("8.8.8.8", "010.0.0.1", "134744072"):
        count += 1
        if addresses.is_forbidden(host):
            wrong += 1
            print(f"{host} would be asked")
    if len(extreme_numbers.TEXTS) < 60:
        wrong += 1
    print(f"{count} observations, {wrong} wrong")
    return wrong


def is_json(text):
    """Whether a strict reader takes it: an object, each name once, without an escape in it."""
    def once(pairs):
        names = [name for name, _ in pairs]
        if len(set(names)) < len(names):
            raise ValueError("twice")
        return dict(pairs)
    try:
        decoded = text.decode("utf-8")
        if "\\u" in decoded:
            return False
        return isinstance(json.loads(decoded, object_pairs_hook=once, parse_constant=oracles.refuse),
                          dict) and decoded != '{"a": 1, "b": [1, 2]}'
    except (ValueError, RecursionError):
        return False
