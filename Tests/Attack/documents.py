"""Malformed JSON at every route that takes a body."""

import json

from . import oracles
from .wire import Documents, at, replaced, spots

DEEP = 100_000
WRONG = (None, True, False, 0, -1, 1.5, 1e300, "", "x", "\0", "a\nb", "\u202e", "x" * 5_000, [], {}, [[]], [None],
         {"": 1}, {"a": {"b": {}}
                   }, 2**63, -2**63 - 1, "../../etc/passwd", "file:///", "http://", "' OR 1=1 --", "%n%s", "NaN")
TABLES = ("catalog", "asset", "segment", "result", "queue", "site", "origin", "load_test", "job")


def attack(lab, record):
    lab.start_cluster()
    documents = Documents(lab)
    random = record.random()
    bodies = documents.bodies()
    for path, body in bodies:
        right = json.dumps(body).encode()
        texts = [text for text in malformed(right, random) if text != right]
        texts = random.sample(texts, min(len(texts), record.count(len(texts), 12)))
        before = state(lab)
        for text in texts:
            # What takes the server long to read may take it longer here, next to the attack.
            answer = lab.ask("POST", path, text)
            record.judge((path, text), oracles.answer(answer, allowed={400, 404, 409, 413}))
        happened = None if state(lab) == before else "what was refused has changed the database"
        record.judge((path, "all of them"), happened)
    for path, body in bodies:
        cases = [replaced(body, spot, value) for spot in spots(body) for value in WRONG]
        cases += [replaced(body, spot, {**at(body, spot), "unknown": 1}) for spot in spots(body)
                  if isinstance(at(body, spot), dict) and not open_object(spot)]
        cases += [without(body, spot) for spot in spots(body) if spot and isinstance(spot[-1], str)]
        for case in random.sample(cases, min(len(cases), record.count(110, 6))):
            text = json.dumps(case)
            record.judge((path, text), oracles.answer(lab.ask("POST", path, text)))
    record.judge("an honest request at the end", oracles.answer(lab.ask("GET", "/v1/status"), allowed={200}))


def open_object(spot):
    return bool(spot) and spot[-1] == "progress"


def without(body, spot):
    body = json.loads(json.dumps(body))
    del at(body, spot[:-1])[spot[-1]]
    return body


def state(lab):
    """A digest of what submissions, reports and operators change."""
    parts = []
    for table in TABLES:
        parts.append(f"SELECT '{table}', count(*), md5(coalesce(string_agg(t::text, E'\\n' ORDER BY t::text), '')) "
                     f"FROM dray.{table} t")
    return lab.sql(" UNION ALL ".join(parts) + " ORDER BY 1")


def malformed(text, random):
    """Documents that are no JSON, or none that can be meant in one way only."""
    size = len(text)
    for cut in sorted({0, 1, 2, size // 3, size // 2, size - 2, size - 1}
                      | {random.randrange(size)
                         for _ in range(25)}):
        yield text[:cut]
    for _ in range(25):
        at_byte = random.randrange(size)
        changed = text[:at_byte] + random.choice(
            (b"\0", b"\x01", b"\xff", b"\xc0\xaf", b"\xed\xa0\x80")) + text[at_byte:]
        yield changed
    for ending in (b"x", b"}", b"]", b",", b"{}", b" {}", b"\0", b"//x", b"/**/", b"\n1", b"null"):
        yield text + ending
    for beginning in (b"\xef\xbb\xbf", b"x", b",", b"{", b"[", b"\0", b"/**/", b"//x\n", b"\x1e", b")]}',\n"):
        yield beginning + text
    yield b"{" * DEEP
    yield b"[" * DEEP
    yield b'{"a":' * DEEP
    yield b"[" * DEEP + b"]" * DEEP
    yield b'{"a":[' * 20_000
    yield b"[" + b"1," * 200_000 + b"1]"
    yield b'{"a":' + b"9" * 500_000 + b"}"
    yield b'{"' + b"a" * 1_000_000
    yield b'{"a":"' + b"\\u0000" * 1_000
    yield b'{"a":"\\ud800"}'
    yield b'{"a":"\\u12"}'
    yield b'{"a":"\\x00"}'
    yield b"{'a':1}"
    yield b'{a:1}'
    yield b'{"a":1,}'
    yield b'{"a":1 "b":2}'
    yield b'{"a"}'
    yield b'{"a":}'
    yield b'{:1}'
    yield b'{"a":NaN}'
    yield b'{"a":Infinity}'
    yield b'{"a":01}'
    yield b'{"a":1.}'
    yield b'{"a":.1}'
    yield b'{"a":+1}'
    yield b'{"a":tru}'
    yield b'{"a":True}'
    yield b'{"a":undefined}'
    yield b"true"
    yield b"1"
    yield b'"x"'
    yield b"null"
    yield b"[]"
    yield b" "
    yield b"\t\r\n"
    for encoding in ("utf-16-le", "utf-16-be", "utf-16", "utf-32"):
        yield text.decode().encode(encoding)
    inner = text.decode()
    for name in list(json.loads(inner))[:3]:
        # The same name twice, and with an escape.
        yield inner[:-1].encode() + b"," + json.dumps({name: 1})[1:].encode()
        yield inner.replace(f'"{name}"', f'"\\u{ord(name[0]):04x}{name[1:]}"', 1).encode()
