"""Whether a coordinator answers who has its token while others hold thousands of connections without one.

Started by loadtest/idle-connections. Standard library only.
"""

import argparse
import http.client
import json
import multiprocessing
import os
import pathlib
import resource
import secrets
import select
import signal
import socket
import statistics
import subprocess
import sys
import time

WAIT_SECONDS = 60
#: What is waited for an answer; one that takes longer has failed.
PATIENCE_SECONDS = 10
HEAD = b"GET /v1/status HTTP/1.1\r\nHost: attacker\r\n"
#: How the connections are held: bytes sent at once, and bytes sent once a second.
KINDS = {
    "silent": (b"", b""),
    "half a head": (HEAD, b""),
    "a head, a byte a second": (HEAD, b"X"),
    "a body, a byte a second": (
        b"POST /v1/catalogs HTTP/1.1\r\nHost: attacker\r\nContent-Type: application/json\r\n"
        b"Content-Length: 100000\r\n\r\n", b" "),
    "kept after a 401": (HEAD + b"\r\n", b""),
}


def arguments():
    parser = argparse.ArgumentParser(
        prog="loadtest/idle-connections", description=__doc__.split("\n")[0])
    parser.add_argument("--connections", type=int, default=5_000, help="held at once (5000)")
    parser.add_argument("--seconds", type=int, default=30, help="how long (30)")
    parser.add_argument("--max-seconds", type=float, default=1.0,
                        help="fail when an answer took longer (1)")
    parser.add_argument("--max-descriptors", type=int, default=1_100,
                        help="fail when the attack costs more descriptors (1100)")
    parser.add_argument("--max-rss", type=float, default=64, metavar="MIB",
                        help="fail when the attack costs more memory (64)")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    for name in ("work", "port", "dray"):
        parser.add_argument("--" + name, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not 1 <= options.connections <= 50_000 or options.seconds < 2:
        parser.error("--connections takes 1 to 50000, --seconds 2 or more")
    return options


class Attack:
    """Holds so many connections open, and opens another for each that is closed."""

    def __init__(self, port, count):
        self.port, self.count = port, count
        self.kinds = list(KINDS.values())
        self.held = {}
        self.opened = 0
        self.most = 0
        self.poll = select.epoll()

    def open(self):
        first, again = self.kinds[self.opened % len(self.kinds)]
        connection = socket.socket()
        try:
            connection.settimeout(1)
            connection.connect(("127.0.0.1", self.port))
            connection.setblocking(False)
            if first:
                connection.send(first)
        except OSError:
            connection.close()
            return False
        self.opened += 1
        self.held[connection.fileno()] = (connection, again)
        self.poll.register(connection.fileno(), select.EPOLLIN | select.EPOLLRDHUP)
        self.most = max(self.most, len(self.held))
        return True

    def drop(self, descriptor):
        self.poll.unregister(descriptor)
        self.held.pop(descriptor)[0].close()

    def look(self, timeout):
        for descriptor, events in self.poll.poll(timeout, 1_000):
            connection = self.held[descriptor][0]
            try:
                if connection.recv(65_536):
                    continue
            except BlockingIOError:
                continue
            except OSError:
                pass
            self.drop(descriptor)

    def drip(self):
        for descriptor, (connection, again) in list(self.held.items()):
            if again:
                try:
                    connection.send(again)
                except OSError:
                    self.drop(descriptor)

    def run(self, ending, told):
        next_drip = time.monotonic() + 1
        while not ending.is_set():
            for _ in range(200):
                if len(self.held) >= self.count or not self.open():
                    break
            self.look(0.01)
            if time.monotonic() >= next_drip:
                self.drip()
                next_drip = time.monotonic() + 1
        told.put({"opened": self.opened, "mostHeld": self.most, "heldAtEnd": len(self.held)})


def raise_limit():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def attack(port, count, ending, told):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Attack(port, count).run(ending, told)


class Coordinator:
    """`dray up`, and what it is asked and costs."""

    def __init__(self, options):
        work = pathlib.Path(options.work)
        self.port = int(options.port)
        self.token = secrets.token_hex(32)
        self.kept = None
        environment = os.environ | {"DRAY_LOG": "warning", "DRAY_TOKEN": self.token}
        environment.pop("DRAY_COORDINATOR", None)
        self.log = work / "log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [options.dray, "up", "--state", work / "state", "--listen", "127.0.0.1:%d" % self.port],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)

    def wait(self):
        limit = time.monotonic() + WAIT_SECONDS
        while self.ask(False)[1] is not None:
            if self.process.poll() is not None or time.monotonic() > limit:
                sys.exit(self.log.read_text())
            time.sleep(0.1)

    def ask(self, is_kept):
        """How long an answer took, and what went wrong; on a connection that is kept, or on a new one."""
        begin = time.monotonic()
        connection = self.kept if is_kept else None
        if connection is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        failure = None
        try:
            connection.request("GET", "/v1/status", headers={"Authorization": "Bearer " + self.token})
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                failure = "status %d" % answer.status
        except (OSError, http.client.HTTPException) as error:
            failure = type(error).__name__
        if is_kept and failure is None:
            self.kept = connection
        else:
            connection.close()
            self.kept = None if is_kept else self.kept
        return time.monotonic() - begin, failure

    def cost(self):
        descriptors = len(os.listdir("/proc/%d/fd" % self.process.pid))
        status = pathlib.Path("/proc/%d/status" % self.process.pid).read_text()
        kib = int(status.split("VmRSS:")[1].split()[0])
        return descriptors, kib / 1024

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def measure(coordinator, what, seconds):
    """Asks forty times a second, on both kinds of connection in turns."""
    took, failures, descriptors, rss = [], {}, 0, 0.0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        duration, failure = coordinator.ask(len(took) % 2 == 0)
        took.append(duration)
        if failure:
            failures[failure] = failures.get(failure, 0) + 1
        if len(took) % 10 == 0:
            now = coordinator.cost()
            descriptors, rss = max(descriptors, now[0]), max(rss, now[1])
        time.sleep(max(0.025 - duration, 0))
    return {"what": what, "requests": len(took), "failures": failures,
            "medianSeconds": round(statistics.median(took), 4),
            "p99Seconds": round(sorted(took)[int(len(took) * 0.99)], 4),
            "mostSeconds": round(max(took), 4), "descriptors": descriptors, "rssMiB": round(rss, 1)}


def show(rows, held):
    print("%-10s %9s %9s %10s %10s %10s %12s %9s" % (
        "", "requests", "failures", "median", "p99", "most", "descriptors", "RSS"))
    for row in rows:
        print("%-10s %9d %9d %7.1f ms %7.1f ms %7.1f ms %12d %5.1f MiB" % (
            row["what"], row["requests"], sum(row["failures"].values()), row["medianSeconds"] * 1_000,
            row["p99Seconds"] * 1_000, row["mostSeconds"] * 1_000, row["descriptors"], row["rssMiB"]))
    print("attack: %(opened)d connections opened, %(mostHeld)d at most and %(heldAtEnd)d in the end held"
          % held)


def obstacles(options, rows):
    before, during, after = rows
    for row in (during, after):
        if row["failures"]:
            yield "%s: %s" % (row["what"], row["failures"])
        if row["mostSeconds"] > options.max_seconds:
            yield "%s: an answer took %.3f s" % (row["what"], row["mostSeconds"])
    if during["descriptors"] - before["descriptors"] > options.max_descriptors:
        yield "%d descriptors more" % (during["descriptors"] - before["descriptors"])
    if during["rssMiB"] - before["rssMiB"] > options.max_rss:
        yield "%.1f MiB more" % (during["rssMiB"] - before["rssMiB"])


def main():
    options = arguments()
    # Also for the coordinator, which inherits it: its own bounds are to hold, not the system's.
    raise_limit()
    coordinator = Coordinator(options)
    ending, told = multiprocessing.Event(), multiprocessing.Queue()
    attacker = multiprocessing.Process(
        target=attack, args=(int(options.port), options.connections, ending, told))
    try:
        coordinator.wait()
        rows = [measure(coordinator, "before", 3)]
        attacker.start()
        rows.append(measure(coordinator, "attack", options.seconds))
        ending.set()
        held = told.get()
        attacker.join()
        rows.append(measure(coordinator, "after", 3))
    finally:
        ending.set()
        coordinator.stop()
    show(rows, held)
    if options.json:
        pathlib.Path(options.json).write_text(
            json.dumps({"rows": rows, "attack": held}, indent=2) + "\n")
    wrong = list(obstacles(options, rows))
    if wrong:
        sys.exit("; ".join(wrong))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
