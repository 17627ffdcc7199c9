"""The queue's throughput through its API with TLS, against the same without.

Started by loadtest/tls. Standard library only.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys


def arguments():
    parser = argparse.ArgumentParser(prog="loadtest/tls", description=__doc__.split("\n")[0])
    parser.add_argument("--turns", type=int, default=4, help="runs of each, alternating (4)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each run (3)")
    parser.add_argument("--segments", type=int, default=500_000, help="segments of each run (500000)")
    parser.add_argument("--min-share", type=float, default=0.9, metavar="SHARE",
                        help="fail when TLS leaves less of the throughput (0.9)")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    for name in ("work", "dray"):
        parser.add_argument("--" + name, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not 1 <= options.turns <= 100:
        parser.error("--turns takes 1 to 100")
    return options


def run(options, words):
    found = subprocess.run(
        [options.dray, "benchmark", "queue", "--json", "--rounds", str(options.rounds),
         "--segments", str(options.segments), *words],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    if found.returncode != 0:
        sys.exit(found.returncode)
    return json.loads(found.stdout)["apiPerSecond"]


def main():
    options = arguments()
    work = pathlib.Path(options.work)
    files = ["--tls-certificate", str(work / "certificate.pem"), "--tls-key", str(work / "key.pem")]
    plain, secure = [], []
    for turn in range(options.turns):
        # The other one first in every second turn.
        for side, words in ([(plain, []), (secure, files)] if turn % 2 == 0 else [(secure, files), (plain, [])]):
            side.append(run(options, words))
    share = statistics.median(secure) / statistics.median(plain)
    print("segments a second: %d without TLS, %d with TLS (medians of %d runs): %.1f %%" % (
        statistics.median(plain), statistics.median(secure), options.turns, 100 * share))
    if options.json:
        pathlib.Path(options.json).write_text(
            json.dumps({"plainPerSecond": plain, "tlsPerSecond": secure, "share": share}, indent=2) + "\n")
    if share < options.min_share:
        sys.exit("less than %g of the throughput without TLS" % options.min_share)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
