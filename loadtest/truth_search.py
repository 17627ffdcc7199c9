"""Searches for the capacity of servers whose capacity is known. Used by truth.py."""

import asyncio
import json
import os
import pathlib
import subprocess
import sys
import time

WORKERS, SERVICE_SECONDS = 8, 0.04
LINK_BYTES, BODY = 20_000_000, 100_000
FEW = 100
#: Requests that a server of this file lets wait.
WAITING = 10

#: Kinds of servers, and what each can do.
KINDS = {
    "rate": "nginx, 200 requests/s",
    "queue": "nginx, 200 requests/s, the rest waits",
    "connections": f"nginx, {FEW} requests at a time of 500 ms",
    "workers": f"{WORKERS} workers of {SERVICE_SECONDS * 1000:.0f} ms",
    "bandwidth": f"a link of {LINK_BYTES // 1_000_000} MB/s, {BODY // 1000} kB bodies",
}


def compare(options):
    work = pathlib.Path(options.work)
    for name in ("limited", "queued", "few"):
        (work / "origin" / name).write_bytes(b"x" * 1_000)
    print(f"\n{'server':<44} {'capacity':>10} {'found':>10} {'error':>7}")
    rows = []
    for kind in ["rate", "workers"] if options.short else options.servers:
        if kind in ("workers", "bandwidth"):
            found, capacity = search_own(options, kind, work / f"{kind}.log")
        else:
            log = work / "access.log"
            begin = log.stat().st_size
            path = {"rate": "/limited", "queue": "/queued", "connections": "/few"}[kind]
            found = search(options, options.origin + path)
            capacity = FEW / mean_service(log, begin, path) if kind == "connections" else 200
        error = found / capacity - 1
        print(f"{KINDS[kind]:<44} {capacity:>8.1f}/s {found:>8.1f}/s {error:>7.1%}", flush=True)
        rows.append({"server": kind, "capacity": capacity, "found": found, "error": error})
    return rows


def search(options, url):
    """The highest rate that passes, with default thresholds; where a search needs one, with few errors."""
    command = [options.dray, "loadtest", url, "--rate", "25", "--search", "--step", f"{options.step}s",
               "--max-load", "1600", "--json", "--quiet", "--yes"]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("DRAY_")}
    for thresholds in ([], ["--threshold", "error_rate < 1%"]):
        result = subprocess.run(command + thresholds, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=environment)
        if not (result.returncode == 2 and "--threshold" in result.stderr):
            break
    try:
        found = json.loads(result.stdout)["ladder"]["highest"]
    except (ValueError, KeyError, TypeError):
        raise SystemExit(f"dray loadtest ended with {result.returncode}: {result.stderr}")
    if not found:
        raise SystemExit(f"dray loadtest found no rate that passes: {result.stderr}")
    return found


def mean_service(log, begin, path):
    with open(log) as file:
        file.seek(begin)
        lines = [line.split() for line in file]
    times = [float(seconds) for _, seconds, status, _, uri, _ in lines if (status, uri) == ("200", path)]
    return sum(times) / len(times)


def search_own(options, kind, log):
    """The found rate and the capacity of a server of this file, which runs as a process of its own."""
    server = subprocess.Popen([sys.executable, __file__, kind, str(log)], stdout=subprocess.PIPE, text=True)
    try:
        port = int(server.stdout.readline())
        found = search(options, f"http://127.0.0.1:{port}/x")
    finally:
        server.terminate()
        server.wait()
    if kind == "bandwidth":
        return found, LINK_BYTES / BODY
    times = [float(line) for line in log.read_text().split()]
    return found, WORKERS / (sum(times) / len(times))


# MARK: Servers

class Workers:
    """So many workers of a fixed service time, and a short queue; what exceeds it is refused."""

    body = b"x"

    def __init__(self, log):
        self.free, self.waiting, self.log = asyncio.Semaphore(WORKERS), 0, log

    async def serve(self):
        if self.free.locked() and self.waiting >= WAITING:
            return False
        self.waiting += 1
        async with self.free:
            self.waiting -= 1
            began = time.monotonic()
            await asyncio.sleep(SERVICE_SECONDS)
            self.log.write(f"{time.monotonic() - began:.6f}\n")
        return True


class Link:
    """A link that carries one byte after the other; what would wait too long for it is refused."""

    body = b"x" * BODY

    def __init__(self, _):
        self.free_at = 0.0

    async def serve(self):
        now = time.monotonic()
        if self.free_at - now > WAITING * BODY / LINK_BYTES:
            return False
        self.free_at = max(now, self.free_at) + BODY / LINK_BYTES
        await asyncio.sleep(self.free_at - now)
        return True


async def run_server(kind, path):
    with open(path, "w", buffering=1) as log:
        served = {"workers": Workers, "bandwidth": Link}[kind](log)

        async def handle(reader, writer):
            try:
                while await reader.readuntil(b"\r\n\r\n"):
                    is_served = await served.serve()
                    status, body = ("200 OK", served.body) if is_served else ("503 Service Unavailable", b"")
                    writer.write(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n" % (status.encode(), len(body)) + body)
                    await writer.drain()
            except (asyncio.IncompleteReadError, ConnectionError):
                pass
            finally:
                writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(run_server(sys.argv[1], sys.argv[2]))
