"""Measures what dray loadtest adds to a latency.

Started by loadtest/overhead. An origin answers a fixed time after each request, and logs how long that took by its own
clock, around its own reads and writes. The difference of the medians is what dray, the kernel's loopback and their
wake-ups add. The same difference of a small client in C, in the same minute, is what loopback and wake-ups cost
without dray. Standard library only.
"""

import argparse
import json
import math
import pathlib
import socket
import subprocess
import time

#: What dray's median may be longer by than that of the small client.
MAX_MICROSECONDS = 100
#: Options of the loads: one after the other, and at two rates.
LOADS = [["-c", "1"], ["--rate", "50"], ["--rate", "500"]]


def arguments():
    parser = argparse.ArgumentParser(prog="loadtest/overhead", description=__doc__.split("\n")[0])
    parser.add_argument("--delay-milliseconds", type=int, default=20, help="the origin's delay (20)")
    parser.add_argument("--seconds", type=int, default=10, help="of each run (10)")
    parser.add_argument("--rates", default="50,500", help="rates of the open runs, separated by commas (50,500)")
    parser.add_argument("--max-microseconds", type=float, default=MAX_MICROSECONDS,
                        help=f"fail if dray adds more to the median than the small client does, and so much ({MAX_MICROSECONDS})")
    for name in ("work", "port", "dray"):
        parser.add_argument("--" + name, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def median(values):
    """The median and its standard error, by the order statistics one deviation around it."""
    ranks = sorted(values)
    count = len(ranks)
    middle, deviation = count / 2, math.sqrt(count) / 2
    low = ranks[max(int(middle - deviation), 0)]
    high = ranks[min(int(middle + deviation), count - 1)]
    return ranks[count // 2], (high - low) / 2


def wait_for(port):
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit("the origin does not start")


def against_origin(options, command):
    """The output of a command while the origin runs, and the median and error of what the origin took."""
    log = pathlib.Path(options.work, "log")
    origin = subprocess.Popen([f"{options.work}/origin", options.port, str(options.delay_milliseconds), str(log)])
    try:
        wait_for(int(options.port))
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    finally:
        origin.terminate()
        origin.wait()
    return output, *median([float(line) for line in log.read_text().split()])


def run(options, load):
    rate = load[1] if load[0] == "--rate" else "0"
    times, least_true, least_error = against_origin(
        options, [f"{options.work}/client", options.port, rate, str(options.seconds)])
    client, client_error = median([float(line) for line in times.split()])
    output, true, error = against_origin(
        options, [options.dray, "loadtest", f"http://127.0.0.1:{options.port}/", "--json", "--quiet",
                  "-d", f"{options.seconds}s", *load])
    metrics = json.loads(output)["metrics"]
    added, least = metrics["total_uncorrected"]["p50"] - true, client - least_true
    # A bin of dray's histogram is a thousandth wide, and its upper end is reported.
    bin_width = 2 ** max(math.floor(math.log2(true)) - 10, 0)
    return {
        "load": " ".join(load), "requests": metrics["total"]["count"], "origin p50": true,
        "dray p50": metrics["total_uncorrected"]["p50"], "added": added, "least": least, "own": added - least,
        "error": math.hypot(math.sqrt(2) * error, bin_width / 2, client_error, least_error),
        "send delay p50": metrics["send_delay"]["p50"],
    }


def main():
    options = arguments()
    loads = LOADS[:1] + [["--rate", rate] for rate in options.rates.split(",")]
    rows = [run(options, load) for load in loads]
    print("| load | requests | origin p50 | dray p50 from sending | added | small client | dray's own "
          "| sent after its time, p50 |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        print(f"| `{row['load']}` | {row['requests']} | {row['origin p50']:.0f} µs | {row['dray p50']} µs | "
              f"{row['added']:.0f} µs | {row['least']:.0f} µs | {row['own']:.0f} ± {row['error']:.0f} µs | "
              f"{row['send delay p50']} µs |")
    most = max(row["own"] for row in rows)
    if most > options.max_microseconds:
        raise SystemExit(f"dray adds {most:.0f} µs, more than {options.max_microseconds:.0f}")


if __name__ == "__main__":
    main()
