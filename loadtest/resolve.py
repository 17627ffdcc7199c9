"""A catalog of HLS titles: from its submission until every segment is in the queue.

Started by loadtest/resolve, which serves WORK/origin over HTTP. Standard library only.
"""

import argparse
import json
import os
import pathlib
import re
import secrets
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

TICKS = os.sysconf("SC_CLK_TCK")
TOKEN = secrets.token_hex(32)
WAIT_SECONDS = 600


def arguments():
    parser = argparse.ArgumentParser(prog="loadtest/resolve", description=__doc__.split("\n")[0])
    parser.add_argument("--titles", type=int, default=1_000, help="HLS titles (1000)")
    parser.add_argument("--segments", type=int, default=3_000, help="segments of each (3000)")
    parser.add_argument("--max-seconds", type=float, help="fail when it took longer")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    for name in ("work", "state", "origin", "port", "dray"):
        parser.add_argument("--" + name, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.titles < 1 or not 1 <= options.segments <= 500_000:
        parser.error("--titles takes 1 or more, --segments 1 to 500000")
    return options


def make_titles(options):
    """The playlists, and the list that names them."""
    work = pathlib.Path(options.work)
    with open(work / "list", "w") as names:
        for title in range(options.titles):
            folder = work / "origin" / f"title-{title:05d}"
            folder.mkdir()
            with open(folder / "index.m3u8", "w") as file:
                file.write("#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:4\n"
                           "#EXT-X-PLAYLIST-TYPE:VOD\n")
                file.writelines(f"#EXTINF:4.000,\nmedia/1080p-{number:06d}.ts\n"
                                for number in range(options.segments))
                file.write("#EXT-X-ENDLIST\n")
            names.write(f"{options.origin}/{folder.name}/index.m3u8\n")
    return work / "list"


class Cluster:
    """`dray up` with a state directory of its own."""

    def __init__(self, options):
        self.url = f"http://127.0.0.1:{options.port}"
        self.log = pathlib.Path(options.work) / "log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [options.dray, "up", "--state", options.state, "--listen",
                 self.url.removeprefix("http://")],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=os.environ | {"DRAY_LOG": "warning", "DRAY_TOKEN": TOKEN})
        self.await_until("the cluster serves", lambda: self.get("/readyz") is not None)

    def get(self, path):
        """What the API answers; None while it does not."""
        try:
            request = urllib.request.Request(self.url + path, headers={"Authorization": "Bearer " + TOKEN})
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.read()
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return None

    def await_until(self, what, is_so):
        limit = time.monotonic() + WAIT_SECONDS
        while not is_so():
            if self.process.poll() is not None or time.monotonic() > limit:
                raise SystemExit(f"waited in vain until {what}\n{self.log.read_text()[-4000:]}")
            time.sleep(0.1)

    def queued(self):
        """Segments of the one catalog that are in the queue, and titles that failed."""
        answer = self.get("/v1/status")
        catalogs = json.loads(answer)["catalogs"] if answer else []
        if not catalogs:
            return 0, 0
        totals = catalogs[0]["totals"]
        return totals["segments"], totals["failed"]

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def cpu_seconds(pid):
    """Of a process and of what it started, by name."""
    seconds = {}
    parents, times, names = {}, {}, {}
    for directory in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            name, rest = (directory / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
        except (OSError, IndexError):
            continue  # it ended while it was read
        fields = rest.split()
        number = int(directory.name)
        parents[number], names[number] = int(fields[1]), name
        # With the time of children that ended.
        times[number] = sum(int(field) for field in fields[11:15]) / TICKS
    for number, name in names.items():
        above = number
        while above > 1 and above != pid:
            above = parents.get(above, 0)
        if above == pid:
            seconds[name] = seconds.get(name, 0) + times[number]
    return {name: round(value, 2) for name, value in seconds.items()}


def peak_mib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return round(int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 1024, 1)


def run(options, titles, cluster):
    # Each playlist is an object of its title too.
    wanted = options.titles * (options.segments + 1)
    started = time.monotonic()
    submitter = subprocess.Popen(
        [options.dray, "prefetch", titles, "--to", str(pathlib.Path(options.work) / "edge"),
         "--name", "titles", "--quiet"],
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
        env=os.environ | {"DRAY_COORDINATOR": cluster.url, "DRAY_TOKEN": TOKEN})
    try:
        segments, failed = 0, 0

        def is_queued():
            nonlocal segments, failed
            segments, failed = cluster.queued()
            return segments >= wanted or failed > 0 or submitter.poll() not in (None, 0)

        cluster.await_until("every segment is in the queue", is_queued)
        seconds = time.monotonic() - started
        if segments < wanted or failed > 0:
            raise SystemExit(f"{segments} of {wanted} segments are in the queue, {failed} titles "
                             f"failed\n{cluster.log.read_text()[-4000:]}")
        return {"titles": options.titles, "segments": segments, "seconds": round(seconds, 2),
                "segmentsPerSecond": round(segments / seconds), "cores": os.cpu_count(),
                "cpuSeconds": cpu_seconds(cluster.process.pid),
                "peakMiB": peak_mib(cluster.process.pid)}
    finally:
        submitter.send_signal(signal.SIGTERM)
        submitter.communicate()


def main():
    options = arguments()
    print("preparing playlists ...", file=sys.stderr)
    titles = make_titles(options)
    cluster = Cluster(options)
    try:
        found = run(options, titles, cluster)
    finally:
        cluster.stop()
    cpu = ", ".join(f"{name} {value:.1f} s" for name, value in found["cpuSeconds"].items())
    print(f"{found['titles']} titles, {found['segments']} segments in the queue after "
          f"{found['seconds']:.1f} s, {found['segmentsPerSecond']} a second; CPU: {cpu}; "
          f"dray has {found['peakMiB']} MiB resident at most; {found['cores']} cores")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found, indent=2) + "\n")
    if options.max_seconds and found["seconds"] > options.max_seconds:
        print(f"it took {found['seconds']} s, over {options.max_seconds}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
