"""Pools that a plan predicts: calibrated with three runs, compared with many. Used by truth.py."""

import json
import os
import pathlib
import random
import secrets
import shutil
import signal
import socket
import statistics
import subprocess
import time

SIZES = [500_000, 2_000_000, 8_000_000]
#: Options of `dray origins set`, and what they let through a second: requests, bytes.
LIMITS = {"none": ([], None, None), "rate": (["--requests", "12"], 12, None),
          "bandwidth": (["--bandwidth", "24MB/s"], None, 24_000_000)}
#: Workers, connections, bytes of a segment and limit of the three runs, which take twice as long as others.
CALIBRATION = [(1, 2, 8_000_000, "none"), (2, 4, 2_000_000, "none"), (4, 8, 500_000, "none")]
SHORT = {(1, 8, 8_000_000, "none"), (4, 2, 2_000_000, "none"), (2, 8, 500_000, "none"),
         (4, 4, 2_000_000, "rate"), (2, 4, 8_000_000, "bandwidth")}
#: The origin's, by its configuration.
LATENCY, CONNECTION_BYTES = 0.05, 4_000_000


def compare(options):
    """Rows of every cell, printed as they come."""
    work = pathlib.Path(options.work)
    for size in SIZES:
        (work / "origin" / str(size)).write_bytes(random.Random(1).randbytes(size))
    reports = calibrate(options, work)
    cells = [(workers, connections, size, limit) for workers in options.workers
             for connections in options.connections for size in SIZES for limit in options.limits]
    if options.short:
        cells = [cell for cell in cells if cell in SHORT]
    print(f"\n{'workers':>7} {'connections':>11} {'MB':>4} {'limit':<9} {'files':>5} {'predicted':>10} {'measured':>10}"
          f" {'by the log':>10} {'error':>7}")
    rows = []
    for pool in dict.fromkeys(cell[:2] for cell in cells):
        with Cluster(options, *pool) as cluster:
            for cell in (cell for cell in cells if cell[:2] == pool):
                rows.append(check(options, cluster, cell, reports))
    for kind in LIMITS:
        errors = [abs(row["error"]) for row in rows if row["limit"] == kind]
        if errors:
            print(f"limit {kind}: median error {statistics.median(errors):.1%}, worst {max(errors):.1%}")
    return rows


def calibrate(options, work):
    """The files of three reports."""
    kept = pathlib.Path(options.runs) if options.runs else None
    if kept and kept.exists():
        found = json.loads(kept.read_text())
    else:
        found = []
        for cell in CALIBRATION:
            with Cluster(options, *cell[:2]) as cluster:
                report = cluster.run(cell, 2 * options.seconds)
                found.append({"totals": report["totals"]})
                seconds, segments = report["totals"]["seconds"], report["totals"]["segments"]
                print(f"calibrated with {text(cell)}: {segments} files in {seconds:.2f} s")
        if kept:
            kept.write_text(json.dumps(found, indent=2) + "\n")
    paths = [work / f"calibration-{number}.json" for number in range(len(found))]
    for path, report in zip(paths, found):
        path.write_text(json.dumps(report))
    plan = plan_of(options, paths)
    for note in plan["notes"]:
        if note.startswith(("Fitted", "Not determined", "Report")):
            print(note)
    for row in plan["inputs"]:
        if "--calibrate" in row["source"] and row.get("value"):
            low, likely, high = (row["value"][name] for name in ("low", "likely", "high"))
            print(f"{row['path']}: {likely:.4g} ({low:.4g} to {high:.4g})")
    return paths


def plan_of(options, reports, *further):
    command = [options.dray, "plan", "--draws", "0", "--months", "0", "--json", *further]
    for path in reports:
        command += ["--calibrate", str(path)]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode:
        raise SystemExit(f"dray plan: {result.stderr}")
    return json.loads(result.stdout)


def check(options, cluster, cell, reports):
    """One cell: what the plan says of the run, held against the run's report, and that against the access log."""
    report = cluster.run(cell)
    path = cluster.work / "report.json"
    rows = plan_of(options, reports, "--check", str(path), "--check-workers", str(cell[0]))["check"]["rows"]
    row = next(row for row in rows if row["figure"] == "segments per second")
    workers, connections, size, limit = cell
    print(f"{workers:>7} {connections:>11} {size / 1e6:>4} {limit:<9} {report['totals']['segments']:>5}"
          f" {row['predicted']:>8.2f}/s {row['measured']:>8.2f}/s {report['log']:>8.2f}/s {row['error']:>7.1%}",
          flush=True)
    return {"workers": workers, "connections": connections, "bytes": size, "limit": limit,
            "segments": report["totals"]["segments"], "logPerSecond": report["log"], **row,
            "reportSeconds": report["totals"]["seconds"], **report["timeline"]}


def text(cell):
    workers, connections, size, limit = cell
    return f"{workers} x {connections} connections, {size / 1e6} MB, limit {limit}"


def files_of(cell, seconds):
    """So many that the run takes about as long as was asked for, by the origin's own figures."""
    workers, connections, size, limit = cell
    _, requests, count = LIMITS[limit]
    slots = workers * connections
    rates = [slots / (LATENCY + size / CONNECTION_BYTES), requests or 1e9, (count or 1e12) / size]
    return max(2 * slots, round(min(rates) * seconds))


def timeline(answers):
    """How the run went, by the access log, in seconds since its first request: the files of each of the origin's
    connections, most first, and how long it waited for requests. A round too many is a connection with more files."""
    first, last = min(begin for begin, _, _ in answers), max(end for _, end, _ in answers)
    by_connection = {}
    for begin, end, connection in sorted(answers):
        by_connection.setdefault(connection, []).append((begin, end))
    rows = []
    for times in by_connection.values():
        waits = [max(begin - end, 0) for (_, end), (begin, _) in zip(times, times[1:])]
        rows.append({"files": len(times), "firstStart": round_seconds(times[0][0] - first),
                     "lastEnd": round_seconds(times[-1][1] - first), "waitSeconds": round_seconds(sum(waits)),
                     "longestWait": round_seconds(max(waits, default=0)),
                     "idleAtEnd": round_seconds(last - times[-1][1])})
    rows.sort(key=lambda row: (-row["files"], row["firstStart"]))
    return {"logSeconds": round_seconds(last - first), "byConnection": rows}


def explanation(row):
    """What a cell that is far off has to say for itself."""
    cell = row["workers"], row["connections"], row["bytes"], row["limit"]
    files = [connection["files"] for connection in row["byConnection"]]
    idle, wait = (max(connection[field] for connection in row["byConnection"])
                  for field in ("idleAtEnd", "longestWait"))
    of_workers = ", ".join(str(worker["files"]) for worker in row["byWorker"])
    after = row["reportSeconds"] - row["logSeconds"]
    return (f"{text(cell)}: {row['error']:+.1%}; {len(files)} connections with {min(files)} to {max(files)} files, idle"
            f" at the end for up to {idle:.2f} s, between files for up to {wait:.2f} s; workers with {of_workers} "
            f"files; the first request after {row['startSeconds']:.2f} s, the report {after:.2f} s longer than the log")



def round_seconds(seconds):
    return round(seconds, 3)


class Cluster:
    """`dray up` with so many workers, on a database of its own."""

    def __init__(self, options, workers, connections):
        self.options, self.work = options, pathlib.Path(options.work)
        self.pool = (workers, connections)
        self.state = pathlib.Path(options.state) / secrets.token_hex(4)
        self.limit = None

    def __enter__(self):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % listener.getsockname()[1]
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("DRAY_")}
        self.environment.update(
            DRAY_COORDINATOR=f"http://{address}", DRAY_TOKEN=secrets.token_hex(32), LANG="C.UTF-8")
        workers, connections = self.pool
        self.state.mkdir(mode=0o755)
        log = self.work / "up.log"
        with open(log, "w") as file:
            self.process = subprocess.Popen(
                [self.options.dray, "up", "--state", str(self.state), "--workers", str(workers),
                 "--connections", str(connections), "--listen", address],
                stdout=subprocess.DEVNULL, stderr=file, env=self.environment)
        end = time.monotonic() + 90
        while "listening" not in log.read_text():
            if self.process.poll() is not None or time.monotonic() > end:
                self.__exit__()
                raise SystemExit(f"dray up: {log.read_text()}")
            time.sleep(0.05)
        # The origin gets its limits when it is known, and workers are idle once the first file is there.
        self.fetch([f"{self.options.origin}/500000/{secrets.token_hex(8)}"])
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        shutil.rmtree(self.state, ignore_errors=True)

    def dray(self, *words):
        result = subprocess.run([self.options.dray, *words], env=self.environment, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)
        if result.returncode:
            raise SystemExit(f"dray {' '.join(words)}: {result.stdout}")

    def fetch(self, urls, name=None):
        name = name or secrets.token_hex(8)
        (self.work / "list").write_text("".join(url + "\n" for url in urls))
        edge, report = self.work / f"edge-{name}", self.work / "report.json"
        self.dray("prefetch", str(self.work / "list"), "--to", str(edge), "--name", name, "--quiet",
                  "--report", str(report))
        shutil.rmtree(edge, ignore_errors=True)
        return json.loads(report.read_text())

    def run(self, cell, seconds=None):
        """The report of a run, with the files a second that the access log shows."""
        size, limit = cell[2:]
        if limit != self.limit:
            words = LIMITS[limit][0]
            self.dray(*(["origins", "set", self.options.origin, *words] if words
                        else ["origins", "clear", self.options.origin]))
            self.limit = limit
        log = self.work / "access.log"
        begin = log.stat().st_size
        name, count = secrets.token_hex(8), files_of(cell, seconds or self.options.seconds)
        started = time.time()
        report = self.fetch([f"{self.options.origin}/{size}/{name}-{index}" for index in range(count)], name)
        totals = report["totals"]
        with open(log) as file:
            file.seek(begin)
            lines = [line.split() for line in file]
        answers = [(float(end) - float(seconds), float(end), connection)
                   for end, seconds, status, sent, _, connection in lines
                   if (status, int(sent)) == ("200", size)]
        first = min(begin for begin, _, _ in answers)
        span = max(end for _, end, _ in answers) - first
        # The judge of the report: as many answers as files, all within its time.
        if len(answers) != count or totals["segments"] != count or totals["failed"]:
            raise SystemExit(f"{text(cell)}: {len(answers)} answers, {totals}")
        # Sockets hold megabytes of each connection: below a limit of bytes the log ends before all is received.
        bandwidth = LIMITS[limit][2]
        longest = max(span, count * size / bandwidth if bandwidth else 0) + 2
        if not span <= totals["seconds"] <= longest:
            raise SystemExit(f"{text(cell)}: {totals['seconds']} s by the report, {span:.3f} s by the access log")
        went = {"startSeconds": round_seconds(first - started), **timeline(answers),
                "byWorker": self.workers_of(name, count, first)}
        return {**report, "log": count / span, "timeline": went}

    def workers_of(self, name, count, first):
        """What each worker did for a catalog of so many files, by its heartbeats, in seconds since the first request.
        The last one is sent within a fifth of a second after its last file."""
        end, rows = time.monotonic() + 5, self.run_work(name)
        while sum(row["files"] for row in rows) < count and time.monotonic() < end:
            time.sleep(0.1)
            rows = self.run_work(name)
        for row in rows:
            row.update({field: round_seconds(row[field] - first) for field in ("firstJob", "lastReport")})
            row["usedSeconds"] = round_seconds(row["usedSeconds"])
        return rows

    def run_work(self, name):
        server = next(self.state.rglob("postmaster.pid")).read_text().split("\n")
        query = f"""SELECT json_agg(json_build_object('files', w.fetches, 'firstJob', extract(epoch FROM w.began_at),
                        'lastReport', extract(epoch FROM w.reported_at), 'usedSeconds', w.connection_seconds)
                        ORDER BY w.began_at)
                    FROM dray.run_work w JOIN dray.catalog c ON c.run_id = w.run_id WHERE c.name = '{name}'"""
        result = subprocess.run(
            ["psql", "-XAtqc", query, "-U", "dray", "-d", "postgres", "-h", server[4].strip(), "-p", server[3].strip()],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if result.returncode:
            raise SystemExit(f"psql: {result.stderr}")
        return json.loads(result.stdout.strip() or "[]")
