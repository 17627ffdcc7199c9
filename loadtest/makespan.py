"""How evenly a cluster hands out work that takes seconds: the time of a catalog against the best possible.

The best possible is a schedule that starts the next file of the list whenever a connection of any worker is free.
Each case starts a cluster of its own. Started by loadtest/makespan. Standard library only.
"""

import argparse
import asyncio
import heapq
import json
import math
import pathlib
import shutil
import signal
import sys
import threading
import time

import private_cluster
import timed_origin

#: Connections of the workers that are there from the start, connections and seconds of those that join,
#: and seconds of the files.
CASES = {
    "even": ([4, 4, 4, 4], [], [3.0] * 80),
    "uneven-workers": ([2, 8, 2, 4], [], [3.0] * 80),
    "rounds": ([8, 8], [], [2.0] * 78),
    "late-workers": ([4, 4], [(4, 5.0), (4, 5.0)], [3.0] * 80),
    "few-files": ([4, 4, 4, 4], [], [3.0] * 16),
    "mixed-files": ([4, 4, 4, 4], [], [6.0 if index % 10 == 5 else 1.0 for index in range(160)]),
    "small-then-large": ([4, 4, 4, 4], [], [0.02] * 1_600 + [3.0] * 32),
}
BYTES = 200_000
#: Cases whose ratio has a bar without --max-ratio: all workers are alike, and there from the start.
BARS = {"even": 1.1}
#: How the origin takes its time.
MANNERS = ["steady", "late"]


def arguments():
    parser = argparse.ArgumentParser(prog="loadtest/makespan", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=1, help="of each case (1)")
    parser.add_argument("--cases", type=lambda text: text.split(","), default=list(CASES),
                        help=f"of {', '.join(CASES)}; all by default")
    parser.add_argument("--manners", type=lambda text: text.split(","), default=MANNERS,
                        help="how the origin takes its time: steady sends all the while, late answers at the end; "
                             "both by default")
    parser.add_argument("--max-ratio", type=float, metavar="R",
                        help="fail when a case takes longer, 1.1 for 10 %%; without it even may take 1.1, others any")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    for name in ("work", "state", "dray"):
        parser.add_argument("--" + name, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    for name, allowed in (("cases", set(CASES)), ("manners", set(MANNERS))):
        if unknown := set(getattr(options, name)) - allowed:
            parser.error(f"--{name}: {', '.join(sorted(unknown))}; there are {', '.join(sorted(allowed))}")
    if options.rounds < 1:
        parser.error("--rounds takes 1 or more")
    return options


class Origin(timed_origin.Origin):
    """Serves bytes in as many seconds as the path's last part says."""

    manner = "steady"

    async def answer(self, path, began, writer):
        seconds = float(path.rsplit(b"/", 1)[1].split(b"-")[0])
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % BYTES
        body = (path + b"\n").ljust(BYTES, b"x")
        if self.manner == "steady":
            writer.write(head)
            steps = max(round(seconds * 10), 1)
            for step in range(steps):
                writer.write(body[BYTES * step // steps:BYTES * (step + 1) // steps])
                await asyncio.sleep(began + seconds * (step + 1) / steps - time.monotonic())
        else:
            await asyncio.sleep(seconds)
            writer.write(head + body)


def ideal(connections, joining, files):
    """Seconds of the schedule that starts the next file whenever a connection is free."""
    free = [0.0] * sum(connections) + [at for count, at in joining for _ in range(count)]
    heapq.heapify(free)
    end = 0.0
    for seconds in files:
        done = heapq.heappop(free) + seconds
        heapq.heappush(free, done)
        end = max(end, done)
    return end


class Cluster(private_cluster.Cluster):
    """One whose workers may have different numbers of connections."""

    def __init__(self, options, name, connections):
        self.workers = []
        self.edge = pathlib.Path(options.work) / f"edge-{name}"
        self.edge.mkdir()
        alike = len(set(connections)) == 1
        super().__init__(options.dray, options.work, state=options.state, arguments=[
            "--workers", str(len(connections) if alike else 1), "--connections", str(connections[0])])
        for count in [] if alike else connections[1:]:
            self.join(count)
        self.wait_for(lambda: len(self.ask("GET", "/v1/status")["workers"]) >= len(connections))

    def join(self, connections):
        self.workers.append(self.start("worker", "--connections", str(connections), "--root", self.work,
                                       "--allow-addresses", "127.0.0.0/8"))

    def stop(self):
        for worker in self.workers:
            worker.send_signal(signal.SIGTERM)
        super().stop()
        for worker in self.workers:
            worker.wait()
        shutil.rmtree(self.edge, ignore_errors=True)


def run_case(options, origin, name, manner, number):
    connections, joining, files = CASES[name]
    unique = f"{name}-{manner}-{number}"
    cluster = Cluster(options, unique, connections)
    work = pathlib.Path(options.work)
    timers = [threading.Timer(at, cluster.join, [count]) for count, at in joining]
    try:
        (work / "list").write_text("".join(
            f"{origin.url}/{unique}/{seconds}-{index}\n" for index, seconds in enumerate(files)))
        origin.manner = manner
        origin.begin()
        for timer in timers:
            timer.start()
        start = time.monotonic()
        cluster.run("prefetch", work / "list", "--to", cluster.edge, "--name", unique, "--quiet",
                    "--report", work / "report")
        seconds = time.monotonic() - start
        reported = json.loads((work / "report").read_text())["totals"].get("work", {}).get("utilisation")
    finally:
        for timer in timers:
            timer.cancel()
            timer.join()
        cluster.stop()
    # The last bytes arrive before their end is noted here.
    end = time.monotonic() + 5
    while len(origin.answers) < len(files) and time.monotonic() < end:
        time.sleep(0.05)
    if len(origin.answers) < len(files):
        raise SystemExit(f"{unique}: {len(origin.answers)} answers for {len(files)} files")
    first, last = min(began for began, _ in origin.answers), max(end for _, end in origin.answers)
    served, best = last - first, ideal(connections, joining, files)
    busy = sum(end - began for began, end in origin.answers)
    capacity = sum(connections) * served + sum(count * max(served - at, 0) for count, at in joining)
    return {"case": name, "manner": manner, "files": len(files), "ideal": best, "served": served,
            "ratio": served / best, "seconds": seconds, "requests": len(origin.answers),
            "used": busy / capacity, "reported": reported}


def main():
    options = arguments()
    origin = Origin()
    rows = []
    print(f"{'case':<18} {'origin':<7} {'files':>5} {'ideal':>7} {'took':>7} {'ratio':>6} {'command':>8} "
          f"{'requests':>8} {'used':>5} {'reported':>8}")
    for number in range(options.rounds):
        for name in options.cases:
            for manner in options.manners:
                row = run_case(options, origin, name, manner, number)
                rows.append(row)
                print(f"{name:<18} {manner:<7} {row['files']:>5} {row['ideal']:>7.1f} {row['served']:>7.2f} "
                      f"{row['ratio']:>6.2f} {row['seconds']:>8.2f} {row['requests']:>8} "
                      f"{row['used']:>5.2f} {row['reported'] or 0:>8.2f}", flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=2)
            file.write("\n")
    late = [(row, most) for row in rows if row["ratio"] > (most := options.max_ratio or BARS.get(row["case"], math.inf))]
    for row, most in late:
        print(f"{row['case']} ({row['manner']}) took {row['ratio']:.2f} of the best possible time, more than {most:g}",
              file=sys.stderr)
    return 1 if late else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
