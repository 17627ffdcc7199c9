"""What `dray plan` and `dray loadtest` say, against what is so: a table of all comparisons.

A plan is calibrated with three runs and predicts pools of other workers, connections, sizes and limits. A search
looks for the capacity of servers whose capacity is known. Hit ratios of fill plans, times of catalogs, latencies and
waits follow, as the scripts of the same names compare them. Access logs, the servers' own arithmetic, replays and
another simulator are the judges.
Started by loadtest/truth. Standard library only.
"""

import argparse
import json
import statistics
import sys

import truth_parts
import truth_pool
import truth_search

#: What each part adds to the table.
PARTS = {"pool": None, "search": None, "fill": truth_parts.fills, "makespan": truth_parts.makespans,
         "overhead": truth_parts.overheads, "waits": truth_parts.waits}


def arguments():
    parser = argparse.ArgumentParser(prog="loadtest/truth", description=__doc__.split("\n")[0])
    parser.add_argument("--parts", type=words(*PARTS), default=list(PARTS),
                        help=f"which comparisons ({','.join(PARTS)})")
    parser.add_argument("--short", action="store_true",
                        help="a few cells of the matrix, two servers, two fill plans, and short loads")
    parser.add_argument("--workers", type=numbers, default=[1, 2, 4], help="of the predicted pools (1,2,4)")
    parser.add_argument("--connections", type=numbers, default=[2, 4, 8], help="of a worker (2,4,8)")
    parser.add_argument("--limits", type=words(*truth_pool.LIMITS), default=list(truth_pool.LIMITS),
                        help=f"of the origin ({','.join(truth_pool.LIMITS)})")
    parser.add_argument("--seconds", type=float, default=10, help="that a run takes about (10)")
    parser.add_argument("--step", type=int, default=5, help="seconds of each load of a search (5)")
    parser.add_argument("--servers", type=words(*truth_search.KINDS), default=list(truth_search.KINDS),
                        help=f"to search for the limit of ({','.join(truth_search.KINDS)})")
    parser.add_argument("--runs", metavar="FILE",
                        help="reports of the calibration: written if there is none, else used instead of new runs")
    parser.add_argument("--json", metavar="FILE", help="also write every comparison to FILE")
    parser.add_argument("--max-median", type=float, default=0.05, help="fail beyond this median error of pools (0.05)")
    parser.add_argument("--max-error", type=float, default=0.15, help="fail when a pool is further off (0.15)")
    parser.add_argument("--max-search-error", type=float, default=0.05,
                        help="fail when a found capacity is further off (0.05)")
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    for name in ("work", "state", "origin", "port", "dray"):
        parser.add_argument("--" + name, default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not 1 <= options.seconds <= 600 or not 2 <= options.step <= 600:
        parser.error("--seconds takes 1 to 600, and --step 2 to 600")
    return options


def numbers(text):
    values = [int(word) for word in text.split(",")]
    if not all(1 <= value <= 64 for value in values):
        raise ValueError(text)
    return values


def words(*known):
    def parse(text):
        values = text.split(",")
        if set(values) - set(known):
            raise argparse.ArgumentTypeError(f"of {', '.join(known)}")
        return values
    return parse


def main():
    options = arguments()
    if options.check:
        # For the script that starts this: what it has to prepare.
        print(" ".join(options.parts))
        return 0
    failures, result, table = [], {}, []
    if "pool" in options.parts:
        rows = result["pool"] = truth_pool.compare(options)
        table += truth_parts.of_pools(rows, options.max_error)
        errors = sorted(abs(row["error"]) for row in rows)
        median, worst = statistics.median(errors), errors[-1]
        print(f"{len(rows)} pools: median error {median:.1%}, worst {worst:.1%}")
        if median > options.max_median:
            failures.append(f"the median error of pools is {median:.1%}, more than {options.max_median:.0%}")
        if worst > options.max_error:
            failures.append(f"the worst error of a pool is {worst:.1%}, more than {options.max_error:.0%}")
            failures += [truth_pool.explanation(row) for row in rows if abs(row["error"]) > options.max_error]
    if "search" in options.parts:
        rows = result["search"] = truth_search.compare(options)
        table += truth_parts.of_searches(rows, options.max_search_error)
        worst = max(abs(row["error"]) for row in rows)
        print(f"{len(rows)} searches: worst error {worst:.1%}")
        if worst > options.max_search_error:
            failures.append(f"a found capacity is {worst:.1%} off, more than {options.max_search_error:.0%}")
    for part in (part for part in options.parts if PARTS[part]):
        rows = result[part] = PARTS[part](options)
        table += rows
        failures += [f"{part}: {row['case']} is off by {row['off']}; the bar is {row['bar']}"
                     for row in rows if not row["holds"]]
    print("\n" + "\n".join(truth_parts.table(table)))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(result, file, indent=2)
            file.write("\n")
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
