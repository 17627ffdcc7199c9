"""How fast a catalog is while slow origins hold connections of the same worker.

Started by loadtest/slow-drip. Standard library only.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import pathlib
import secrets
import signal
import subprocess
import sys
import time
import urllib.request

WAIT_SECONDS = 60
#: Mixes of slow files: how many, over how many origins, bytes a second, whether they can be resumed, priority, and
#: whether files of honest origins that are slow as well are beside them.
MIXES = {
    "64 drips, 8 origins": (64, 8, 1_200, True, 1, False),
    "the same without validators": (64, 8, 1_200, False, 1, False),
    "200 drips, 40 origins": (200, 40, 1_200, True, 1, False),
    "64 without a header": (64, 8, 0, False, 1, False),
    "200 drips, of the same priority": (200, 40, 1_200, True, 9, False),
    "64 drips of 1, honest slow origins": (64, 1, 1_200, True, 1, True),
}
SLOW_BYTES = 1 << 20
#: Honest slow files: how many, over how many origins, bytes a second, bytes.
HONEST = (40, 4, 10_000, 50_000)


def arguments():
    parser = argparse.ArgumentParser(
        prog="loadtest/slow-drip", description=__doc__.split("\n")[0])
    parser.add_argument("--files", type=int, default=4_000, help="of the fast catalog (4000)")
    parser.add_argument("--size", type=int, default=16_384, help="bytes of each (16384)")
    parser.add_argument("--delay-milliseconds", type=int, default=100,
                        help="of each of its answers: connections are what it lacks (100)")
    parser.add_argument("--connections", type=int, default=32, help="of the worker (32)")
    parser.add_argument("--head-start", type=float, default=0.5, metavar="SECONDS",
                        help="of the slow catalog (0.5)")
    parser.add_argument("--most-seconds", type=float, default=120,
                        help="time limit of the fast catalog, in seconds (120)")
    parser.add_argument("--mixes", metavar="N,…", help="only these of the mixes, from 1")
    parser.add_argument("--min-ratio", type=float, default=0.5,
                        help="fail when less is left of the undisturbed rate (0.5)")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    for name in ("work", "port", "dray"):
        parser.add_argument("--" + name, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not 1 <= options.files <= 100_000 or not 1 <= options.connections <= 1_000:
        parser.error("--files takes 1 to 100000, --connections 1 to 1000")
    return options


async def head_of(reader):
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    fields = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
    return lines[0].split(" ")[1], fields


async def answer_fast(writer, body, delay):
    await asyncio.sleep(delay)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nETag: \"1\"\r\n\r\n" % len(body) + body)
    await writer.drain()


async def answer_slowly(writer, fields, rate, has_validator, size):
    if rate == 0:
        await asyncio.sleep(3_600)
    first, status, lines = 0, "200 OK", ""
    if has_validator:
        lines = 'ETag: "1"\r\nAccept-Ranges: bytes\r\n'
        if "range" in fields:
            first = int(fields["range"].split("=")[1].split("-")[0])
            status = "206 Partial Content"
            lines += "Content-Range: bytes %d-%d/%d\r\n" % (first, size - 1, size)
    head = "HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n" % (status, size - first, lines)
    writer.write(head.encode())
    for start in range(first, size, rate // 4):
        writer.write(b"x" * min(rate // 4, size - start))
        await writer.drain()
        await asyncio.sleep(0.25)


def serve(ports, told, delay, size):
    """Listens for the fast catalog and for each slow origin, in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    body = os.urandom(size)

    async def connected(reader, writer):
        try:
            while True:
                path, fields = await head_of(reader)
                if path.startswith("/fast/"):
                    await answer_fast(writer, body, delay)
                else:
                    _, _, rate, has_validator, size, _ = path.split("/")
                    await answer_slowly(
                        writer, fields, int(rate), has_validator == "1", int(size))
                    return
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def run():
        servers = [await asyncio.start_server(connected, "127.0.0.1", 0, backlog=512)
                   for _ in range(ports)]
        told.put([server.sockets[0].getsockname()[1] for server in servers])
        await asyncio.Event().wait()

    asyncio.run(run())


class Cluster:
    """Runs `dray up` and sends it requests."""

    def __init__(self, options, number):
        self.options = options
        self.work = pathlib.Path(options.work)
        self.environment = os.environ | {
            "DRAY_LOG": "warning", "DRAY_TOKEN": secrets.token_hex(32),
            "DRAY_COORDINATOR": "http://127.0.0.1:" + options.port}
        self.site = self.work / ("site-%d" % number)
        with open(self.work / "log", "wb") as log:
            self.process = subprocess.Popen(
                [options.dray, "up", "--state", self.work / "state", "--durability", "none",
                 "--connections", str(options.connections), "--listen", "127.0.0.1:" + options.port],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment)
        self.followers = []

    def wait(self):
        limit = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                request = urllib.request.Request(
                    self.environment["DRAY_COORDINATOR"] + "/v1/status",
                    headers={"Authorization": "Bearer " + self.environment["DRAY_TOKEN"]})
                return urllib.request.urlopen(request).read()
            except OSError:
                if self.process.poll() is not None or time.monotonic() > limit:
                    sys.exit((self.work / "log").read_text())
                time.sleep(0.05)

    def prefetch(self, name, priority, urls):
        path = self.work / (name + ".json")
        path.write_text(json.dumps({"name": name, "priority": priority, "assets": urls}))
        follower = subprocess.Popen(
            [self.options.dray, "prefetch", path, "--to", self.site, "--quiet", "--name", name],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=self.environment)
        self.followers.append(follower)
        return follower

    def done(self, name):
        status = json.loads(self.wait())
        totals = [one["totals"] for one in status["catalogs"] if one["name"] == name]
        return totals[0].get("segmentsDone", 0) if totals else 0

    def stop(self):
        for process in self.followers + [self.process]:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()
        subprocess.run(["rm", "-rf", self.work / "state", self.site], check=True)


def measure(options, ports, number, mix):
    """Seconds of the fast catalog's first and second half beside a mix, from the start of its `prefetch`."""
    cluster = Cluster(options, number)
    try:
        cluster.wait()
        if mix:
            count, origins, rate, has_validator, priority, has_honest = mix
            urls = ["http://127.0.0.1:%d/%d/%d/%d/%d/%d" % (
                ports[1 + index % origins], number, rate, has_validator, SLOW_BYTES, index)
                for index in range(count)]
            cluster.prefetch("slow", priority, urls)
            limit = time.monotonic() + WAIT_SECONDS
            while '"active":' not in cluster.wait().decode() and time.monotonic() < limit:
                time.sleep(0.05)
            time.sleep(options.head_start)
            if has_honest:
                honest, honest_origins, rate, size = HONEST
                cluster.prefetch("honest", 9, ["http://127.0.0.1:%d/%d/%d/1/%d/%d" % (
                    ports[1 + origins + index % honest_origins], number, rate, size, index)
                    for index in range(honest)])
        urls = ["http://127.0.0.1:%d/fast/%d/%d" % (ports[0], number, index)
                for index in range(options.files)]
        start = time.monotonic()
        follower = cluster.prefetch("fast", 9, urls)
        first = None
        while follower.poll() is None and time.monotonic() - start < options.most_seconds:
            if first is None and cluster.done("fast") > 0:
                first = time.monotonic() - start
            time.sleep(0.1)
        seconds = time.monotonic() - start
        done = cluster.done("fast")
        slow = cluster.done("slow") if mix else 0
        honest = cluster.done("honest") if mix and mix[5] else None
        return {"files": done, "seconds": round(seconds, 2), "firstSeconds": round(first or seconds, 2),
                "rate": round(done / seconds, 1), "slowDone": slow, "honestDone": honest}
    finally:
        cluster.stop()


def main():
    options = arguments()
    mixes = list(MIXES.items())
    if options.mixes:
        mixes = [mixes[int(number) - 1] for number in options.mixes.split(",")]
    told = multiprocessing.Queue()
    most = max(mix[1] + (HONEST[1] if mix[5] else 0) for _, mix in mixes)
    origin = multiprocessing.Process(
        target=serve, args=(1 + most, told, options.delay_milliseconds / 1_000, options.size))
    origin.start()
    rows = []
    try:
        ports = told.get(timeout=WAIT_SECONDS)
        print("%-34s %8s %9s %12s %9s %7s" % (
            "beside", "files", "seconds", "first after", "files/s", "ratio") + " %7s" % "honest")
        for number, (name, mix) in enumerate([("nothing", None)] + mixes):
            row = {"beside": name} | measure(options, ports, number, mix)
            row["ratio"] = round(row["rate"] / (rows[0]["rate"] if rows else row["rate"]), 3)
            rows.append(row)
            honest = "" if row["honestDone"] is None else "%d/%d" % (row["honestDone"], HONEST[0])
            print("%-34s %8d %9.2f %10.2f s %9.1f %7.3f %7s" % (
                name, row["files"], row["seconds"], row["firstSeconds"], row["rate"], row["ratio"],
                honest), flush=True)
    finally:
        origin.kill()
        origin.join()
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=2) + "\n")
    wrong = [row["beside"] for row in rows if row["ratio"] < options.min_ratio]
    if wrong:
        sys.exit("less than %g of the undisturbed rate beside %s" % (
            options.min_ratio, "; ".join(wrong)))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
