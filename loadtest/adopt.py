"""How many bytes it downloads to take over a mirror that another tool made.

A third of the files is adopted by digest, a third by length and date as wget sets it, a third by length and
the time of the download. Started by loadtest/adopt. Standard library only.
"""

import argparse
import hashlib
import json
import os
import pathlib
import sys
import time

import private_cluster


def arguments():
    parser = argparse.ArgumentParser(prog="loadtest/adopt", description=__doc__.split("\n")[0])
    parser.add_argument("--files", type=int, default=100_000, help="files of the mirror (100000)")
    parser.add_argument("--wrong", type=int, default=100, help="files of it that are cut (100)")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    for name in ("work", "origin", "port", "dray"):
        parser.add_argument("--" + name, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not 300 <= options.files <= 10_000_000 or not 0 <= options.wrong <= options.files // 3:
        parser.error("--files takes 300 to 10000000, --wrong up to a third of that")
    return options


def fill(work, options):
    """Writes the origin, the mirror and the list; returns the bytes of what is wrong in the mirror."""
    host = options.origin.split("://")[1]
    origin, mirror = work / "origin", work / "mirror" / host
    past = time.time() - 86_400
    wrong = 0
    with open(work / "list.csv", "w", encoding="utf-8") as listed:
        listed.write("url,sha256\n")
        for number in range(options.files):
            path = "d%03d/f%07d.bin" % (number // 1_000, number)
            for base in (origin, mirror):
                if number % 1_000 == 0:
                    (base / path).parent.mkdir(parents=True)
            body = b"%d " % number * (1 + number % 97)
            (origin / path).write_bytes(body)
            os.utime(origin / path, (past, past))
            is_wrong = number < 3 * options.wrong and number % 3 == 1
            (mirror / path).write_bytes(body[:len(body) // 2] if is_wrong else body)
            if is_wrong:
                wrong += len(body)
            elif number % 3 == 1:
                os.utime(mirror / path, (past, past))
            digest = hashlib.sha256(body).hexdigest() if number % 3 == 0 else ""
            listed.write("%s/%s,%s\n" % (options.origin, path, digest))
    return wrong


def sent(log):
    """Bytes of bodies and requests in the origin's log."""
    lines = [line.split() for line in pathlib.Path(log).read_text().splitlines()]
    return sum(int(line[2]) for line in lines), len(lines), sum(line[1] == "GET" for line in lines)


def main():
    options = arguments()
    work = pathlib.Path(options.work)
    expected = fill(work, options)
    cluster = private_cluster.Cluster(options.dray, options.work, options.port)
    try:
        begun = time.monotonic()
        cluster.run("adopt", work / "mirror", "--catalog", work / "list.csv", "--format", "csv", "--name", "mirror")
        seconds = time.monotonic() - begun
        cluster.connection.close()
        catalog = cluster.ask("GET", "/v1/catalogs/1")
    finally:
        cluster.stop()
    body_bytes, requests, gets = sent(work / "access.log")
    print("%d files adopted in %.1f s, %.0f files/s" % (options.files - options.wrong, seconds, options.files / seconds))
    print("  origin: %d requests, %d of them GET for %d wrong files; %d bytes of bodies, %d of wrong files" % (
        requests, gets, options.wrong, body_bytes, expected))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({
            "files": options.files, "seconds": seconds, "requests": requests, "bodyBytes": body_bytes,
            "wrongBytes": expected}, indent=2) + "\n")
    if catalog["state"] != "completed" or body_bytes != expected or gets != options.wrong:
        sys.exit("adopt: %s; more was downloaded than what is wrong" % catalog["state"])


main()
