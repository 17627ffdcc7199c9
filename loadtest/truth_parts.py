"""Comparisons of other scripts of this folder, as rows of one table. Used by truth.py."""

import argparse
import pathlib

import fill
import makespan
import overhead
import planner_peers

#: Beyond which a mean wait differs from ciw's, whose own mean is known to some 15 %.
MAX_WAIT_ERROR = planner_peers.MAX_WAIT_ERROR


def comparison(part, case, said, so, off, bar, holds):
    """A row: what dray said, what is so, how far off that is, and what is allowed."""
    return {"part": part, "case": case, "said": said, "so": so, "off": off, "bar": bar, "holds": holds}


def of_pools(rows, most):
    return [comparison("pool", f"{row['workers']} x {row['connections']}, {row['bytes'] / 1e6:g} MB, {row['limit']}",
                       f"{row['predicted']:.2f}/s", f"{row['measured']:.2f}/s", f"{row['error']:+.1%}", f"{most:.0%}",
                       abs(row["error"]) <= most) for row in rows]


def of_searches(rows, most):
    return [comparison("search", row["server"], f"{row['found']:.1f}/s", f"{row['capacity']:.1f}/s",
                       f"{row['error']:+.1%}", f"{most:.0%}", abs(row["error"]) <= most) for row in rows]


def fills(options):
    """Hit ratios of `dray plan fill` against a replay of the next day."""
    own = argparse.Namespace(dray=options.dray, work=directory(options, "fill"), titles=2_000, requests=20_000, days=15,
                             seed=1)
    cases = list(enumerate(fill.CASES))[:2 if options.short else None]
    rows = []
    for number, case in cases:
        row = fill.compare(own, number, case)
        ratio = row["predicted"]
        by_range = row["churnFrom"] == 0 and row["churn"] > 0
        rows.append(comparison(
            "fill", f"{row['case']}, by {row['order']}",
            f"{100 * ratio['likely']:.1f} % ({100 * ratio['low']:.1f} to {100 * ratio['high']:.1f})",
            f"{100 * row['replayed']:.1f} %", f"{max(fill.errors(row), key=abs):+.1f} points",
            "its range" if by_range else f"{fill.MAX_POINTS} points", not fill.problems(row)))
    return rows


def makespans(options):
    """Times of catalogs against the best schedule: even files, which have a bar."""
    own = argparse.Namespace(dray=options.dray, work=directory(options, "makespan"), state=options.state)
    origin = makespan.Origin()
    rows = []
    for name, most in makespan.BARS.items():
        for manner in makespan.MANNERS:
            row = makespan.run_case(own, origin, name, manner, 0)
            rows.append(comparison(
                "makespan", f"{name}, {manner}", f"{row['served']:.2f} s", f"{row['ideal']:.1f} s",
                f"{row['ratio']:.2f} times", f"{most:g} times", row["ratio"] <= most))
    return rows


def overheads(options):
    """Latencies of `dray loadtest` against those of a small client, both less what the origin measured itself."""
    own = argparse.Namespace(dray=options.dray, work=directory(options, "overhead"), port=options.port,
                             delay_milliseconds=20, seconds=2 if options.short else 10)
    rows = []
    for load in overhead.LOADS:
        row = overhead.run(own, load)
        rows.append(comparison(
            "overhead", row["load"], f"{row['dray p50']} µs", f"{row['origin p50'] + row['least']:.0f} µs",
            f"{row['own']:+.0f} ± {row['error']:.0f} µs", f"{overhead.MAX_MICROSECONDS} µs",
            row["own"] <= overhead.MAX_MICROSECONDS))
    return rows


def waits(options):
    """Mean waits of `dray plan queue` beyond its formulas, against ciw's."""
    own = argparse.Namespace(dray=options.dray, seed=1, customers=200_000)
    return [comparison("waits", row["name"], f"{row['dray']:.4f} s", f"{row['ciw']:.4f} s",
                       f"{row['dray'] / row['ciw'] - 1:+.1%}", f"{MAX_WAIT_ERROR:.0%}", not planner_peers.is_far(row))
            for row in planner_peers.beyond(own)]


def directory(options, name):
    path = pathlib.Path(options.work) / name
    path.mkdir(exist_ok=True)
    return str(path)


def table(rows):
    """Lines of text, with a mark at each comparison that misses its bar."""
    names = ["part", "comparison", "dray", "in fact", "off", "bar", ""]
    cells = [names] + [[row["part"], row["case"], row["said"], row["so"], row["off"], row["bar"],
                        "" if row["holds"] else "missed"] for row in rows]
    widths = [max(len(line[column]) for line in cells) for column in range(len(names))]
    return ["  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip() for line in cells]
