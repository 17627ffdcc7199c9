"""Memory, descriptors and threads of dray's transfer engine over long or many transfers.

Started by loadtest/soak and loadtest/leak, which serve WORK/origin. Standard library only.
"""

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys

MIB = 1 << 20


def arguments():
    mode = sys.argv[1]
    parser = argparse.ArgumentParser(prog=f"loadtest/{mode}")
    if mode == "soak":
        parser.description = "Keeps many slow transfers open and watches memory."
        parser.add_argument("--seconds", type=int, default=3_600, help="how long (3600)")
        parser.add_argument("--connections", type=int, default=512,
                            help="transfers open at a time, 512 at most (512)")
        parser.add_argument("--max-rss", type=float, default=64,
                            help="fail when more MiB were resident (64)")
    else:
        parser.description = "Runs many small transfers and looks for what is left of them."
        parser.add_argument("--transfers", type=int,
                            help="how many (100000; with --sanitize 20000)")
        parser.add_argument("--sanitize", action="store_true",
                            help="with a build of its own, under the leak sanitizer")
        for name in ("preload", "suppressions"):
            parser.add_argument("--" + name, help=argparse.SUPPRESS)
        parser.add_argument("--connections", type=int, default=32, help="at a time (32)")
    growth = 2 if mode == "soak" else 0.5
    parser.add_argument("--max-growth", type=float, default=growth,
                        help=f"fail when more MiB have been added ({growth})")
    parser.add_argument("--json", metavar="FILE", help="also write the samples and figures to FILE")
    for name in ("work", "dray"):
        parser.add_argument("--" + name, required=True, help=argparse.SUPPRESS)
    for name in ("port", "origin-pid"):
        parser.add_argument("--" + name, type=int, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args(sys.argv[2:])
    options.mode = mode
    if mode == "leak" and options.transfers is None:
        options.transfers = 20_000 if options.sanitize else 100_000
    return options


def run(options, urls, extra):
    """Runs the benchmark; its report, its samples, and CPU seconds of the origin meanwhile."""
    work = pathlib.Path(options.work)
    (work / "list").write_text("".join(url + "\n" for url in urls))
    samples = work / "samples"
    command = [options.dray, "benchmark", "transfer", str(work / "list"),
               "--to", str(work / "destination"), "--connections", str(options.connections),
               "--samples", str(samples), "--json", *extra]
    origin = origin_cpu(options.origin_pid)
    environment = dict(os.environ)
    if getattr(options, "preload", None):
        environment |= {"LD_PRELOAD": options.preload, "ASAN_OPTIONS": "detect_leaks=1",
                        "LSAN_OPTIONS": f"suppressions={options.suppressions}"}
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                             env=environment)
    try:
        output, _ = child.communicate()
    except BaseException:
        child.send_signal(signal.SIGINT)
        child.wait()
        raise
    if child.returncode != 0:
        sys.stderr.write(output)
        raise SystemExit(f"dray's exit status is {child.returncode}")
    lines = samples.read_text().splitlines()
    return json.loads(output), [json.loads(line) for line in lines], \
        origin_cpu(options.origin_pid) - origin


def origin_cpu(master):
    """CPU seconds of nginx's processes so far."""
    ticks = 0
    for directory in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            fields = (directory / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if master in (int(directory.name), int(fields[1])):
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def slope(samples):
    """MiB an hour, by least squares."""
    if len(samples) < 3:
        return 0.0
    times = [sample["seconds"] for sample in samples]
    values = [sample["residentBytes"] for sample in samples]
    return statistics.linear_regression(times, values).slope * 3_600 / MIB


def mean_resident(samples):
    return statistics.fmean(sample["residentBytes"] for sample in samples) / MIB


def soak(options):
    urls = [f"http://127.0.0.{1 + index % 64}:{options.port}/{index:04d}.bin"
            for index in range(1_024)]
    interval = 10 if options.seconds >= 100 else 1
    report, samples, origin = run(
        options, urls, ["--seconds", str(options.seconds),
                        "--sample-milliseconds", str(interval * 1_000)])
    settling = min(300, options.seconds / 4)
    settled = [sample for sample in samples if sample["seconds"] > settling - interval / 2]
    window = min(300, options.seconds / 4)
    first = [sample for sample in settled if sample["seconds"] <= settling + window / 5]
    last = [sample for sample in samples if sample["seconds"] > options.seconds - window / 5]
    open_now = [sample["open"] for sample in settled]
    figures = {
        "seconds": report["seconds"], "transfers": report["objects"], "failed": report["failed"],
        "bytes": report["bytes"], "leastOpen": min(open_now), "mostOpen": max(open_now),
        "peakResidentMiB": round(report["peakResidentBytes"] / MIB, 1),
        "settledResidentMiB": round(mean_resident(first), 2),
        "lastResidentMiB": round(mean_resident(last), 2),
        "slopeMiBPerHour": round(slope(settled), 3),
        "descriptors": [min(s["descriptors"] for s in settled),
                        max(s["descriptors"] for s in settled)],
        "threads": [min(s["threads"] for s in settled), max(s["threads"] for s in settled)],
        "cpuSeconds": report["cpuSeconds"], "originCPUSeconds": round(origin, 2),
    }
    print(f"{'seconds':>8} {'ended':>8} {'open':>5} {'resident MiB':>13} {'descriptors':>12} "
          f"{'threads':>8}")
    for sample in samples[::max(1, len(samples) // 12)]:
        print(f"{sample['seconds']:>8.0f} {sample['ended']:>8} {sample['open']:>5} "
              f"{sample['residentBytes'] / MIB:>13.2f} {sample['descriptors']:>12} "
              f"{sample['threads']:>8}")
    print(f"{figures['leastOpen']} to {figures['mostOpen']} transfers open, {report['objects']} "
          f"ended, {report['failed']} failed")
    print(f"resident: {figures['peakResidentMiB']} MiB at most, "
          f"{figures['settledResidentMiB']} MiB after {settling:.0f} s, "
          f"{figures['lastResidentMiB']} MiB at the end; slope {figures['slopeMiBPerHour']} MiB/h")
    print(f"CPU: dray {100 * report['cpuSeconds'] / report['seconds']:.1f} % of a core, "
          f"nginx {100 * origin / report['seconds']:.1f} %")
    growth = figures["lastResidentMiB"] - figures["settledResidentMiB"]
    problems = []
    if figures["peakResidentMiB"] > options.max_rss:
        problems.append(f"{figures['peakResidentMiB']} MiB resident, over {options.max_rss}")
    if growth > options.max_growth:
        problems.append(f"{growth:.2f} MiB added, over {options.max_growth}")
    if figures["leastOpen"] < 0.95 * options.connections:
        problems.append(f"only {figures['leastOpen']} transfers open at times")
    return figures, samples, problems


def leak(options):
    """Compares the memory after a tenth of the transfers and after all, each when idle."""
    tenth = max(options.transfers // 10, 100)
    urls = [f"http://127.0.0.1:{options.port}/{index:06d}.bin" for index in range(tenth)]
    report, samples, _ = run(options, urls, ["--times", "10"])
    quiet = [sample for sample in samples if sample["isIdle"]]
    first, last = quiet[0], quiet[-1]
    figures = {"transfers": report["objects"], "failed": report["failed"]}
    print(f"{'transfers':>10} {'allocated MiB':>14} {'resident MiB':>13} {'descriptors':>12} "
          f"{'threads':>8}")
    for sample in quiet:
        print(f"{sample['ended']:>10} {sample['allocatedBytes'] / MIB:>14.2f} "
              f"{sample['residentBytes'] / MIB:>13.2f} {sample['descriptors']:>12} "
              f"{sample['threads']:>8}")
    problems = []
    if options.sanitize:
        print("no leaks found when it ended")
        return figures, samples, problems
    # Connections that are kept, and a thread that the system's pool may add or end.
    for name, unit, allowed in (("allocatedBytes", MIB, options.max_growth),
                                ("residentBytes", MIB, 8 * options.max_growth),
                                ("descriptors", 1, options.connections), ("threads", 1, 2)):
        before, after = first[name] / unit, last[name] / unit
        figures[name] = [first[name], last[name]]
        if after > before + allowed:
            problems.append(f"{name}: {first[name]} became {last[name]}")
    return figures, samples, problems


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    work = soak if options.mode == "soak" else leak
    figures, samples, problems = work(options)
    if figures["failed"]:
        problems.append(f"{figures['failed']} transfers failed")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"figures": figures, "samples": samples}, file, indent=2)
            file.write("\n")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
