"""Holds the hit ratios of `dray plan fill` against a replay of requests that it has not seen.

Started by loadtest/fill. The logs are synthetic: Zipf popularity, of which a share changes each day.
The replay is this script's own.
"""

import argparse
import bisect
import datetime
import json
import os
import random
import subprocess
import sys

# Name, Zipf exponent, share of the titles replaced each day, first rank that changes, storage and
# window as shares of the catalog, order.
CASES = [
    ("stable", 0.8, 0.0, 0, 0.1, 1.0, "bytes"),
    ("stable", 0.8, 0.0, 0, 0.1, 1.0, "requests"),
    ("flat", 0.6, 0.02, 20, 0.3, 0.1, "bytes"),
    ("new titles", 0.8, 0.03, 20, 0.1, 0.05, "bytes"),
    ("new titles", 0.8, 0.03, 20, 0.1, 0.05, "requests"),
    ("steep", 1.0, 0.05, 20, 0.05, 0.05, "bytes"),
    ("steeper", 1.2, 0.1, 20, 0.1, 0.05, "requests"),
    ("new number one", 1.0, 0.05, 0, 0.1, 0.05, "bytes"),
]

#: Beyond which a predicted ratio is far off.
MAX_POINTS = 2


def arguments():
    parser = argparse.ArgumentParser(
        prog="loadtest/fill",
        description="Compares predicted hit ratios with a replay of a held-out day.")
    parser.add_argument("--titles", type=int, default=2_000, help="titles at a time (2000)")
    parser.add_argument("--requests", type=int, default=20_000, help="requests a day (20000)")
    parser.add_argument("--days", type=int, default=15, help="days of logs to plan from (15)")
    parser.add_argument("--seed", type=int, default=1, help="of the requests (1)")
    parser.add_argument("--json", metavar="FILE", help="also write all figures to FILE")
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--dray", default="", help=argparse.SUPPRESS)
    parser.add_argument("--work", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.titles < 100 or options.requests < 1_000 or not 3 <= options.days <= 60:
        parser.error("--titles takes 100 or more, --requests 1000 or more, --days 3 to 60")
    return options


class Requests:
    """Requests of titles by Zipf's law; sizes do not depend on popularity."""

    def __init__(self, titles, exponent, churn, churn_from, seed):
        self.draw = random.Random(seed)
        self.ranks = list(range(titles))
        self.next = titles
        self.churn, self.churn_from = churn, churn_from
        self.sizes = {}
        total, self.cumulative = 0.0, []
        for rank in range(titles):
            total += (rank + 1) ** -exponent
            self.cumulative.append(total)

    def size(self, title):
        if title not in self.sizes:
            value = random.Random(title * 7 + 3)
            self.sizes[title] = round(1e6 * (1 + 15 * value.random() * value.random()))
        return self.sizes[title]

    def day(self, count):
        for rank in range(self.churn_from, len(self.ranks)):
            if self.draw.random() < self.churn:
                self.ranks[rank] = self.next
                self.next += 1
        return [
            self.ranks[bisect.bisect_left(self.cumulative, self.draw.random() * self.cumulative[-1])]
            for _ in range(count)]


def write_log(path, days, source):
    start = datetime.datetime(2026, 10, 1, tzinfo=datetime.timezone.utc)
    with open(path, "w") as file:
        for day, titles in days:
            for place, title in enumerate(titles):
                time = start + datetime.timedelta(days=day, seconds=place * 86_000 // len(titles))
                file.write(
                    f"h - - [{time:%d/%b/%Y:%H:%M:%S +0000}] \"GET /o.example/{title}.mp4 HTTP/1.1\" "
                    f"200 {source.size(title)} \"-\" \"-\"\n")


def run(*words):
    result = subprocess.run(words, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(words)}: {result.stderr}")
    return result.stdout


def compare(options, number, case):
    name, exponent, churn, churn_from, storage, window, order = case
    source = Requests(options.titles, exponent, churn, churn_from, options.seed * 100 + number)
    catalog = sum(source.size(title) for title in range(options.titles))
    days = [(day, source.day(options.requests)) for day in range(options.days)]
    held_out = source.day(options.requests)
    log, out = f"{options.work}/{number}.log", f"{options.work}/{number}"
    write_log(log, days, source)
    rate = max(8, round(catalog * window * 8 / 3_600 / 1_000))
    answer = json.loads(run(
        options.dray, "plan", "fill", "--log", log, "--site", f"edge={round(catalog * storage)}",
        "--window", "1h", "--bandwidth", f"{rate}kbit/s", "--order", order, "--out", out, "--json"))
    site = answer["sites"][0]
    # The replay: what the list has, is a hit.
    with open(f"{out}/edge.ndjson") as file:
        stored = {
            int(os.path.basename(json.loads(line)["url"]).split(".")[0]) for line in file}
    hits = [title for title in held_out if title in stored]
    requests = len(hits) / len(held_out)
    volume = sum(map(source.size, hits)) / sum(map(source.size, held_out))
    # Its own check has to say the same.
    write_log(log, [(options.days, held_out)], source)
    check = json.loads(run(
        options.dray, "plan", "fill", "--plan", out, "--check", log, "--json"))["sites"][0]
    os.remove(log)
    same = (abs(check["hitRatio"]["measured"] - requests) < 1e-9
            and abs(check["byteHitRatio"]["measured"] - volume) < 1e-9)
    return {
        "case": name, "exponent": exponent, "churn": churn, "churnFrom": churn_from,
        "order": order, "titles": site["titles"],
        "predicted": site["hitRatio"], "replayed": requests,
        "predictedBytes": site["byteHitRatio"], "replayedBytes": volume, "checkAgrees": same}


def errors(row):
    """How far the ratios by requests and by bytes are off, in points."""
    return (100 * (row["predicted"]["likely"] - row["replayed"]),
            100 * (row["predictedBytes"]["likely"] - row["replayedBytes"]))


def problems(row):
    """What a case misses."""
    found = []
    if not row["checkAgrees"]:
        found.append(f"{row['case']}: --check differs from the replay")
    # Where the most wanted title may change overnight, only the range can be right.
    is_known = row["churnFrom"] > 0 or row["churn"] == 0
    if is_known and max(map(abs, errors(row))) > MAX_POINTS:
        found.append(f"{row['case']}, {row['order']}: more than {MAX_POINTS} points")
    if not is_known and not row["predicted"]["low"] <= row["replayed"] <= row["predicted"]["high"]:
        found.append(f"{row['case']}: outside the range")
    return found


def main():
    options = arguments()
    if options.check:
        return 0
    rows = [compare(options, number, case) for number, case in enumerate(CASES)]
    print(f"{options.titles:,} titles, {options.requests:,} requests a day, planned from "
          f"{options.days} days, replayed with the next one; percent\n")
    print(f"{'case':<15} {'zipf':>5} {'new':>5} {'order':<9} {'titles':>6} {'predicted':>20} "
          f"{'replay':>7} {'points':>7} {'bytes':>6} {'replay':>7} {'points':>7}")
    far = []
    for row in rows:
        ratio, volume = row["predicted"], row["predictedBytes"]
        by_requests, by_bytes = errors(row)
        print(f"{row['case']:<15} {row['exponent']:>5} {row['churn']:>5.0%} {row['order']:<9} "
              f"{row['titles']:>6} {100 * ratio['likely']:>6.1f} ({100 * ratio['low']:.1f} to "
              f"{100 * ratio['high']:.1f}) {100 * row['replayed']:>7.1f} {by_requests:>+7.1f} "
              f"{100 * volume['likely']:>6.1f} {100 * row['replayedBytes']:>7.1f} "
              f"{by_bytes:>+7.1f}")
        far += problems(row)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=2)
            file.write("\n")
    for problem in far:
        print(problem, file=sys.stderr)
    return 1 if far else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
