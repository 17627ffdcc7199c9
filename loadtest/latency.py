"""Compares the transfer engine with connections / latency at a slow origin.

Started by loadtest/latency, whose nginx waits before each answer. Standard library only.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys

import compare
import compare_tools


def arguments():
    parser = argparse.ArgumentParser(prog="loadtest/latency", description=__doc__.split("\n")[0])
    parser.add_argument("--files", type=int, default=2_000, help="how many (2000)")
    parser.add_argument("--size", type=int, default=262_144, help="bytes of each (262144)")
    parser.add_argument("--delay-milliseconds", type=int, default=50,
                        help="from a request to the answer's first byte (50)")
    parser.add_argument("--connections", type=int, default=32, help="at most (32)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (3)")
    parser.add_argument("--json", metavar="FILE", help="also write every run to FILE")
    parser.add_argument("--min-ratio", type=float,
                        help="fail when dray's share of the bound is less")
    for name in ("work", "origin", "dray"):
        parser.add_argument("--" + name, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def first_byte_seconds(options):
    """From a request to its answer's first byte, with as many requests at a time as are measured.

    Of each object only one byte is fetched, so that nothing but the wait counts.
    """
    rounds = 64
    seconds = h2load(options, rounds * options.connections, ["-H", "Range: bytes=0-0"])
    return seconds / rounds


def run_dray(options):
    work = pathlib.Path(options.work)
    output = subprocess.run(
        [options.dray, "benchmark", "transfer", str(work / "list"), "--to",
         str(work / "destination"), "--connections", str(options.connections), "--json"],
        check=True, stdout=subprocess.PIPE, text=True).stdout
    report = json.loads(output)
    if report["failed"] or report["bytes"] != options.files * options.size:
        raise SystemExit(f"dray: {output}")
    return report["seconds"], report["cpuSeconds"]


def h2load(options, requests, further=()):
    output = subprocess.run(
        ["h2load", "--h1", "-n", str(requests), "-c", str(options.connections), "-t", "1",
         "-i", str(pathlib.Path(options.work) / "list"), *further],
        check=True, stdout=subprocess.PIPE, text=True).stdout
    if f"{requests} succeeded" not in output:
        raise SystemExit(f"h2load: {output}")
    value, unit = re.search(r"finished in ([0-9.]+)(us|ms|s)", output).groups()
    return float(value) * {"us": 1e-6, "ms": 1e-3, "s": 1}[unit]


def run_h2load(options):
    before = compare.cpu_seconds()
    return h2load(options, options.files), compare.cpu_seconds() - before


def main():
    options = arguments()
    work = pathlib.Path(options.work)
    compare_tools.make_files(work / "origin", options.files, options.size)
    urls = [f"{options.origin}/{compare_tools.path_of(index)}" for index in range(options.files)]
    (work / "list").write_text("".join(url + "\n" for url in urls))
    latency = first_byte_seconds(options)
    bound = options.connections / latency
    print(f"{options.files} files of {options.size} bytes, {latency * 1_000:.2f} ms to the first "
          f"byte, {options.connections} connections: {bound:.0f} files/s at most")
    runs = []
    tools = [("dray", run_dray), ("h2load", run_h2load)]
    for number in range(options.rounds):
        for name, tool in tools if number % 2 == 0 else reversed(tools):
            seconds, cpu = tool(options)
            runs.append({"tool": name, "seconds": round(seconds, 3), "cpuSeconds": round(cpu, 3),
                         "ratio": round(options.files / seconds / bound, 3)})
    print(f"{'tool':<7} {'seconds':>24} {'files/s':>8} {'of the bound':>13} {'CPU s':>6}")
    medians = {}
    for name, _ in tools:
        mine = [run for run in runs if run["tool"] == name]
        medians[name] = statistics.median(run["ratio"] for run in mine)
        seconds = statistics.median(run["seconds"] for run in mine)
        times = " ".join(f"{run['seconds']:.2f}" for run in mine)
        print(f"{name:<7} {times:>24} "
              f"{options.files / seconds:>8.0f} {medians[name]:>13.3f} "
              f"{statistics.median(run['cpuSeconds'] for run in mine):>6.2f}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"latencySeconds": latency, "boundPerSecond": bound, "medians": medians, "runs": runs}, file, indent=2)
            file.write("\n")
    if options.min_ratio and medians["dray"] < options.min_ratio:
        print(f"dray reaches {medians['dray']} of the bound, under {options.min_ratio}",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
