"""How much of a limit a cluster uses: small files of an origin that has one, fetched by workers that were idle.

Each case starts a cluster of its own, lets its workers idle, sets one limit and fetches as many files as the limit
lets through in some seconds. Started by loadtest/limits. Standard library only.
"""

import argparse
import asyncio
import collections
import json
import pathlib
import shutil
import sys
import time

import private_cluster
import timed_origin

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


class Origin(timed_origin.Origin):
    """Serves bytes after a delay."""

    size, delay = 0, 0.0

    def begin_with(self, size, delay):
        self.size, self.delay = size, delay
        self.begin()

    async def answer(self, path, began, writer):
        await asyncio.sleep(self.delay)
        body = (path + b"\n").ljust(self.size, b"x")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
                     b"Content-Length: %d\r\n\r\n" % len(body) + body)

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
    cluster = private_cluster.Cluster(
        options.dray, work, state=options.state,
        arguments=["--workers", str(workers), "--connections", str(options.connections)])
    try:
        origin.begin_with(size, delay)
        # The site and its queue are made by their first catalog.
        (work / "first").write_text(f"{origin.url}/first-{name}-{workers}-{number}\n")
        cluster.run("prefetch", work / "first", "--to", edge, "--name", "first", "--quiet")
        time.sleep(options.idle_seconds)
        if name.startswith("site"):
            cluster.run("site", "set", f"file://{edge}", *limit)
        else:
            cluster.run("origins", "set", origin.url, *limit)
        (work / "list").write_text("".join(
            f"{origin.url}/{name}-{workers}-{number}/{index}\n" for index in range(count)))
        origin.begin_with(size, delay)
        start = time.monotonic()
        cluster.run("prefetch", work / "list", "--to", edge, "--name", "list", "--quiet")
        seconds = time.monotonic() - start
        if name.startswith("site"):
            cluster.run("site", "set", f"file://{edge}", "--maximum", "unlimited")
        else:
            cluster.run("origins", "clear", origin.url)
    finally:
        cluster.stop()
        shutil.rmtree(edge, ignore_errors=True)
    if len(origin.requests) < count:
        raise SystemExit(f"{name}: {len(origin.requests)} requests for {count} files")
    return {"case": name, "workers": workers, "seconds": seconds, "ideal": ideal,
            "ratio": ideal / seconds, "used": origin.used(kind, amount), "requests": len(origin.requests),
            "most_in_a_second": origin.most_in_a_second(), "peak_connections": origin.peak}


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
