"""Compares load generators in turns, and dray's figures with known ones.

Started by loadtest/compare-generators, which serves WORK/origin with one nginx process. Standard library only.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import threading
import time

SMALL, LARGE = 65_536, 2_000_000
SEGMENT_SECONDS = 2


def arguments():
    parser = argparse.ArgumentParser(
        prog="loadtest/compare-generators", description=__doc__.split("\n")[0])
    parser.add_argument("--cases", default="small,large,freeze,viewers",
                        help="which, separated by commas (small,large,freeze,viewers)")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each tool (5)")
    parser.add_argument("--seconds", type=int, default=5, help="of each run (5)")
    parser.add_argument("--viewers", type=int, default=10_000, help="at a time (10000)")
    parser.add_argument("--json", metavar="FILE", help="also write every run to FILE")
    for name in ("work", "origin", "nginx", "dray"):
        parser.add_argument("--" + name, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def run(command):
    """The output of a command, its CPU seconds, and its most memory in MiB."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} ended with {process.returncode}: {output}")
    return output, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def dray(options, target, *further):
    output, cpu, memory = run([options.dray, "loadtest", target, "--json", "--quiet", *further])
    result = json.loads(output)
    if result["counts"]["failed"]:
        raise SystemExit(f"dray: {result['errors']}")
    return result, cpu, memory


def run_dray(options, url, connections):
    result, cpu, _ = dray(options, url, "--users", str(connections), "--threads", "1",
                          "--duration", f"{options.seconds}s")
    seconds = result["measuredSeconds"]
    return result["counts"]["succeeded"], result["counts"]["bytes"], seconds, cpu


def run_wrk(options, url, connections):
    output, cpu, _ = run(["wrk", "-t1", f"-c{connections}", f"-d{options.seconds}s", url])
    count, seconds = re.search(r"(\d+) requests in ([0-9.]+)s", output).groups()
    if "Non-2xx" in output or "Socket errors" in output:
        raise SystemExit(f"wrk: {output}")
    return int(count), int(count) * size_of(url), float(seconds), cpu


def run_h2load(options, url, connections):
    output, cpu, _ = run(["h2load", "--h1", "-t1", f"-c{connections}", "-D", str(options.seconds),
                          url])
    count = int(re.search(r"(\d+) succeeded", output).group(1))
    return count, count * size_of(url), float(options.seconds), cpu


def size_of(url):
    return LARGE if url.endswith("large") else SMALL


TOOLS = {"wrk": run_wrk, "h2load": run_h2load, "dray": run_dray}


def compare(options, name, connections):
    """Runs the tools in turns and prints medians, by wrk's."""
    url = f"{options.origin}/{name}"
    runs = []
    for number in range(options.rounds):
        tools = list(TOOLS)
        for tool in tools[number % 3:] + tools[:number % 3]:
            requests, count, seconds, cpu = TOOLS[tool](options, url, connections)
            runs.append({"case": name, "tool": tool, "requests": requests, "bytes": count,
                         "seconds": seconds, "cpuSeconds": cpu})
    print(f"\n{size_of(url)} bytes, {connections} connections, {options.seconds} s, "
          f"{options.rounds} rounds")
    print(f"{'tool':<8} {'requests/s':>11} {'MB/s':>8} {'requests/CPU-s':>15} {'of wrk':>7} "
          f"{'bytes/s of wrk':>15}")
    base = None
    for tool in TOOLS:
        mine = [row for row in runs if row["tool"] == tool]
        rate = statistics.median(row["requests"] / row["seconds"] for row in mine)
        speed = statistics.median(row["bytes"] / row["seconds"] for row in mine)
        economy = statistics.median(row["requests"] / row["cpuSeconds"] for row in mine)
        base = base or (speed, economy)
        print(f"{tool:<8} {rate:>11.0f} {speed / 1e6:>8.0f} {economy:>15.0f} "
              f"{economy / base[1]:>7.2f} {speed / base[0]:>15.2f}")
    return runs


def workers_of(pid):
    return [int(child) for child in
            pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def freeze(options):
    """A server that stands still for 1.4 s in 20 s of 2,000 requests a second."""
    rate, seconds, pause = 2_000, 20, 1.4
    stopped = {}

    def stand_still():
        # In the midst of the run, whenever that began.
        time.sleep(8)
        began = time.monotonic()
        for pid in workers_of(options.nginx):
            os.kill(pid, signal.SIGSTOP)
        time.sleep(pause)
        for pid in workers_of(options.nginx):
            os.kill(pid, signal.SIGCONT)
        stopped["seconds"] = time.monotonic() - began

    runs = []
    print(f"\n{rate} requests/s for {seconds} s, the server stands still for {pause} s, "
          f"100 requests at a time")
    print(f"{'round':<6} {'true p99 ms':>12} {'p99 ms':>8} {'ratio':>6} {'uncorrected ms':>15}")
    for number in range(options.rounds):
        thread = threading.Thread(target=stand_still)
        thread.start()
        result, _, _ = dray(options, f"{options.origin}/small", "--rate", str(rate), "--duration",
                            f"{seconds}s", "--concurrency", "100", "--threads", "1")
        thread.join()
        # Of all requests the hundredth part was latest: those due first while it stood still.
        true = stopped["seconds"] - 0.01 * seconds
        measured = result["metrics"]["total"]["p99"] / 1e6
        plain = result["metrics"]["total_uncorrected"]["p99"] / 1e6
        runs.append({"case": "freeze", "true": true, "p99": measured, "uncorrected": plain})
        print(f"{number + 1:<6} {true * 1e3:>12.0f} {measured * 1e3:>8.0f} {measured / true:>6.3f} "
              f"{plain * 1e3:>15.1f}")
    return runs


def viewers(options):
    """So many viewers of a title of 2-second segments of 64 KiB in one process."""
    count, ramp, hold = options.viewers, 20, max(options.seconds, 20)
    result, cpu, memory = dray(
        options, f"{options.origin}/title.m3u8", "--users", f"{ramp}s:{count},{hold}s:{count}",
        "--loop", "--threads", "1")
    counts, metrics = result["counts"], result["metrics"]
    print(f"\n{count} viewers, {ramp} s to come and {hold} s to stay")
    print(f"segments {counts['segments']}, late {counts['lateSegments']}, stalls "
          f"{counts['stalls']}, failed viewers {counts['viewersFailed']}")
    print(f"start-up p50 {metrics['startup']['p50'] / 1e3:.0f} ms, p99 "
          f"{metrics['startup']['p99'] / 1e3:.0f} ms; connections {counts['connections']}")
    print(f"{memory:.0f} MiB resident at most, {cpu:.1f} CPU seconds")
    return [{"case": "viewers", "counts": counts, "memoryMiB": memory, "cpuSeconds": cpu}]


def make_origin(root):
    (root / "small").write_bytes(os.urandom(SMALL))
    (root / "large").write_bytes(os.urandom(LARGE))
    lines = ["#EXTM3U", "#EXT-X-VERSION:3", f"#EXT-X-TARGETDURATION:{SEGMENT_SECONDS}",
             "#EXT-X-PLAYLIST-TYPE:VOD"]
    for index in range(60):
        (root / f"{index}.ts").write_bytes(os.urandom(SMALL))
        lines += [f"#EXTINF:{SEGMENT_SECONDS}.000,", f"{index}.ts"]
    (root / "title.m3u8").write_text("\n".join(lines + ["#EXT-X-ENDLIST", ""]))


def main():
    options = arguments()
    make_origin(pathlib.Path(options.work) / "origin")
    cases = {
        "small": lambda: compare(options, "small", 64),
        "large": lambda: compare(options, "large", 16),
        "freeze": lambda: freeze(options),
        "viewers": lambda: viewers(options),
    }
    names = options.cases.split(",")
    for name in names:
        if name not in cases:
            raise SystemExit(f"--cases: given '{name}', allowed {', '.join(cases)}")
    runs = [row for name in names for row in cases[name]()]
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(runs, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
