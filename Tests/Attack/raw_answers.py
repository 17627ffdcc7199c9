"""Raw answers of HTTP/1 and frames of HTTP/2 at a worker: the answers of scripts/fuzz, and the folded first header."""

import asyncio
import hashlib
import json
import pathlib
import shutil
import sys

from . import oracles
from .lab import ORIGIN_ADDRESS, free_port
from .origins import Loop, Origin, moved, ok

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Fuzz"))
from answers import __main__ as fuzzer  # noqa: E402

FOLDED = b"HTTP/1.1 200 OK\r\n Content-Length: 5\r\n\r\nhello"


def attack(lab, record):
    folded(lab, record)
    known(lab, record)
    batch(lab, record, 0, is_http2=False, count=record.count(fuzzer.BATCH, 200))
    if not record.is_short:
        batch(lab, record, 1, is_http2=True, count=fuzzer.BATCH)


def folded(lab, record):
    """An answer whose first header line is folded, after another transfer on the handle and after a redirect."""
    def respond(path):
        if path.startswith("/folded"):
            return FOLDED
        return moved("/folded" + path) if path.startswith("/moved") else ok(b"good")
    origin = Origin(ORIGIN_ADDRESS, respond)
    try:
        urls = [f"{origin.url}/{kind}/{number}" for number in range(60) for kind in ("good", "folded", "moved")]
        report = prefetch(lab, record, urls, "folded")
        bodies = {"good": b"good", "folded": b"hello", "moved": b"hello"}
        for asset in report:
            kind = asset["url"].split("/")[3]
            record.judge(asset["url"], stored(asset, [bodies[kind]]))
    finally:
        origin.close()


#: Answers with what a correct reading allows to be stored; an empty list where nothing is.
KNOWN = (
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", [b"hello"]),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloworld", [b"hello"]),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", []),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", []),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", [b"hello"]),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", []),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", []),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\nhello\r\n0\r\n\r\n", []),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nhello", []),
    (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello", []),
    (b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 5\r\n\r\nhello", []),
    (b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4/50\r\nContent-Length: 5\r\n\r\nhello", []),
    (b"HTTP/1.1 204 No Content\r\n\r\n", []),
    (b"HTTP/1.1 304 Not Modified\r\n\r\n", []),
    (b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", [b"hello"]),
    (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nhello", []),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhello", []),
    (b"HTTP/1.1 200 OK\r\nContent-Digest: sha-256=:AAAA:\r\nRepr-Digest: sha-256=:"
     b"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:\r\nContent-Length: 5\r\n\r\nhello", []),
    (b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", []),
    (b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n", []),
    (b"HTTP/1.1 302 Found\r\nLocation: \x00\r\nContent-Length: 0\r\n\r\n", []),
    (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n", []),
    (b"\x15\x03\x01\x00\x02\x02\x28", []),
    (b"", []),
)


def known(lab, record):
    class Once(Origin):
        async def converse(self, reader, writer):
            try:
                head = await reader.readuntil(b"\r\n\r\n")
                number = int(head.split(b" ", 2)[1].strip(b"/"))
                writer.write(KNOWN[number][0])
                await writer.drain()
            except (OSError, asyncio.IncompleteReadError):
                pass
            finally:
                writer.close()
    origin = Once(ORIGIN_ADDRESS, None)
    try:
        urls = [f"{origin.url}/{number}" for number in range(len(KNOWN))]
        for asset in prefetch(lab, record, urls, "known", seconds=record.count(20, 6)):
            answer, bodies = KNOWN[int(asset["url"].rsplit("/", 1)[1])]
            record.judge(answer, stored(asset, bodies))
    finally:
        origin.close()


def stored(asset, bodies):
    """Stored with the bytes of a correct reading, or not at all."""
    if asset["state"] != "completed":
        failure = asset.get("failure") or {}
        return None if not failure or failure["code"] != "worker.internal" else f"{failure}"
    digests = {hashlib.sha256(body).hexdigest() for body in bodies}
    files = [file["sha256"] for file in asset["files"]]
    return None if set(files) <= digests else f"stored with {files}, not with one of {bodies}"


def settings(lab, is_http2=False):
    path = lab.scratch / "origins.json"
    path.write_text(json.dumps({"default": {
        "timeouts": {"connectSeconds": 1, "firstByteSeconds": 1, "lowSpeedSeconds": 1},
        **({"http": "2-prior-knowledge"} if is_http2 else {})}}))
    return path


def prefetch(lab, record, urls, name, seconds=40, is_http2=False):
    """Fetches a list with one worker; the report's assets. Retries that are far off are not awaited."""
    listing, report = lab.scratch / f"{name}.list", lab.scratch / f"{name}.json"
    listing.write_text("\n".join(urls) + "\n")
    site = lab.scratch / f"{name}-site"
    ended = lab.run("prefetch",
                    listing,
                    "--to",
                    site,
                    "--state",
                    lab.scratch / "state-answers",
                    "--quiet",
                    "--name",
                    name,
                    "--durability",
                    "none",
                    "--report",
                    report,
                    "--origin-settings",
                    settings(lab, is_http2),
                    seconds=seconds)
    shutil.rmtree(site, ignore_errors=True)
    # Abandoned after its time it has to end like any other.
    happened = oracles.process(ended, {0, 1, 130}) if ended.status is not None else None
    if happened is None and ended.seconds > seconds + 22:
        happened = "did not end when it was asked to"
    if happened is None and not report.exists():
        happened = f"no report: {oracles.tail(ended.stderr)}"
    record.judge(name, happened)
    return json.loads(report.read_text())["assets"] if report.exists() else []


def batch(lab, record, run, is_http2, count):
    """Random answers of the fuzzer, by number: `scripts/fuzz answers --show N --seed S` prints one."""
    seed = f"{record.seed}-attack-{run}"
    origin = fuzzer.Origin(seed, is_http2)
    hosts = fuzzer.addresses(count // fuzzer.PER_ORIGIN + 1)
    port = free_port(hosts[0])
    loop = Server(origin, hosts, port)
    urls = []
    for index in range(count):
        host = hosts[index // fuzzer.PER_ORIGIN]
        if not is_http2:
            # What is in a used handle matters, so that each answer comes after a good one.
            urls.append(f"http://{host}:{port}/good/{index}")
        urls.append(f"http://{host}:{port}/{index}")
    try:
        report = prefetch(lab, record, urls, f"answers-{run}", seconds=record.count(40, 12), is_http2=is_http2)
    finally:
        loop.close()
    outcomes = {asset["url"]: asset for asset in report}
    for number in origin.given:
        # An answer may lead to a number that was not listed.
        if number >= count:
            continue
        url = f"http://{hosts[number // fuzzer.PER_ORIGIN]}:{port}/{number}" if not is_http2 else None
        asset = outcomes.get(url)
        code = ((asset or {}).get("failure") or {}).get("code")
        record.judge(f"seed {seed}, answer {number}",
                     f"worker.internal: {asset}" if code == "worker.internal" else None)
    record.notes.append(f"{len(origin.given)} random answers of HTTP/{2 if is_http2 else 1}")


class Server:
    def __init__(self, origin, hosts, port):
        self.work = Loop()
        self.server = self.work.call(asyncio.start_server(origin.serve, hosts, port, backlog=64, limit=1 << 20))

    def close(self):
        self.work.loop.call_soon_threadsafe(self.server.close)
        self.work.close()
