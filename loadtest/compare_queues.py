"""Runs PGQueuer's drain benchmark and `dray benchmark queue` in turns and compares them.

Started by loadtest/compare-queues, which puts PGQueuer into WORK. Standard library only.
"""

import argparse
import json
import os
import pathlib
import shlex
import signal
import statistics
import subprocess
import sys
import time


def arguments():
    parser = argparse.ArgumentParser(
        prog="loadtest/compare-queues",
        description="Compares dray's queue with PGQueuer's own drain benchmark.",
        epilog="--pgqueuer VERSION takes another version of PGQueuer than 1.6.0.",
    )
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (3)")
    parser.add_argument("--jobs", type=int, default=50_000, help="jobs that PGQueuer drains (50000)")
    parser.add_argument("--dequeue", type=int, default=5, help="its dequeuers (5)")
    parser.add_argument("--dequeue-batch", type=int, default=10, help="jobs each takes (10)")
    parser.add_argument(
        "--dray-arguments", default="--segments 300000 --rounds 3",
        help="arguments for dray benchmark queue (%(default)s)",
    )
    parser.add_argument("--json", metavar="FILE", help="also write every run to FILE")
    parser.add_argument(
        "--min-ratio", type=float, help="fail when dray's median is less than R times PGQueuer's"
    )
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    for name in ("work", "dray", "version"):
        parser.add_argument("--" + name, default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if min(options.rounds, options.jobs, options.dequeue, options.dequeue_batch) < 1:
        parser.error("--rounds, --jobs, --dequeue and --dequeue-batch take 1 or more")
    try:
        options.dray_arguments = shlex.split(options.dray_arguments)
    except ValueError as error:
        parser.error(f"--dray-arguments: {error}")
    return options


class Server:
    """The PostgreSQL server of `dray up`: the settings are those of dray's own benchmark.

    Its coordinator and its worker idle beside it; they take less than a hundredth of a core.
    """

    def __init__(self, options):
        self.state = pathlib.Path(options.work) / "state"
        self.log = pathlib.Path(options.work) / "up.log"
        self.dray = options.dray

    def __enter__(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("DRAY_")}
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [self.dray, "up", "--state", str(self.state), "--listen", "127.0.0.1:0"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        deadline = time.monotonic() + 60
        while b"export DRAY_COORDINATOR=" not in self.log.read_bytes():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise SystemExit("dray up did not start:\n" + self.log.read_text(errors="replace"))
            time.sleep(0.02)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def environment(self, database):
        """What libpq and asyncpg find the server with."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PG")}
        environment.update(
            PGHOST=str(self.state / "postgresql"), PGPORT="5432", PGUSER="dray",
            PGDATABASE=database)
        return environment


def run(command, environment=None):
    """Runs a command to its end; what it wrote to stdout."""
    result = subprocess.run(
        [str(part) for part in command], env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.stderr.write((result.stdout + result.stderr)[-4000:])
        raise SystemExit(f"{shlex.join(map(str, command))}: exit status {result.returncode}")
    return result.stdout


def pgqueuer(options, number):
    """One drain in a fresh database; its own figure, and what the database says of it."""
    work = pathlib.Path(options.work)
    python = work / "venv" / "bin" / "python"
    output = work / f"pgqueuer-{number}.json"
    with Server(options) as server:
        run(["psql", "-Xqc", f"CREATE DATABASE round_{number}"], server.environment("postgres"))
        environment = server.environment(f"round_{number}")
        run([python, "-m", "pgqueuer", "install"], environment)
        settings = run(
            ["psql", "-XAtc", "SELECT current_setting('synchronous_commit') || ' ' || "
             "current_setting('fsync')"], environment).strip()
        if settings != "on on":
            raise SystemExit(f"synchronous_commit and fsync are {settings}")
        run(
            [python, work / f"pgqueuer-{options.version}" / "tools" / "benchmark.py",
             "--strategy", "drain", "--driver", "apg", "--jobs", options.jobs,
             "--dequeue", options.dequeue, "--dequeue-batch-size", options.dequeue_batch,
             "--output-json", output], environment)
        left = int(run(["psql", "-XAtc", "SELECT count(*) FROM pgqueuer"], environment))
        if left:
            raise SystemExit(f"PGQueuer left {left} jobs")
    return round(json.loads(output.read_text())["rate"])


def dray(options):
    """One run of dray's own benchmark: its report."""
    command = [options.dray, "benchmark", "queue", "--json", "--directory", options.work]
    return json.loads(run(command + options.dray_arguments))


def show(runs, summary):
    print(f"{'round':<7} {'PGQueuer/s':>11} {'dray API/s':>11} {'ceiling/s':>11} "
          f"{'to PGQueuer':>12} {'to ceiling':>11}")
    for number, row in enumerate(runs, 1):
        print(line(str(number), row))
    print(line("median", summary))


def line(name, row):
    return (f"{name:<7} {row['pgqueuerPerSecond']:>11,} {row['drayPerSecond']:>11,} "
            f"{row['ceilingPerSecond']:>11,} {row['ratioToPGQueuer']:>12.2f} "
            f"{row['ratioToCeiling']:>11.2f}")


def row(pgqueuer_rate, dray_rate, ceiling_rate):
    return {
        "pgqueuerPerSecond": round(pgqueuer_rate),
        "drayPerSecond": round(dray_rate),
        "ceilingPerSecond": round(ceiling_rate),
        "ratioToPGQueuer": round(dray_rate / pgqueuer_rate, 2),
        "ratioToCeiling": round(dray_rate / ceiling_rate, 2),
    }


def main():
    options = arguments()
    if options.check:
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    runs = []
    reports = []
    for number in range(1, options.rounds + 1):
        results = {}
        # Each begins as often as the other.
        for name in ("pgqueuer", "dray") if number % 2 else ("dray", "pgqueuer"):
            print(f"round {number}: {name} ...", file=sys.stderr)
            results[name] = pgqueuer(options, number) if name == "pgqueuer" else dray(options)
        report = results["dray"]
        reports.append(report)
        runs.append(
            row(results["pgqueuer"], report["apiPerSecond"], report["ceilingPerSecond"]))
    summary = row(*(
        statistics.median(run[key] for run in runs)
        for key in ("pgqueuerPerSecond", "drayPerSecond", "ceilingPerSecond")))
    show(runs, summary)
    if options.json:
        settings = {
            key: getattr(options, key)
            for key in ("rounds", "jobs", "dequeue", "dequeue_batch", "dray_arguments", "version")}
        settings["cores"] = os.cpu_count()
        with open(options.json, "w") as file:
            json.dump(
                {"settings": settings, "summary": summary, "runs": runs, "drayReports": reports},
                file, indent=2)
            file.write("\n")
    if options.min_ratio and summary["ratioToPGQueuer"] < options.min_ratio:
        print(f"dray does {summary['ratioToPGQueuer']} times what PGQueuer does, less than "
              f"{options.min_ratio}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
