"""How many bytes of a large file are fetched twice when it is paused and resumed at random.

Started by loadtest/pause. Standard library only.
"""

import argparse
import hashlib
import json
import pathlib
import random
import sys
import time

import private_cluster

WAIT_SECONDS = 600
BLOCK = 1 << 20


def arguments():
    parser = argparse.ArgumentParser(prog="loadtest/pause", description=__doc__.split("\n")[0])
    parser.add_argument("--bytes", type=int, default=1 << 30, help="size of the file (1073741824)")
    parser.add_argument("--pauses", type=int, default=100, help="pauses (100)")
    parser.add_argument("--seed", type=int, default=1, help="seed of their times (1)")
    parser.add_argument("--max-repeated", type=float, default=0.01, metavar="SHARE",
                        help="fail when the origin sends a larger share of the file twice (0.01)")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    for name in ("work", "origin", "port", "dray"):
        parser.add_argument("--" + name, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not BLOCK <= options.bytes <= 1 << 36 or not 1 <= options.pauses <= 10_000:
        parser.error("--bytes takes 1 MiB to 64 GiB, --pauses 1 to 10000")
    return options


def make_file(path, size, generator):
    digest = hashlib.sha256()
    with open(path, "wb") as file:
        while size > 0:
            block = generator.randbytes(min(size, BLOCK))
            digest.update(block)
            file.write(block)
            size -= len(block)
    return digest.hexdigest()


class Cluster(private_cluster.Cluster):
    """One with one catalog."""

    def select(self, action):
        return self.ask("POST", "/v1/selections", {"action": action, "catalog": {"id": 1}})

    def catalog(self):
        return self.ask("GET", "/v1/catalogs/1")


def is_idle(cluster):
    return all(queue["leased"] == 0 for queue in cluster.ask("GET", "/v1/queues")["queues"])


def main():
    options = arguments()
    generator = random.Random(options.seed)
    work = pathlib.Path(options.work)
    digest = make_file(work / "origin" / "large.bin", options.bytes, generator)
    cluster = Cluster(options.dray, options.work, options.port)
    paused = 0
    try:
        (work / "list").write_text(options.origin + "/large.bin\n")
        cluster.run("prefetch", work / "list", "--to", work / "edge", "--name", "large", "--detach", "--quiet")
        begun = time.monotonic()
        while paused < options.pauses and cluster.catalog()["state"] == "running":
            time.sleep(generator.uniform(0, 3))
            if cluster.select("pause")["assets"] == 0:
                break
            # Also before the worker notices.
            if generator.random() < 0.9:
                limit = time.monotonic() + 30
                while not is_idle(cluster):
                    if time.monotonic() > limit:
                        sys.exit("a worker still held jobs 30 seconds after a pause")
                    time.sleep(0.05)
            cluster.select("resume")
            paused += 1
            print("\r%d pauses " % paused, end="", file=sys.stderr)
        print(file=sys.stderr)
        while cluster.catalog()["state"] == "running":
            if time.monotonic() - begun > WAIT_SECONDS + options.pauses * 10:
                sys.exit("the catalog did not end")
            time.sleep(0.5)
        found = cluster.catalog()
        seconds = time.monotonic() - begun
    finally:
        cluster.stop()
    if found["state"] != "completed":
        sys.exit("the catalog is " + found["state"])
    stored = next((work / "edge").rglob("large.bin"))
    with open(stored, "rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != digest:
            sys.exit("the stored file differs")
    lines = [line.split() for line in (work / "access.log").read_text().splitlines()]
    sent = sum(int(size) for status, size in lines if status in ("200", "206"))
    repeated = (sent - options.bytes) / options.bytes
    print("%d bytes, %d pauses in %.0f s: %d requests, %d bytes sent, %.3f %% of the file twice" % (
        options.bytes, paused, seconds, len(lines), sent, 100 * repeated))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({
            "bytes": options.bytes, "pauses": paused, "seconds": seconds, "requests": len(lines),
            "sentBytes": sent, "repeatedShare": repeated}, indent=2) + "\n")
    if paused < options.pauses:
        sys.exit("only %d pauses before the file was complete" % paused)
    if repeated > options.max_repeated:
        sys.exit("more than %g of the file was sent twice" % options.max_repeated)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
