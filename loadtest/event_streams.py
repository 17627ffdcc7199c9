"""What a thousand event streams cost an idle coordinator, and how soon an event reaches them.

Started by loadtest/events. Standard library only.
"""

import argparse
import json
import os
import pathlib
import resource
import select
import socket
import statistics
import sys
import time

import private_cluster

#: For all streams to open, and for an event to reach the last of them.
PATIENCE_SECONDS = 30


def arguments():
    parser = argparse.ArgumentParser(prog="loadtest/events", description=__doc__.split("\n")[0])
    parser.add_argument("--streams", type=int, default=1_000, help="open at once (1000)")
    parser.add_argument("--seconds", type=int, default=60,
                        help="how long each of the two idle measurements takes (60)")
    parser.add_argument("--events", type=int, default=20, help="sent one after the other (20)")
    parser.add_argument("--max-rss", type=float, default=128, metavar="MIB",
                        help="fail when the process has more memory (128)")
    parser.add_argument("--max-cpu", type=float, default=5, metavar="PERCENT",
                        help="fail when idle streams cost more of a core (5)")
    parser.add_argument("--max-delay", type=float, default=2, metavar="SECONDS",
                        help="fail when an event took longer to one of them (2)")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    for name in ("work", "port", "dray"):
        parser.add_argument("--" + name, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not 1 <= options.streams <= 2_000 or options.seconds < 5 or options.events < 1:
        parser.error("--streams takes 1 to 2000, --seconds 5 or more, --events 1 or more")
    return options


class Cluster(private_cluster.Cluster):
    """One that is measured."""

    def cpu_seconds(self):
        fields = pathlib.Path("/proc/%d/stat" % self.process.pid).read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_mib(self):
        status = pathlib.Path("/proc/%d/status" % self.process.pid).read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def idle(self, seconds):
        """Per cent of a core, and MiB at most."""
        begin, cpu, rss = time.monotonic(), self.cpu_seconds(), 0.0
        while time.monotonic() < begin + seconds:
            time.sleep(1)
            rss = max(rss, self.rss_mib())
        return 100 * (self.cpu_seconds() - cpu) / (time.monotonic() - begin), rss


class Streams:
    """Open streams, read all together."""

    def __init__(self, cluster, count):
        self.poll = select.epoll()
        self.open = {}
        head = ("GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n"
                "Authorization: Bearer %s\r\n\r\n" % cluster.token).encode()
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", cluster.port), PATIENCE_SECONDS)
            connection.sendall(head)
            connection.setblocking(False)
            self.open[connection.fileno()] = connection
            self.poll.register(connection.fileno(), select.EPOLLIN)

    def wait(self, text):
        """When each stream had got the text."""
        left, got, times = set(self.open), {}, []
        limit = time.monotonic() + PATIENCE_SECONDS
        while left:
            if time.monotonic() > limit:
                sys.exit("%d of %d streams did not get %s" % (len(left), len(self.open), text))
            for descriptor, _ in self.poll.poll(1, 2_000):
                data = self.open[descriptor].recv(1 << 20)
                if not data:
                    sys.exit("a stream was closed")
                got[descriptor] = got.get(descriptor, b"") + data
                if descriptor in left and text in got[descriptor]:
                    left.remove(descriptor)
                    times.append(time.monotonic())
        return times

    def drain(self):
        """Reads what has come meanwhile: keep-alives."""
        for descriptor, _ in self.poll.poll(0, 2_000):
            if not self.open[descriptor].recv(1 << 20):
                sys.exit("a stream was closed")


def delays(cluster, streams, count):
    """Seconds from the answer to a request until each stream has its event."""
    found = []
    for number in range(count):
        streams.drain()
        name = "event-%d" % number
        cluster.ask("POST", "/v1/catalogs", {"name": name, "storageURL": "file://%s/edge" % cluster.work, "priority": 5})
        begin = time.monotonic()
        found += [max(at - begin, 0) for at in streams.wait(('"%s"' % name).encode())]
    return sorted(found)


def main():
    options = arguments()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    cluster = Cluster(options.dray, options.work, options.port)
    try:
        time.sleep(2)
        bare_cpu, bare_rss = cluster.idle(options.seconds)
        streams = Streams(cluster, options.streams)
        streams.wait(b"retry: ")
        time.sleep(2)
        cpu, rss = cluster.idle(options.seconds)
        took = delays(cluster, streams, options.events)
        rss = max(rss, cluster.rss_mib())
    finally:
        cluster.stop()
    figures = {
        "streams": options.streams, "bareCPUPercent": round(bare_cpu, 2),
        "cpuPercent": round(cpu, 2), "bareRSSMiB": round(bare_rss, 1), "rssMiB": round(rss, 1),
        "medianDelaySeconds": round(statistics.median(took), 3),
        "p99DelaySeconds": round(took[int(len(took) * 0.99)], 3), "maxDelaySeconds": round(took[-1], 3)}
    print("%d streams: %.1f MiB (%.1f without), %.2f %% of a core when idle (%.2f without)" % (
        options.streams, rss, bare_rss, cpu, bare_cpu))
    print("an event after %.3f s (median), %.3f s (p99), %.3f s (most)" % (
        figures["medianDelaySeconds"], figures["p99DelaySeconds"], figures["maxDelaySeconds"]))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(figures, indent=2) + "\n")
    wrong = []
    if rss > options.max_rss:
        wrong.append("%.1f MiB" % rss)
    if cpu - bare_cpu > options.max_cpu:
        wrong.append("%.2f %% of a core" % (cpu - bare_cpu))
    if took[-1] > options.max_delay:
        wrong.append("an event after %.3f s" % took[-1])
    if wrong:
        sys.exit("beyond the limits: " + "; ".join(wrong))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
