"""How long reads of the API and /metrics take while the cluster has a million assets, many origins and many sites.

Started by loadtest/reads. Standard library only.
"""

import argparse
import json
import math
import pathlib
import statistics
import sys
import time
import urllib.parse

import private_cluster

PATIENCE_SECONDS = 900
# PostgreSQL plans a statement anew each of the first times on each connection: these requests are not measured.
WARM_UP = 20


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


def submit(cluster, name, assets, options):
    """A catalog that does not start before tomorrow."""
    path = cluster.work / (name + ".csv")
    with open(path, "w") as file:
        file.write("url,bytes\n")
        file.writelines(
            "http://127.%d.%d.1:9/show%d/%s-%07d.mp4,%d\n" % (
                number % options.origins // 250, number % options.origins % 250, number % 977, name,
                number, number * 7_919 % 1_000_000_000)
            for number in range(assets))
    cluster.run("prefetch", path, "--to", cluster.work / "edge" / name, "--name", name,
                "--not-before", "1d", "--detach", "--quiet")


def get(cluster, path):
    """The body of an answer, and the seconds until its last byte."""
    begin = time.monotonic()
    body = cluster.call("GET", path)
    return body, time.monotonic() - begin


def percentile(values, share):
    return sorted(values)[max(math.ceil(share * len(values)) - 1, 0)]


def measure(cluster, what, paths):
    seconds, sizes = [], []
    for place, path in enumerate(paths):
        if place == 0:
            for _ in range(WARM_UP):
                get(cluster, path)
        body, took = get(cluster, path)
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
        following = json.loads(get(cluster, url)[0]).get("next")
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
    cluster = private_cluster.Cluster(options.dray, options.work, options.port, PATIENCE_SECONDS)
    try:
        print("submitting %d assets ..." % options.assets, file=sys.stderr)
        submit(cluster, "large", options.assets, options)
        for number in range(1, options.sites):
            submit(cluster, "small-%d" % number, 10, options)
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
