"""Runs downloaders in turns over the same files and compares them.

Started by loadtest/compare-downloaders, which serves WORK/origin over HTTP. Standard library only.
"""

import argparse
import ctypes
import datetime
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time

from compare_tools import STREAMLINK, Tool, incomplete, make_files, make_playlist

PR_SET_CHILD_SUBREAPER = 36
# Of dray: from the first lease to the last result recorded.
LEASE_TO_RESULT = "dray-work"
# The floor beside bare SQL that records as many files.
FLOOR_SQL = "floor+sql"


def arguments():
    parser = argparse.ArgumentParser(
        prog="loadtest/compare-downloaders",
        description="Compares downloaders on many small files from nginx on loopback.",
    )
    parser.add_argument(
        "--hls", action="store_true",
        help="the files are the segments of one HLS title: dray and streamlink get its playlist, "
             "the others the bare list"
    )
    parser.add_argument("--files", type=int, help="how many (20000; 2000 with --hls)")
    parser.add_argument("--size", type=int, default=65_536, help="bytes of each (65536)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each tool (3)")
    parser.add_argument(
        "--tools",
        help="comma-separated, in first order (wget2,aria2,curl,dray,engine,h2load; "
             "wget2,streamlink,dray with --hls)"
    )
    parser.add_argument("--dray-arguments", default="", help="further arguments for dray prefetch")
    parser.add_argument(
        "--other-dray", metavar="FILE",
        help="another build of dray, to compare with as the tool other-dray"
    )
    parser.add_argument("--json", metavar="FILE", help="also write every run to FILE")
    parser.add_argument(
        "--max-ratio", type=float,
        help="fail when dray's wall time over wget2's (else the first tool's) is more; with --hls "
             "the time from its first lease to its last result"
    )
    parser.add_argument(
        "--max-streamlink-ratio", type=float, help="likewise, over streamlink's"
    )
    parser.add_argument(
        "--max-rss", type=float, help="fail when a dray process has more MiB resident"
    )
    for name in ("work", "state", "origin", "dray"):
        parser.add_argument("--" + name, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.files is None:
        options.files = 2_000 if options.hls else 20_000
    if options.tools is None:
        options.tools = ("wget2,streamlink,dray" if options.hls
                         else "wget2,aria2,curl,dray,engine,h2load")
    names = options.tools.split(",")
    if STREAMLINK in names and not options.hls:
        parser.error("streamlink takes a playlist: --hls")
    if ("other-dray" in names) != (options.other_dray is not None):
        parser.error("--other-dray FILE goes with the tool other-dray: --tools other-dray,dray")
    if options.files < 1 or options.size < 16 or options.rounds < 1:
        parser.error("--files and --rounds take 1 or more, --size 16 or more")
    return options


class MemoryWatch(threading.Thread):
    """Largest VmHWM in MiB of any process below this one whose name is NAME."""

    def __init__(self, name):
        super().__init__(daemon=True)
        self.process_name, self.peak, self.done = name, 0.0, threading.Event()

    def run(self):
        # Both cores are busy meanwhile: the search, which reads all of /proc, is seldom, and the
        # high-water mark of what was found needs no more than a look now and then.
        found, search_at = [], 0.0
        while not self.done.wait(0.2):
            if time.monotonic() >= search_at:
                found, search_at = self.search(), time.monotonic() + 2
            for directory in found:
                try:
                    lines = (directory / "status").read_text().splitlines()
                    fields = dict(line.split(":", 1) for line in lines)
                    self.peak = max(self.peak, int(fields["VmHWM"].split()[0]) / 1024)
                except (OSError, KeyError, ValueError):
                    continue  # it ended while it was read

    def search(self):
        found = []
        for directory in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                name = (directory / "comm").read_text().strip()
                if name == self.process_name and descends(int(directory.name)):
                    found.append(directory)
            except (OSError, ValueError):
                continue  # it ended while it was read
        return found


def descends(pid):
    while pid > 1:
        if pid == os.getpid():
            return True
        with open(f"/proc/{pid}/stat") as file:
            pid = int(file.read().rsplit(")", 1)[1].split()[1])
    return False


def reap(child):
    """Waits for child, then for what it left behind: a subreaper inherits it, PostgreSQL too."""
    _, status, usage = os.wait4(child, 0)
    ended = time.monotonic()
    limit = ended + 30
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return os.waitstatus_to_exitcode(status), usage, ended
        if pid == 0:
            if time.monotonic() > limit:
                raise SystemExit("a process outlived the command that started it")
            time.sleep(0.01)


def lease_to_result(log):
    """Seconds from dray's first lease to its last result recorded, from its log; None without."""
    first, last = None, None
    for line in log.read_text(errors="replace").splitlines():
        try:
            entry = json.loads(line)
            when = datetime.datetime.fromisoformat(entry["time"].replace("Z", "+00:00"))
        except (ValueError, KeyError, TypeError):
            continue
        if entry.get("message") == "a lease was granted":
            first = first or when
        elif entry.get("message") == "results were recorded":
            last = when
    return round((last - first).total_seconds(), 3) if first and last else None


def beside_seconds(log):
    """How long the command and bare SQL took, without the making of the database before."""
    return float(re.search(r'"bothSeconds" : ([0-9.]+)', log.read_text(errors="replace"))[1])


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(tool, destination, run):
    """Runs the tool once; what it took, with every process that it started."""
    tool.prepare(destination)
    command = [str(part) for part in tool.command(destination, run)]
    log_path = tool.work / "output.log"
    watch = MemoryWatch("dray")
    with open(log_path, "wb") as log:
        before = cpu_seconds()
        started = time.monotonic()
        # One line per lease and one per batch of results: the time between them follows from these.
        environment = os.environ | {"DRAY_LOG": "debug", "DRAY_LOG_FORMAT": "json"}
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                 env=environment)
        watch.start()
        try:
            status, usage, ended = reap(child.pid)
        except BaseException:
            # Interrupted: the tool ends as well, and dray with it its PostgreSQL.
            child.send_signal(signal.SIGINT)
            reap(child.pid)
            raise
        child.returncode = status
    watch.done.set()
    watch.join()
    problem = None if status == 0 else f"exit status {status}"
    problem = problem or incomplete(tool, destination)
    if problem:
        print(f"{tool.name}: {problem}", file=sys.stderr)
        sys.stderr.write(log_path.read_text(errors="replace")[-2000:])
    return {
        "tool": tool.name,
        "run": run,
        "wallSeconds": beside_seconds(log_path) if tool.name == FLOOR_SQL and not problem
            else round(ended - started, 3),
        "leaseToResultSeconds": lease_to_result(log_path) if tool.name == "dray" else None,
        "cpuSeconds": round(cpu_seconds() - before, 3),
        "peakMiB": round(
            watch.peak if tool.name in ("dray", "other-dray", "engine") else usage.ru_maxrss / 1024, 1),
        "problem": problem,
    }


def summary(runs, options):
    table = {}
    for tool in dict.fromkeys(run["tool"] for run in runs):
        mine = [run for run in runs if run["tool"] == tool]
        wall = [run["wallSeconds"] for run in mine]
        cpu = statistics.median(run["cpuSeconds"] for run in mine)
        table[tool] = {
            "wallMinimum": min(wall),
            "wallMedian": round(statistics.median(wall), 3),
            "cpuMedian": round(cpu, 3),
            "cpuPerGB": round(cpu / (options.files * options.size / 1e9), 3),
            "cpuPer10000Files": round(cpu / (options.files / 10_000), 3),
            "peakMiB": max(run["peakMiB"] for run in mine),
            "complete": not any(run["problem"] for run in mine),
        }
    spans = [run["leaseToResultSeconds"] for run in runs if run["leaseToResultSeconds"]]
    if spans:
        # The queue's own part, without the start of PostgreSQL and the reading of the list.
        table[LEASE_TO_RESULT] = table["dray"] | {
            "wallMinimum": min(spans), "wallMedian": round(statistics.median(spans), 3)}
    base = table.get("wget2", next(iter(table.values())))["wallMedian"]
    streamlink = table.get(STREAMLINK)
    for row in table.values():
        row["ratio"] = round(row["wallMedian"] / base, 2)
        if streamlink:
            row["ratioToStreamlink"] = round(row["wallMedian"] / streamlink["wallMedian"], 3)
    return table


def show(table, options):
    total = options.files * options.size
    print(f"{options.files} {'segments' if options.hls else 'files'} of {options.size} bytes, {options.rounds} rounds, "
          f"{os.cpu_count()} cores")
    base = "wget2" if "wget2" in table else next(iter(table))
    # The column is there if another tool is compared.
    beside = STREAMLINK in table
    print(f"{'tool':<10} {'wall min':>9} {'median':>8} {'MB/s':>7} {'CPU s':>7} {'s a GB':>7} "
          f"{'s/10000':>8} {'peak MiB':>9} {'x ' + base:>11}"
          + (f" {'x streamlink':>13}" if beside else ""))
    for tool, row in table.items():
        ratio = f"{row['ratio']:>11.2f}"
        if beside:
            ratio += f" {row['ratioToStreamlink']:>13.3f}"
        note = "" if row["complete"] else "  INCOMPLETE"
        if tool in ("h2load", "curl-null"):
            note = "  (floor: nothing is stored)"
        if tool == FLOOR_SQL:
            note = "  (floor: nothing is coordinated)"
        if tool == LEASE_TO_RESULT:
            note = "  (dray, from the first lease to the last result recorded)"
        print(f"{tool:<10} {row['wallMinimum']:>8.2f}s {row['wallMedian']:>7.2f}s "
              f"{total / row['wallMedian'] / 1e6:>7.0f} {row['cpuMedian']:>7.2f} "
              f"{row['cpuPerGB']:>7.2f} {row['cpuPer10000Files']:>8.2f} "
              f"{row['peakMiB']:>9.1f} {ratio}{note}")


def over_limits(table, options):
    dray = table.get("dray")
    if not dray:
        return []
    problems = []
    timed = table.get(LEASE_TO_RESULT, dray) if options.hls else dray
    if options.max_ratio and timed["ratio"] > options.max_ratio:
        problems.append(
            f"dray takes {timed['ratio']} times the time of the tool compared with, "
            f"over {options.max_ratio}")
    if options.max_streamlink_ratio and STREAMLINK in table:
        ratio = timed["ratioToStreamlink"]
        if ratio > options.max_streamlink_ratio:
            problems.append(
                f"dray takes {ratio} times the time of streamlink, "
                f"over {options.max_streamlink_ratio}")
    if options.max_rss and dray["peakMiB"] > options.max_rss:
        problems.append(
            f"a dray process has {dray['peakMiB']} MiB resident, over {options.max_rss}")
    return problems


def check_room(options):
    needed = int(options.files * options.size * 2.2) + (64 << 20)
    free = shutil.disk_usage(options.work).free
    if free < needed:
        raise SystemExit(f"{options.work} has {free >> 20} MiB free, {needed >> 20} are needed; "
                         "choose fewer or smaller files")


def main():
    options = arguments()
    check_room(options)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise SystemExit("prctl(PR_SET_CHILD_SUBREAPER): " + os.strerror(ctypes.get_errno()))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    names = [name for name in options.tools.split(",") if name]
    tools = [Tool(name, options) for name in names]
    work = pathlib.Path(options.work)
    print("preparing files ...", file=sys.stderr)
    make_files(work / "origin", options.files, options.size)
    if options.hls:
        make_playlist(work / "origin", options.files)

    for name in {"dray", "other-dray"} & set(names):
        # Makes the embedded database once, as it is on every run but the first of all.
        warm = Tool(name, argparse.Namespace(**{**vars(options), "files": 1, "hls": False}))
        run_and_clear(warm, work / "warm", 0)
    runs = []
    for number in range(1, options.rounds + 1):
        shift = (number - 1) % len(tools)
        for tool in tools[shift:] + tools[:shift]:
            print(f"round {number}: {tool.name} ...", file=sys.stderr)
            runs.append(run_and_clear(tool, work / f"{tool.name}-{number}", number))
    runs.sort(key=lambda run: names.index(run["tool"]))
    table = summary(runs, options)
    show(table, options)
    if options.json:
        settings = {key: getattr(options, key) for key in ("hls", "files", "size", "rounds")}
        settings["cores"] = os.cpu_count()
        with open(options.json, "w") as file:
            json.dump({"settings": settings, "summary": table, "runs": runs}, file, indent=2)
            file.write("\n")
    problems = over_limits(table, options)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems or any(run["problem"] for run in runs) else 0


def run_and_clear(tool, destination, number):
    destination.mkdir()
    try:
        return measure(tool, destination, number)
    finally:
        shutil.rmtree(destination, ignore_errors=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
