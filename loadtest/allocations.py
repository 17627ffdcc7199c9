"""What dray's transfer engine allocates for each block that it receives.

Started by loadtest/allocations, which serves WORK/origin. Standard library only.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

MIB = 1 << 20
# MiB of a small and a large file, and how often each is fetched. From 16 MiB on, another thread hashes.
PAIRS = ((64, 640, 4), (2, 15, 200))


def arguments():
    parser = argparse.ArgumentParser(
        prog="loadtest/allocations",
        description="Counts allocations while small and large files are fetched, one at a time.")
    parser.add_argument("--rounds", type=int, default=5, help="of all sizes each (5)")
    parser.add_argument("--max-per-block", type=float, default=0.01,
                        help="fail when a block received allocates more often (0.01)")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    for name in ("work", "dray"):
        parser.add_argument("--" + name, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"--rounds: {options.rounds} was given; allowed: 1 or more")
    return options


def run(options, mib, times):
    """Fetches the file of that size so many times; what was counted meanwhile."""
    work = pathlib.Path(options.work)
    counts = work / "counts"
    counts.unlink(missing_ok=True)
    environment = dict(os.environ, LD_PRELOAD=str(work / "allocations.so"), DRAY_ALLOCATIONS=str(counts))
    child = subprocess.run(
        [options.dray, "benchmark", "transfer", f"http://127.0.0.1:{options.port}/{mib}.bin",
         "--to", str(work / "destination"), "--connections", "1", "--times", str(times), "--json"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=environment, check=False)
    if child.returncode != 0:
        sys.stderr.write(child.stdout)
        raise SystemExit(f"dray's exit status is {child.returncode}")
    counted = json.loads(counts.read_text())
    wanted = mib * MIB * times
    if counted["received"] < wanted:
        raise SystemExit(f"only {counted['received']:,} of {wanted:,} bytes were seen to be received")
    return counted


def compare(options, small, large, times):
    """Prints totals of the files, and the further allocations for each further block."""
    rounds = [(run(options, small, times), run(options, large, times)) for _ in range(options.rounds)]
    for pair in rounds:
        for mib, counted in zip((small, large), pair):
            print(f"{times:>3} x {mib:>3} MiB {counted['allocations']:>12,} allocations "
                  f"{counted['blocks']:>9,} blocks received")

    # The middle of the rounds: what the runs differ by otherwise is chance.
    def difference(what):
        return statistics.median(pair[1][what] - pair[0][what] for pair in rounds)

    return difference("allocations") / difference("blocks"), rounds


def main():
    options = arguments()
    work = pathlib.Path(options.work)
    worst, figures = 0.0, []
    for small, large, times in PAIRS:
        for mib in (small, large):
            with open(work / "origin" / f"{mib}.bin", "wb") as file:
                for _ in range(mib):
                    file.write(os.urandom(MIB))
        per_block, rounds = compare(options, small, large, times)
        print(f"    for each block more: {per_block:.4f} allocations\n")
        worst = max(worst, per_block)
        figures.append({"mebibytes": [small, large], "times": times, "rounds": rounds,
                        "allocationsPerBlock": per_block})
        for path in (work / "origin").iterdir():
            path.unlink()
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(figures, indent=2) + "\n")
    if worst > options.max_per_block:
        raise SystemExit(f"a block received allocates {worst:.4f} times; allowed: {options.max_per_block}")


main()
