"""How long pages of a catalog of many assets take: walked from end to end, and looked for by each filter.

Started by loadtest/browse. Standard library only.
"""

import argparse
import json
import os
import pathlib
import secrets
import signal
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

WAIT_SECONDS = 600
TOKEN = secrets.token_hex(32)
#: Assets of a page; the walk takes pages of the most there may be.
PAGE, WALK = 100, 1_000

#: What is looked for. One asset of a thousand is a trailer.
QUERIES = {
    "by name": {},
    "by state": {"state": "new,ready"},
    "by kind": {"kind": "file"},
    "by a pattern": {"name": "*/season7/*"},
    "by text, 1 of 1000": {"search": "TRAILER"},
    "by text that nothing has": {"search": "nowhere"},
    "by size": {"minimumBytes": "999000000"},
    "sorted by size": {"sort": "bytes", "descending": "true"},
    "sorted by time": {"sort": "changed"},
    "by text, sorted by size": {"search": "trailer", "sort": "bytes"},
}


def arguments():
    parser = argparse.ArgumentParser(prog="loadtest/browse", description=__doc__.split("\n")[0])
    parser.add_argument("--assets", type=int, default=1_000_000, help="assets (1000000)")
    parser.add_argument("--rounds", type=int, default=5, help="pages of each filter (5)")
    parser.add_argument("--max-seconds", type=float, help="fail when a page took longer")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    for name in ("work", "port", "dray"):
        parser.add_argument("--" + name, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not 1_000 <= options.assets <= 10_000_000 or options.rounds < 1:
        parser.error("--assets takes 1000 to 10000000, --rounds 1 or more")
    return options


def write_list(options):
    path = pathlib.Path(options.work) / "list.csv"
    with open(path, "w") as file:
        file.write("url,bytes\n")
        file.writelines(
            "http://127.0.0.1:9/show%d/season%d/%s-%07d.mp4,%d\n"
            % (number % 977, number % 11, "trailer" if number % 1_000 == 0 else "episode", number,
               number * 7_919 % 1_000_000_000)
            for number in range(options.assets))
    return path


def page(url, query):
    """What a page holds, and how long it took."""
    begin = time.monotonic()
    request = urllib.request.Request(
        url + "/v1/assets?" + urllib.parse.urlencode(query), headers={"Authorization": "Bearer " + TOKEN})
    with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as answer:
        found = json.load(answer)
    return found, time.monotonic() - begin


def figures(what, seconds, found):
    return {"what": what, "pages": len(seconds), "assets": found,
            "medianSeconds": round(statistics.median(seconds), 4), "mostSeconds": round(max(seconds), 4)}


def walk(url, options):
    """All pages, one after another: those of the beginning and those of the end."""
    query, seconds, found = {"catalog": "many", "limit": WALK}, [], 0
    while True:
        answer, took = page(url, query)
        seconds.append(took)
        found += len(answer["assets"])
        if not answer.get("next"):
            break
        query["after"] = answer["next"]
    if found != options.assets:
        sys.exit("a walk through all pages found %d of %d assets" % (found, options.assets))
    part = max(len(seconds) // 10, 1)
    return [figures("pages of %d, the first tenth" % WALK, seconds[:part], part * WALK),
            figures("pages of %d, the last tenth" % WALK, seconds[-part:], part * WALK)]


def look(url, what, filters, rounds):
    query, seconds, found = {"catalog": "many", "limit": PAGE} | filters, [], 0
    for _ in range(rounds):
        answer, took = page(url, query)
        seconds.append(took)
        found += len(answer["assets"])
        if not answer.get("next"):
            query.pop("after", None)
        else:
            query["after"] = answer["next"]
    return figures(what, seconds, found)


def start(options, url):
    """`dray up`, and the list submitted to it, none of which begins."""
    work = pathlib.Path(options.work)
    environment = os.environ | {"DRAY_LOG": "warning", "DRAY_TOKEN": TOKEN, "DRAY_COORDINATOR": url}
    log = open(work / "log", "wb")
    cluster = subprocess.Popen(
        [options.dray, "up", "--state", work / "state", "--listen", url.removeprefix("http://")],
        stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
    limit = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            urllib.request.urlopen(url + "/readyz", timeout=60)
            break
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            if cluster.poll() is not None or time.monotonic() > limit:
                sys.exit((work / "log").read_text())
            time.sleep(0.1)
    submitter = subprocess.Popen(
        [options.dray, "prefetch", write_list(options), "--to", work / "edge", "--name", "many",
         "--not-before", "1d"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, env=environment)
    told = b""
    for line in submitter.stderr:
        told += line
        if b"it does not start before" in line:
            return cluster, submitter
    stop(cluster)
    sys.exit(told.decode(errors="replace"))


def stop(process):
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    process.communicate()


def main():
    options = arguments()
    url = "http://127.0.0.1:" + options.port
    print("submitting %d assets ..." % options.assets, file=sys.stderr)
    cluster, submitter = start(options, url)
    try:
        # It would ask how far the catalog is.
        os.kill(submitter.pid, signal.SIGSTOP)
        rows = walk(url, options)
        rows += [look(url, what, filters, options.rounds) for what, filters in QUERIES.items()]
    finally:
        os.kill(submitter.pid, signal.SIGCONT)
        stop(submitter)
        stop(cluster)
    print("%-30s %6s %8s %12s %12s" % ("%d assets" % options.assets, "pages", "found", "median", "most"))
    for row in rows:
        print("%-30s %6d %8d %9.1f ms %9.1f ms" % (
            row["what"], row["pages"], row["assets"], row["medianSeconds"] * 1_000,
            row["mostSeconds"] * 1_000))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=2) + "\n")
    if options.max_seconds and any(row["mostSeconds"] > options.max_seconds for row in rows):
        sys.exit("a page took longer than %g s" % options.max_seconds)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
