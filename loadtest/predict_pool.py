"""What `dray plan` predicts of a pool on this machine, against what the pool then does.

Calibrates with runs of a few workers, then runs pools of other sizes and asks `dray plan --check` how
far the prediction is off. Started by loadtest/predict-pool, whose nginx waits before each answer.
Standard library only.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys

import compare_tools


def arguments():
    parser = argparse.ArgumentParser(
        prog="loadtest/predict-pool", description=__doc__.split("\n")[0])
    parser.add_argument(
        "--calibrate", type=numbers, default=[1, 2, 4], help="workers to calibrate with (1,2,4)")
    parser.add_argument(
        "--workers", type=numbers, default=[1, 2, 4, 8, 16], help="workers to predict (1,2,4,8,16)")
    parser.add_argument("--connections", type=int, default=4, help="of a worker (4)")
    parser.add_argument("--delay-milliseconds", type=int, default=50,
                        help="from a request to the answer's first byte (50)")
    parser.add_argument("--size", type=int, default=16_384, help="bytes of a file (16384)")
    parser.add_argument("--seconds", type=float, default=10, help="that a run takes about (10)")
    parser.add_argument("--json", metavar="FILE", help="also write every run to FILE")
    parser.add_argument("--max-error", type=float,
                        help="fail when a prediction is further off, 0.1 for 10 %%")
    for name in ("work", "state", "origin", "dray"):
        parser.add_argument("--" + name, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if min(options.connections, options.delay_milliseconds, options.size, options.seconds) < 1:
        parser.error("--connections, --delay-milliseconds, --size and --seconds take 1 or more")
    return options


def numbers(text):
    values = [int(word) for word in text.split(",")]
    if not all(1 <= value <= 64 for value in values):
        raise ValueError(text)
    return values


def files_of(options, workers):
    """So many that a run takes about as long as was asked for."""
    rate = options.connections / options.delay_milliseconds * 1_000
    return max(1, round(workers * rate * options.seconds))


def run_pool(options, workers, name):
    """One `dray prefetch` with so many workers; the path of its report, and the report's totals."""
    work = pathlib.Path(options.work)
    count = files_of(options, workers)
    (work / "list").write_text("".join(
        f"{options.origin}/{compare_tools.path_of(index)}\n" for index in range(count)))
    # One of its own: a site whose directory was removed waits for it.
    edge = work / f"edge-{name}"
    report = work / f"{name}.json"
    result = subprocess.run(
        [options.dray, "prefetch", str(work / "list"), "--to", str(edge),
         "--name", name, "--state", options.state, "--workers", str(workers),
         "--connections", str(options.connections), "--report", str(report)],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    shutil.rmtree(edge, ignore_errors=True)
    if result.returncode:
        raise SystemExit(f"dray prefetch: {result.stderr}")
    totals = json.loads(report.read_text())["totals"]
    if totals["segments"] != count or totals["failed"]:
        raise SystemExit(f"dray prefetch: {totals}")
    return report, totals


def check(options, calibration, report, workers):
    """What `dray plan` says of the run: predicted and measured segments a second."""
    output = subprocess.run(
        [options.dray, "plan", "--calibrate", str(calibration), "--check", str(report),
         "--check-workers", str(workers), "--draws", "0", "--set",
         f"worker.connections={options.connections}", "--json"],
        check=True, stdout=subprocess.PIPE, text=True).stdout
    rows = json.loads(output)["check"]["rows"]
    return next(row for row in rows if row["figure"] == "segments per second")


def main():
    options = arguments()
    work = pathlib.Path(options.work)
    most = max(options.workers + options.calibrate)
    compare_tools.make_files(work / "origin", files_of(options, most), options.size)
    # The database is made once before the first run that counts.
    run_pool(options, 1, "warm-up")
    calibration = work / "calibration.json"
    lines = []
    for workers in options.calibrate:
        _, totals = run_pool(options, workers, f"calibrate-{workers}")
        rate = totals["segments"] / totals["seconds"]
        lines.append({"workers": workers, "segmentsPerSecond": rate})
        print(f"calibrated with {workers} workers: {rate:.1f} files/s")
    calibration.write_text("".join(json.dumps(line) + "\n" for line in lines))
    print(f"\n{'workers':>7} {'predicted/s':>12} {'measured/s':>11} {'off':>7}")
    rows = []
    for workers in options.workers:
        report, _ = run_pool(options, workers, f"check-{workers}")
        row = check(options, calibration, report, workers)
        rows.append({"workers": workers, **row})
        print(f"{workers:>7} {row['predicted']:>12.1f} {row['measured']:>11.1f} "
              f"{row['error'] * 100:>6.1f} %")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"calibration": lines, "runs": rows}, file, indent=2)
            file.write("\n")
    worst = max(abs(row["error"]) for row in rows)
    if options.max_error and worst > options.max_error:
        print(f"a prediction is {worst * 100:.1f} % off, more than "
              f"{options.max_error * 100:.0f} %", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
