"""How fast a site is audited: beside find and stat, and deep beside sha256sum.

Started by loadtest/audit. Standard library only.
"""

import argparse
import hashlib
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time

import private_cluster

# Nothing is requested there: every file is at the site with its digest.
ORIGIN = "origin.invalid"


def arguments():
    parser = argparse.ArgumentParser(prog="loadtest/audit", description=__doc__.split("\n")[0])
    parser.add_argument("--files", type=int, default=1_000_000, help="files of the site (1000000)")
    parser.add_argument("--large", type=int, default=4, help="files of 256 MiB for the deep audit (4)")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds (5)")
    parser.add_argument("--min-ratio", type=float, default=0.9, metavar="RATIO",
                        help="fail when an audit is slower than that, beside find | xargs stat and sha256sum (0.9)")
    parser.add_argument("--max-growth", type=int, default=96, metavar="MIB",
                        help="fail when audits let coordinator and worker together grow by more (96)")
    parser.add_argument("--max-memory", type=int, default=96, metavar="MIB",
                        help="fail when the worker that audits takes more, all in all (96)")
    parser.add_argument("--core", type=int, metavar="CPU",
                        help="run everything on this CPU, so that each has one core")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    for name in ("work", "port", "dray"):
        parser.add_argument("--" + name, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not 1_000 <= options.files <= 10_000_000 or not 1 <= options.rounds <= 100 or options.large < 1:
        parser.error("--files takes 1000 to 10000000, --rounds 1 to 100, --large 1 or more")
    if options.core is not None and options.core not in os.sched_getaffinity(0):
        parser.error("--core takes one of %s" % ", ".join(map(str, sorted(os.sched_getaffinity(0)))))
    return options


def fill(site, list_path, files, size, name):
    """Writes files of up to 50 bytes, or of a size, and a list with their digests."""
    with open(list_path, "w", encoding="utf-8") as listed:
        listed.write("url,size,sha256\n")
        for directory in range((files + 999) // 1_000):
            path = "%s/series-%03d/title-%05d" % (name, directory // 50, directory)
            (site / ORIGIN / path).mkdir(parents=True)
            for number in range(min(1_000, files - directory * 1_000)):
                if size is None:
                    body = b"%d" % number * (number % 12)
                    digest = hashlib.sha256(body).hexdigest()
                    (site / ORIGIN / path / ("segment-%05d.ts" % number)).write_bytes(body)
                    length = len(body)
                else:
                    block = hashlib.sha256(b"%d" % number).digest() * (1 << 15)
                    hasher = hashlib.sha256()
                    with open(site / ORIGIN / path / ("segment-%05d.ts" % number), "wb") as file:
                        for _ in range(size >> 20):
                            file.write(block)
                            hasher.update(block)
                    digest, length = hasher.hexdigest(), size
                listed.write("http://%s/%s/segment-%05d.ts,%d,%s\n" % (ORIGIN, path, number, length, digest))


def memory_mib(process, field="VmRSS"):
    for line in pathlib.Path("/proc/%d/status" % process.pid).read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    return 0


class Cluster(private_cluster.Cluster):
    """One with a site for each catalog, and a worker in a process of its own."""

    def __init__(self, dray, work, port):
        # The coordinator's own worker reaches no site.
        elsewhere = pathlib.Path(work) / "elsewhere"
        elsewhere.mkdir()
        super().__init__(dray, work, port, root=elsewhere)
        self.largest = 0.0
        self.worker = None

    def start_worker(self):
        """A new one in place of the last."""
        self.stop_worker()
        self.worker = self.start("worker", "--root", self.work)
        self.wait_for(lambda: any(
            worker["name"].endswith("-%d" % self.worker.pid)
            for worker in self.ask("GET", "/v1/status")["workers"]))

    def stop_worker(self):
        if self.worker and self.worker.poll() is None:
            self.worker.send_signal(signal.SIGTERM)
            self.worker.wait()

    def stop(self):
        self.stop_worker()
        super().stop()

    def audit(self, site, deep=False):
        """Seconds from the request to the end."""
        # The coordinator may have closed an idle one.
        self.connection.close()
        begun = time.monotonic()
        audit = self.ask("POST", "/v1/site-audits", {
            "site": "file://%s" % site, "isDeep": deep, "readBytesPerSecond": 0})
        while audit["state"] in ("waiting", "running"):
            self.largest = max(self.largest, memory_mib(self.process))
            time.sleep(0.02)
            audit = self.ask("GET", "/v1/site-audits/%d" % audit["id"])
        seconds = time.monotonic() - begun
        if audit["state"] != "completed" or audit["findings"]:
            sys.exit("audit: %s" % json.dumps(audit))
        return seconds


def run(command):
    begun = time.monotonic()
    subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begun


def main():
    options = arguments()
    if options.core is not None:
        # Inherited by the cluster and by what it is compared with.
        os.sched_setaffinity(0, {options.core})
    work = pathlib.Path(options.work)
    small, large = work / "small", work / "large"
    fill(small, work / "small.csv", options.files, None, "s")
    fill(large, work / "large.csv", options.large, 256 << 20, "l")
    cluster = Cluster(options.dray, options.work, options.port)
    try:
        cluster.start_worker()
        for name, site in (("small", small), ("large", large)):
            cluster.run("prefetch", work / (name + ".csv"), "--format", "csv", "--to", site, "--name", name, "--quiet")
        # What the worker has kept of a million fetches is not the audit's.
        cluster.start_worker()
        idle, worker_idle = memory_mib(cluster.process), memory_mib(cluster.worker)
        times = {name: [] for name in ("audit", "find -printf", "find | xargs stat -c", "find | xargs stat",
                                       "deep audit", "sha256sum", "openssl dgst -sha256")}
        for _ in range(options.rounds):
            times["audit"].append(cluster.audit(small))
            times["find -printf"].append(run("find '%s' -type f -printf '%%s %%p\\n'" % small))
            times["find | xargs stat -c"].append(run("find '%s' -type f -print0 | xargs -0 stat -c '%%s %%n'" % small))
            times["find | xargs stat"].append(run("find '%s' -type f -print0 | xargs -0 stat" % small))
            times["deep audit"].append(cluster.audit(large, deep=True))
            for name in ("sha256sum", "openssl dgst -sha256"):
                times[name].append(run("find '%s' -name '*.ts' -print0 | xargs -0 %s" % (large, name)))
        worker = memory_mib(cluster.worker, "VmHWM")
        growth = cluster.largest - idle + worker - worker_idle
    finally:
        cluster.stop()
    middle = {name: statistics.median(values) for name, values in times.items()}
    ratio = {name: statistics.median(a / b for a, b in zip(times[name], times[ours]))
             for name, ours in (("find -printf", "audit"), ("find | xargs stat -c", "audit"),
                                ("find | xargs stat", "audit"), ("sha256sum", "deep audit"),
                                ("openssl dgst -sha256", "deep audit"))}
    print("%d files: audit %.2f s, %.0f files/s" % (options.files, middle["audit"], options.files / middle["audit"]))
    for name in ("find -printf", "find | xargs stat -c", "find | xargs stat"):
        print("  %-22s %6.2f s   the audit has %.2f of its speed" % (name, middle[name], ratio[name]))
    total = options.large * 256
    print("%d MiB: deep audit %.2f s, %.0f MiB/s" % (total, middle["deep audit"], total / middle["deep audit"]))
    for name in ("sha256sum", "openssl dgst -sha256"):
        print("  %-22s %6.2f s   the deep audit has %.2f of its speed" % (name, middle[name], ratio[name]))
    print("memory of the worker: %.0f MiB idle, %.0f MiB at most, growth %.0f MiB" % (
        worker_idle, worker, worker - worker_idle))
    print("memory of the coordinator: %.0f MiB idle, %.0f MiB at most, growth %.0f MiB" % (
        idle, cluster.largest, cluster.largest - idle))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(
            {"files": options.files, "seconds": times, "ratios": ratio, "growthMiB": growth,
             "worker": {"idleMiB": worker_idle, "mostMiB": worker},
             "coordinator": {"idleMiB": idle, "mostMiB": cluster.largest}}, indent=2) + "\n")
    slow = [name for name in ("find | xargs stat", "sha256sum") if ratio[name] < options.min_ratio]
    if slow or growth > options.max_growth or worker > options.max_memory:
        sys.exit("audit: slower than %g of %s, growth of more than %d MiB, or a worker of more than %d MiB" % (
            options.min_ratio, " and ".join(slow) or "nothing", options.max_growth, options.max_memory))


main()
