"""Lets an origin answer at random, over a worker built with the address sanitizer.

Answer N of a seed is always the same. A worker that ends by a signal, a report of the sanitizer and a failure
with worker.internal are faults; the answers that were given last are then named, and kept.
"""

import argparse
import asyncio
import json
import os
import pathlib
import random
import shutil
import struct
import signal
import socket
import subprocess
import sys
import tempfile
import time

from . import http1, http2

BATCH = 1_500
# Few answers from each, so that none is regarded as failing.
PER_ORIGIN = 4
GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-First: a\r\nX-Second: b\r\n\r\ngood"
GONE = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
BATCH_SECONDS = 40
SANITIZER_EXIT = 99
# Numbers from this on are of HTTP/2.
FIRST_HTTP2 = 1_000_000


def choice_of(seed, number):
    return random.Random(f"{seed}:{number}")


class Origin:
    """Answers /N with answer N once, and with 404 after that; everything else with four good bytes."""

    def __init__(self, seed, is_http2):
        self.seed, self.is_http2 = seed, is_http2
        self.given = {}

    async def serve(self, reader, writer):
        try:
            await self.converse(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass  # The worker has closed it, or has ended.
        finally:
            writer.transport.abort()

    async def converse(self, reader, writer):
        if self.is_http2:
            # Each connection has one request; its answer does not depend on what is asked for.
            await reader.readexactly(24)
            if len(self.given) < BATCH:
                await self.send(writer, FIRST_HTTP2 + len(self.given))
            else:
                writer.write(http2.NOT_FOUND)
                await writer.drain()
                await asyncio.sleep(0.2)
            return
        while True:
            request = await reader.readuntil(b"\r\n\r\n")
            path = request.split(b" ", 2)[1].strip(b"/")
            if not path.isdigit():
                writer.write(GOOD)
                await writer.drain()
            elif int(path) in self.given:
                writer.write(GONE)
                await writer.drain()
            else:
                await self.send(writer, int(path))
                return

    async def send(self, writer, number):
        self.given[number] = time.monotonic()
        chance = choice_of(self.seed, number)
        data = (http2 if self.is_http2 else http1).answer(chance)
        parts = chance.choice((1, 1, 2, 5, 30))
        cuts = sorted(chance.randrange(len(data) + 1) for _ in range(parts - 1))
        for start, end in zip([0, *cuts], [*cuts, len(data)]):
            writer.write(data[start:end])
            await writer.drain()
            if parts > 1:
                await asyncio.sleep(chance.choice((0, 0, 0.001, 0.02)))
        match chance.randrange(4):
            case 0:
                writer.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            case 1:
                await asyncio.sleep(0.2)
        writer.close()


def addresses(count):
    return [f"127.{77 + index // 62_500}.{index // 250 % 250}.{index % 250 + 1}" for index in range(count)]


async def batch(options, seed, scratch, is_http2):
    """Fetches BATCH answers with one worker; the faults found."""
    origin = Origin(seed, is_http2)
    hosts = addresses(BATCH // PER_ORIGIN)
    server = await asyncio.start_server(origin.serve, hosts, options.port, backlog=64, limit=1 << 20)
    destination, listing, report = scratch / "edge", scratch / "list", scratch / "report.json"
    with open(listing, "w") as file:
        for index in range(BATCH):
            host = hosts[index // PER_ORIGIN]
            if not is_http2:
                # What is in a used handle matters, so that each answer comes after a good one.
                file.write(f"http://{host}:{options.port}/good/{index}\n")
            file.write(f"http://{host}:{options.port}/{index}\n")
    settings = scratch / "origins.json"
    settings.write_text(json.dumps({"default": {
        "timeouts": {"connectSeconds": 1, "firstByteSeconds": 1, "lowSpeedSeconds": 1},
        **({"http": "2-prior-knowledge"} if is_http2 else {})}}))
    environment = os.environ | {
        "ASAN_OPTIONS": f"exitcode={SANITIZER_EXIT}:detect_leaks=0:log_path={scratch}/sanitizer",
        "SWIFT_BACKTRACE": "enable=no", "DRAY_LOG": "error"}
    command = [options.dray, "prefetch", listing, "--to", destination, "--state", scratch / "state", "--quiet",
               "--name", "answers", "--durability", "none", "--report", report,
               "--origin-settings", settings]
    # In its own process group: ending the fuzzer ends its worker as well.
    with open(scratch / "output", "wb") as output:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                 env=environment, start_new_session=True)
    # Some answers request a much later retry; these are not awaited.
    limit = time.monotonic() + BATCH_SECONDS
    is_given_up = False
    try:
        while child.poll() is None and time.monotonic() < limit:
            await asyncio.sleep(0.1)
    finally:
        if child.poll() is None:
            is_given_up = True
            os.killpg(child.pid, signal.SIGTERM)
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                is_given_up = False  # Not to end when it is asked to is a fault.
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        server.close()
    shutil.rmtree(destination, ignore_errors=True)
    return len(origin.given), faults(
        None if is_given_up else child.returncode, scratch, report, origin)


def faults(status, scratch, report, origin):
    """What was wrong with a worker that ended with `status`; None where it was ended."""
    found = []
    reports = list(scratch.glob("sanitizer.*"))
    if reports:
        found.append("the address sanitizer reported:\n" + reports[0].read_text(errors="replace")[:4_000])
    if status is not None and (status not in (0, 1) or not report.exists()):
        output = (scratch / "output").read_text(errors="replace")[-2_000:]
        found.append(f"dray ended with {status}: {output}")
    if report.exists() and "worker.internal" in report.read_text():
        found.append("worker.internal in the report")
    if found:
        last = sorted(origin.given.items(), key=lambda item: item[1])[-20:]
        found.append("the last answers, oldest first: " + ", ".join(str(number) for number, _ in last))
    return found


def main():
    parser = argparse.ArgumentParser(prog="scripts/fuzz answers")
    parser.add_argument("--dray", required=True)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", default=str(int(time.time())))
    parser.add_argument("--keep", required=True, type=pathlib.Path, help="where faults are kept")
    parser.add_argument("--show", type=int, metavar="N", help="print the bytes of answer N and end")
    options = parser.parse_args()
    if options.show is not None:
        kind = http2 if options.show >= FIRST_HTTP2 else http1
        sys.stdout.buffer.write(kind.answer(choice_of(options.seed, options.show)))
        return 0
    print(f"seed {options.seed}", file=sys.stderr)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        options.port = probe.getsockname()[1]
    ends_at = time.monotonic() + options.seconds
    given, run = 0, 0
    while time.monotonic() < ends_at:
        is_http2 = run % 2 == 1
        with tempfile.TemporaryDirectory(prefix="dray-fuzz.") as directory:
            scratch = pathlib.Path(directory)
            # As root, PostgreSQL runs as another user, which has to get to its directory.
            scratch.chmod(0o755)
            seed = f"{options.seed}-{run}"
            count, found = asyncio.run(batch(options, seed, scratch, is_http2))
            given += count
            if found:
                options.keep.mkdir(parents=True, exist_ok=True)
                kept = options.keep / f"{seed}.txt"
                kept.write_text("\n".join(found) + "\n")
                print("\n".join(found) + f"\nseed {seed}; kept in {kept}", file=sys.stderr)
                return 1
        run += 1
        print(f"{given} answers, {run} workers, no fault", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
