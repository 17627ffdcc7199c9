"""Memory of dray over a list of many lines, which comes through a pipe.

Started by loadtest/list-memory. Standard library only.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

MIB = 1 << 20
BATCH = 10_000
DIGEST = "0123456789abcdef" * 4

FORMATS = {
    "urls": ("", "http://127.0.0.1:9/files/{group}/{number}.bin\n"),
    "csv": ("url,bytes,sha256\n", "http://127.0.0.1:9/files/{group}/{number}.bin,1024,%s\n" % DIGEST),
    "ndjson": ("", '{{"url": "http://127.0.0.1:9/files/{group}/{number}.bin", "bytes": 1024}}\n'),
    "json": ('{"assets": [\n', '"http://127.0.0.1:9/files/{group}/{number}.bin",\n'),
    "gsts": ("TsvHttpData-1.0\n", "http://127.0.0.1:9/files/{group}/{number}.bin\t0\n"),
    "aria2": ("", "http://127.0.0.1:9/files/{group}/{number}.bin\thttp://127.0.0.1:8/{number}\n"
              "  checksum=sha-256=%s\n" % DIGEST),
    "metalink": ('<metalink xmlns="urn:ietf:params:xml:ns:metalink">\n',
                 '<file name="{number}"><url>http://127.0.0.1:9/files/{group}/{number}.bin</url></file>\n'),
    "sitemap": ("<urlset>\n",
                "<url><loc>http://127.0.0.1:9/files/{group}/{number}.bin</loc></url>\n"),
}
ENDS = {"json": '"http://127.0.0.1:9/last"]}\n', "metalink": "</metalink>\n", "sitemap": "</urlset>\n"}


def arguments():
    parser = argparse.ArgumentParser(prog="loadtest/list-memory")
    parser.add_argument("--lines", type=int, default=10_000_000, help="entries (10000000)")
    parser.add_argument("--formats", default="urls", metavar="LIST",
                        help="forms, commas between them: %s (urls)" % ", ".join(FORMATS))
    parser.add_argument("--submit", action="store_true",
                        help="submit the list to a private cluster too, without starting its work")
    parser.add_argument("--max-rss", type=float, default=96,
                        help="fail when checking took more MiB (96)")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    for name in ("work", "dray"):
        parser.add_argument("--" + name, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def feed(pipe, form, lines):
    """Writes the list; what the reader does not take ends the writing."""
    head, line = FORMATS[form]
    # The last one stands in the end.
    if form == "json":
        lines -= 1
    try:
        pipe.write(head.encode())
        for start in range(0, lines, BATCH):
            numbers = range(start, min(start + BATCH, lines))
            pipe.write("".join(
                line.format(number=number, group=number // 1_000) for number in numbers).encode())
        pipe.write(ENDS.get(form, "").encode())
        pipe.close()
    except BrokenPipeError:
        pass


def started(command, options, form, **more):
    process = subprocess.Popen(command, stdin=subprocess.PIPE, **more)
    writer = threading.Thread(target=feed, args=(process.stdin, form, options.lines), daemon=True)
    writer.start()
    return process


def check(options, form):
    """`dray catalog check` of the list: seconds, and MiB of its peak."""
    begin = time.monotonic()
    process = started([options.dray, "catalog", "check", "-", "--json"], options, form,
                      stdout=subprocess.PIPE)
    answer = json.load(process.stdout)
    _, status, usage = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, answer
    assert answer["format"] == form, answer["format"]
    assert answer["assets"] == options.lines, answer["assets"]
    return time.monotonic() - begin, usage.ru_maxrss * 1_024 / MIB


def submit(options, form):
    """`dray prefetch` of the list up to its submission: seconds, and MiB of its peak."""
    work = pathlib.Path(options.work)
    begin = time.monotonic()
    process = started(
        [options.dray, "prefetch", "-", "--to", str(work / "edge"), "--state", str(work / form),
         "--not-before", "1d"], options, form, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    told = b""
    for line in process.stderr:
        told += line
        if b"it does not start before" in line:
            break
    else:
        sys.exit(told.decode(errors="replace"))
    seconds = time.monotonic() - begin
    status = pathlib.Path("/proc/%d/status" % process.pid).read_text()
    peak = int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) * 1_024 / MIB
    process.send_signal(signal.SIGTERM)
    process.stderr.read()
    process.wait()
    return seconds, peak


def main():
    options = arguments()
    rows = []
    for form in options.formats.split(","):
        if form not in FORMATS:
            sys.exit("no such form: " + form)
        for name, run in [("check", check)] + ([("submit", submit)] if options.submit else []):
            seconds, peak = run(options, form)
            rows.append({"format": form, "step": name, "lines": options.lines,
                         "seconds": round(seconds, 1), "peakMiB": round(peak, 1)})
            print("%-9s %-7s %11d lines %8.1f s %8.1f MiB" %
                  (form, name, options.lines, seconds, peak), flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=2) + "\n")
    if any(row["step"] == "check" and row["peakMiB"] > options.max_rss for row in rows):
        sys.exit("more than %g MiB" % options.max_rss)


main()
