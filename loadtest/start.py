"""Seconds from the start of `dray prefetch` to its first request at an origin.

Started by loadtest/start. Standard library only.
"""

import argparse
import datetime
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import threading
import time


def arguments():
    parser = argparse.ArgumentParser(prog="loadtest/start", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=7, help="runs, after one that is not counted (7)")
    parser.add_argument("--max-seconds", type=float, help="fail when the median is more")
    parser.add_argument("--json", metavar="FILE", help="also write every run to FILE")
    for name in ("work", "state", "dray"):
        parser.add_argument("--" + name, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


class Origin(threading.Thread):
    """Answers every request with one byte, and notes when the first one came."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.first = None

    def run(self):
        while True:
            connection, _ = self.listener.accept()
            head = b""
            while b"\r\n\r\n" not in head:
                piece = connection.recv(65_536)
                if not piece:
                    break
                head += piece
            if head and self.first is None:
                self.first = time.time()
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n"
                               b"Connection: close\r\n\r\nx")
            connection.close()


def run(options, origin, number):
    work = pathlib.Path(options.work)
    port = origin.listener.getsockname()[1]
    (work / "list").write_text(f"http://127.0.0.1:{port}/{number}.bin\n")
    origin.first = None
    started = time.time()
    # A file and no pipe: PostgreSQL's processes have it open until they end.
    with open(work / "log", "wb") as log:
        status = subprocess.run(
            [options.dray, "prefetch", str(work / "list"), "--to", str(work / "destination"),
             "--state", options.state, "--name", f"run-{number}", "--quiet"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env=os.environ | {"DRAY_LOG": "debug", "DRAY_LOG_FORMAT": "json"}).returncode
    ended = time.time()
    if status != 0 or origin.first is None:
        raise SystemExit((work / "log").read_text())
    return {
        "firstRequestSeconds": round(origin.first - started, 3),
        "wholeSeconds": round(ended - started, 3),
        "steps": steps(work / "log", started),
    }


def steps(log, started):
    """What dray's log says of its start: seconds and what was reached."""
    found = []
    for line in log.read_text(errors="replace").splitlines():
        try:
            entry = json.loads(line)
            when = datetime.datetime.fromisoformat(entry["time"].replace("Z", "+00:00"))
        except (ValueError, KeyError, TypeError):
            continue
        name = entry.get("service", "")
        found.append([round(when.timestamp() - started, 3),
                      " ".join(filter(None, (entry["component"], entry["message"], name)))])
    return found


def main():
    options = arguments()
    origin = Origin()
    origin.start()
    # Makes the database, as the first run of all does.
    first = run(options, origin, 0)
    print(f"first run, which makes the database: {first['firstRequestSeconds']:.2f} s to the first "
          f"request, {first['wholeSeconds']:.2f} s in all")
    runs = [run(options, origin, number + 1) for number in range(options.rounds)]
    for name, step in runs[-1]["steps"]:
        print(f"  {name:>6.3f} s  {step}")
    seconds = [run["firstRequestSeconds"] for run in runs]
    median = statistics.median(seconds)
    print(f"first request after {median:.3f} s ({min(seconds):.3f} to {max(seconds):.3f}), the whole "
          f"command {statistics.median(run['wholeSeconds'] for run in runs):.3f} s: medians of "
          f"{len(runs)}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"firstRun": first, "runs": runs}, file, indent=2)
            file.write("\n")
    if options.max_seconds and median > options.max_seconds:
        print(f"the first request comes after {median} s, over {options.max_seconds}",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
