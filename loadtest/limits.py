"""How much of a limit a cluster uses: small files of an origin that has one, fetched by workers that were idle.

Each case starts a cluster of its own, lets its workers idle, sets one limit and fetches as many files as the limit
lets through in some seconds. Started by loadtest/limits. Standard library only.
"""

import argparse
import asyncio
import collections
import json
import os
import pathlib
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

#: What is limited and to how much, files, bytes of a file, seconds of an answer, and the ideal time.
CASES = {
    "origin-requests": ("requests", 30, 180, 1_000, 0.0, 6.0),
    "origin-requests-long": ("requests", 30, 450, 1_000, 0.0, 15.0),
    "origin-connections": ("connections", 6, 300, 1_000, 0.2, 10.0),
    "origin-few-connections": ("connections", 2, 100, 1_000, 0.2, 10.0),
    "origin-bandwidth": ("bandwidth", 60_000, 200, 3_000, 0.0, 10.0),
    "site-bandwidth": ("maximum", 60_000, 200, 3_000, 0.0, 10.0),
}


def arguments():
    parser = argparse.ArgumentParser(prog="loadtest/limits", description=__doc__.split("\n")[0])
    parser.add_argument("--workers", type=numbers, default=[3, 12], help="clusters' sizes (3,12)")
    parser.add_argument("--connections", type=int, default=2, help="of a worker (2)")
    parser.add_argument("--idle-seconds", type=float, default=12, help="before the work comes (12)")
    parser.add_argument("--rounds", type=int, default=1, help="of each case (1)")
    parser.add_argument("--cases", type=lambda text: text.split(","), default=list(CASES),
                        help=f"of {', '.join(CASES)}; all by default")
    parser.add_argument("--min-used", type=float, metavar="R",
                        help="fail when less of a limit is used, 0.9 for 90 %%")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    for name in ("work", "state", "dray"):
        parser.add_argument("--" + name, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := set(options.cases) - set(CASES):
        parser.error(f"--cases: {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    return options


def numbers(text):
    values = [int(word) for word in text.split(",")]
    if not all(1 <= value <= 64 for value in values):
        raise ValueError(text)
    return values


class Origin:
    """Serves bytes after a delay; notes when each answer began and ended, and how many connections were open."""

    def __init__(self):
        self.size, self.delay = 0, 0.0
        self.requests, self.answers = [], []
        self.open, self.peak = 0, 0
        started = threading.Event()
        self.loop = asyncio.new_event_loop()

        async def serve():
            server = await asyncio.start_server(self.handle, "127.0.0.1", 0)
            self.port = server.sockets[0].getsockname()[1]
            started.set()

        def run():
            self.loop.run_until_complete(serve())
            self.loop.run_forever()

        threading.Thread(target=run, daemon=True).start()
        started.wait()

    def begin(self, size, delay):
        self.size, self.delay = size, delay
        self.requests, self.answers, self.peak = [], [], self.open

    async def handle(self, reader, writer):
        self.open += 1
        self.peak = max(self.peak, self.open)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                began = time.monotonic()
                self.requests.append(began)
                await asyncio.sleep(self.delay)
                path = head.split(b" ", 2)[1]
                body = (path + b"\n").ljust(self.size, b"x")
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
                             b"Content-Length: %d\r\n\r\n" % len(body) + body)
                await writer.drain()
                self.answers.append((began, time.monotonic()))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open -= 1
            writer.close()

    def used(self, kind, amount):
        """The part of a limit that was in use from a second after the first request until work ran out.

        Work runs out when fewer files are left than the limit lets through in a second, or than workers can share:
        the last tenth is not counted.
        """
        begins = sorted(self.requests)
        start = begins[0] + 1
        end = begins[len(begins) * 9 // 10]
        if kind == "connections":
            busy = sum(max(min(last, end) - max(first, start), 0) for first, last in self.answers)
            return busy / (amount * (end - start))
        count = sum(start <= begin < end for begin in begins)
        return count * (1 if kind == "requests" else self.size) / (amount * (end - start))

    def most_in_a_second(self):
        window, most = collections.deque(), 0
        for moment in sorted(self.requests):
            window.append(moment)
            while window[0] <= moment - 1:
                window.popleft()
            most = max(most, len(window))
        return most


def run_case(options, origin, name, workers, number):
    kind, amount, count, size, delay, ideal = CASES[name]
    limit = [f"--{kind}", f"{amount}B/s" if kind in ("bandwidth", "maximum") else str(amount)]
    work = pathlib.Path(options.work)
    # One of its own: a site whose directory was removed waits for it.
    edge = work / f"edge-{name}-{workers}-{number}"
    environment = {key: value for key, value in os.environ.items() if not key.startswith("DRAY_")}
    address = f"127.0.0.1:{free_port()}"
    environment.update(DRAY_COORDINATOR=f"http://{address}", DRAY_TOKEN=secrets.token_hex(32), LANG="C.UTF-8")
    with open(work / "up.log", "w") as log:
        cluster = subprocess.Popen(
            [options.dray, "up", "--state", options.state, "--workers", str(workers),
             "--connections", str(options.connections), "--listen", address],
            stdout=subprocess.DEVNULL, stderr=log, env=environment)
    try:
        def dray(*words):
            result = subprocess.run([options.dray, *words], env=environment, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True)
            if result.returncode:
                raise SystemExit(f"dray {' '.join(words)}: {result.stdout}{(work / 'up.log').read_text()}")

        wait_for(lambda: "listening" in (work / "up.log").read_text() or cluster.poll() is not None)
        url = f"http://127.0.0.1:{origin.port}"
        origin.begin(size, delay)
        # The site and its queue are made by their first catalog.
        (work / "first").write_text(f"{url}/first-{name}-{workers}-{number}\n")
        dray("prefetch", str(work / "first"), "--to", str(edge), "--name", "first", "--quiet")
        time.sleep(options.idle_seconds)
        if name.startswith("site"):
            dray("site", "set", f"file://{edge}", *limit)
        else:
            dray("origins", "set", url, *limit)
        (work / "list").write_text("".join(
            f"{url}/{name}-{workers}-{number}/{index}\n" for index in range(count)))
        origin.begin(size, delay)
        start = time.monotonic()
        dray("prefetch", str(work / "list"), "--to", str(edge), "--name", "list", "--quiet")
        seconds = time.monotonic() - start
        if name.startswith("site"):
            dray("site", "set", f"file://{edge}", "--maximum", "unlimited")
        else:
            dray("origins", "clear", url)
    finally:
        cluster.send_signal(signal.SIGTERM)
        cluster.wait()
        shutil.rmtree(edge, ignore_errors=True)
    if len(origin.requests) < count:
        raise SystemExit(f"{name}: {len(origin.requests)} requests for {count} files")
    return {"case": name, "workers": workers, "seconds": seconds, "ideal": ideal,
            "ratio": ideal / seconds, "used": origin.used(kind, amount), "requests": len(origin.requests),
            "most_in_a_second": origin.most_in_a_second(), "peak_connections": origin.peak}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit("the cluster did not start")
        time.sleep(0.05)


def main():
    options = arguments()
    origin = Origin()
    rows = []
    print(f"{'case':<24} {'workers':>7} {'ideal':>7} {'took':>7} {'ratio':>6} {'used':>5} "
          f"{'requests':>8} {'in 1 s':>6} {'open':>5}")
    for number in range(options.rounds):
        for name in options.cases:
            for workers in options.workers:
                row = run_case(options, origin, name, workers, number)
                rows.append(row)
                print(f"{name:<24} {workers:>7} {row['ideal']:>7.1f} {row['seconds']:>7.2f} "
                      f"{row['ratio']:>6.2f} {row['used']:>5.2f} {row['requests']:>8} {row['most_in_a_second']:>6} "
                      f"{row['peak_connections']:>5}", flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=2)
            file.write("\n")
    worst = min(rows, key=lambda row: row["used"])
    if options.min_used and worst["used"] < options.min_used:
        print(f"{worst['case']} with {worst['workers']} workers used {worst['used']:.2f} of its limit, "
              f"less than {options.min_used}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
