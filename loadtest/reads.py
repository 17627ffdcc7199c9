"""How long reads of the API and /metrics take while the cluster has a million assets, many origins and many sites.

Started by loadtest/reads. Standard library only.
"""

import argparse
import http.client
import json
import math
import os
import pathlib
import secrets
import signal
import statistics
import subprocess
import sys
import time
import urllib.parse

WAIT_SECONDS = 900
# PostgreSQL plans a statement anew each of the first times on each connection: these requests are not measured.
WARM_UP = 20
TOKEN = secrets.token_hex(32)


def arguments():
    parser = argparse.ArgumentParser(prog="loadtest/reads", description=__doc__.split("\n")[0])
    parser.add_argument("--assets", type=int, default=1_000_000, help="assets of the large catalog (1000000)")
    parser.add_argument("--origins", type=int, default=1_000, help="origins of these assets (1000)")
    parser.add_argument("--sites", type=int, default=100, help="sites, each with a catalog (100)")
    parser.add_argument("--requests", type=int, default=500, help="requests of each kind (500)")
    parser.add_argument("--max-milliseconds", type=float, default=10, metavar="MS",
                        help="fail when the 99th percentile of a read is higher (10)")
    parser.add_argument("--max-scrape-milliseconds", type=float, default=20, metavar="MS",
                        help="fail when the 99th percentile of a scrape is higher (20)")
    parser.add_argument("--max-scrape-bytes", type=int, default=200_000, metavar="N",
                        help="fail when a scrape is longer (200000)")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    for name in ("work", "port", "dray"):
        parser.add_argument("--" + name, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not 1_000 <= options.assets <= 10_000_000 or not 1 <= options.origins <= 10_000:
        parser.error("--assets takes 1000 to 10000000, --origins 1 to 10000")
    if not 1 <= options.sites <= 1_000 or options.requests < 100:
        parser.error("--sites takes 1 to 1000, --requests 100 or more")
    return options


class Cluster:
    """`dray up` with its catalogs, none of which starts before tomorrow."""

    def __init__(self, options):
        self.options, self.work = options, pathlib.Path(options.work)
        self.environment = os.environ | {
            "DRAY_LOG": "warning", "DRAY_TOKEN": TOKEN,
            "DRAY_COORDINATOR": "http://127.0.0.1:" + options.port}
        with open(self.work / "log", "wb") as log:
            self.process = subprocess.Popen(
                [options.dray, "up", "--state", self.work / "state", "--listen", "127.0.0.1:" + options.port],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment)
        limit = time.monotonic() + WAIT_SECONDS
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > limit:
                sys.exit((self.work / "log").read_text())
            time.sleep(0.1)
        self.connection = http.client.HTTPConnection("127.0.0.1", int(options.port), timeout=WAIT_SECONDS)

    def is_ready(self):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", int(self.options.port), timeout=5)
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False

    def submit(self, name, assets):
        path = self.work / (name + ".csv")
        with open(path, "w") as file:
            file.write("url,bytes\n")
            file.writelines(
                "http://127.%d.%d.1:9/show%d/%s-%07d.mp4,%d\n" % (
                    number % self.options.origins // 250, number % self.options.origins % 250, number % 977, name,
                    number, number * 7_919 % 1_000_000_000)
                for number in range(assets))
        subprocess.run(
            [self.options.dray, "prefetch", path, "--to", self.work / "edge" / name, "--name", name,
             "--not-before", "1d", "--detach", "--quiet"],
            check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=self.environment)

    def get(self, path):
        """The body of an answer, and the seconds until its last byte."""
        begin = time.monotonic()
        self.connection.request("GET", path, headers={"Authorization": "Bearer " + TOKEN})
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            sys.exit("%s: %d %s" % (path, answer.status, body[:500].decode(errors="replace")))
        return body, time.monotonic() - begin

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.communicate()


def percentile(values, share):
    return sorted(values)[max(math.ceil(share * len(values)) - 1, 0)]


def measure(cluster, what, paths):
    seconds, sizes = [], []
    for place, path in enumerate(paths):
        if place == 0:
            for _ in range(WARM_UP):
                cluster.get(path)
        body, took = cluster.get(path)
        seconds.append(took)
        sizes.append(len(body))
    return {"what": what, "requests": len(seconds), "bytes": max(sizes),
            "p50Milliseconds": round(statistics.median(seconds) * 1_000, 2),
            "p99Milliseconds": round(percentile(seconds, 0.99) * 1_000, 2),
            "maxMilliseconds": round(max(seconds) * 1_000, 2)}


def pages(cluster, path, count):
    """Paths of successive pages, from the beginning again after the last."""
    position = ""
    for _ in range(count):
        url = path + position
        yield url
        # Read again outside the measurement, for the position after this page.
        following = json.loads(cluster.get(url)[0]).get("next")
        position = "&after=" + urllib.parse.quote(following) if following else ""


def rows(cluster, options):
    count = options.requests
    # PostgreSQL counts new rows within a quarter of a minute (autovacuum).
    time.sleep(30)
    yield measure(cluster, "GET /v1/status", ["/v1/status"] * count)
    yield measure(cluster, "GET /v1/catalogs/1", ["/v1/catalogs/1"] * count)
    yield measure(cluster, "GET /v1/assets, pages of 100",
                  pages(cluster, "/v1/assets?catalog=large&limit=100", count))
    yield measure(cluster, "GET /v1/events, pages of 100", ["/v1/events?limit=100"] * count)
    yield measure(cluster, "GET /v1/origins, pages of 100",
                  pages(cluster, "/v1/origins?limit=100", count))
    yield measure(cluster, "GET /v1/sites, pages of 100", ["/v1/sites?limit=100"] * count)
    yield measure(cluster, "GET /v1/queues", ["/v1/queues"] * count)
    yield measure(cluster, "GET /metrics", ["/metrics"] * count)


def main():
    options = arguments()
    cluster = Cluster(options)
    try:
        print("submitting %d assets ..." % options.assets, file=sys.stderr)
        cluster.submit("large", options.assets)
        for number in range(1, options.sites):
            cluster.submit("small-%d" % number, 10)
        found = list(rows(cluster, options))
    finally:
        cluster.stop()
    print("%-32s %8s %9s %9s %9s %9s" % (
        "%d assets, %d origins, %d sites" % (options.assets, options.origins, options.sites),
        "requests", "bytes", "p50", "p99", "max"))
    for row in found:
        print("%-32s %8d %9d %6.2f ms %6.2f ms %6.2f ms" % (
            row["what"], row["requests"], row["bytes"], row["p50Milliseconds"], row["p99Milliseconds"],
            row["maxMilliseconds"]))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found, indent=2) + "\n")
    slow = [row["what"] for row in found if row["p99Milliseconds"] > (
        options.max_scrape_milliseconds if row["what"] == "GET /metrics" else options.max_milliseconds)]
    if slow:
        sys.exit("slower than the limit: " + ", ".join(slow))
    if found[-1]["bytes"] > options.max_scrape_bytes:
        sys.exit("a scrape has %d bytes, more than %d" % (found[-1]["bytes"], options.max_scrape_bytes))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
