"""How many bytes an origin sends when two sites are filled in one submission.

Started by loadtest/neighbours. Standard library only.
"""

import argparse
import json
import pathlib
import random
import sys
import time

import private_cluster


def arguments():
    parser = argparse.ArgumentParser(prog="loadtest/neighbours", description=__doc__.split("\n")[0])
    parser.add_argument("--files", type=int, default=2_000, help="files (2000)")
    parser.add_argument("--file-bytes", type=int, default=65_536, help="bytes of each (65536)")
    parser.add_argument("--titles", type=int, default=20, help="HLS titles (20)")
    parser.add_argument("--segments", type=int, default=50, help="segments of each title (50)")
    parser.add_argument("--segment-bytes", type=int, default=131_072, help="bytes of each (131072)")
    parser.add_argument("--max-share", type=float, default=1.05, metavar="SHARE",
                        help="fail when the origin sends more than this of a catalog's bytes (1.05)")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    for name in ("work", "origin", "edge", "port", "dray"):
        parser.add_argument("--" + name, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    for name, most in (("files", 1_000_000), ("titles", 10_000), ("segments", 10_000),
                       ("file_bytes", 1 << 30), ("segment_bytes", 1 << 30)):
        if not 1 <= getattr(options, name) <= most:
            parser.error("--%s takes 1 to %d" % (name.replace("_", "-"), most))
    return options


def write_files(root, options, generator):
    """Makes the files; their paths."""
    paths = []
    for number in range(options.files):
        path = "files/%d/%d.bin" % (number % 100, number)
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(generator.randbytes(options.file_bytes))
        paths.append(path)
    return paths


def write_titles(root, options, generator):
    """Makes the titles; the paths of their playlists."""
    paths = []
    for number in range(options.titles):
        folder = root / "titles" / str(number)
        folder.mkdir(parents=True)
        lines = ["#EXTM3U", "#EXT-X-TARGETDURATION:4", "#EXT-X-PLAYLIST-TYPE:VOD"]
        for segment in range(options.segments):
            (folder / ("%d.ts" % segment)).write_bytes(generator.randbytes(options.segment_bytes))
            lines += ["#EXTINF:4,", "%d.ts" % segment]
        (folder / "main.m3u8").write_text("\n".join(lines + ["#EXT-X-ENDLIST", ""]))
        paths.append("titles/%d/main.m3u8" % number)
    return paths


def sent(log):
    """Bytes of all bodies in an access log."""
    return sum(int(line.split()[1]) for line in log.read_text().splitlines())


def objects(edge):
    """Stored objects of a site, and their bytes."""
    found = {}
    for path in edge.rglob("*"):
        name = path.relative_to(edge)
        if path.is_file() and name.parts[0] != ".dray" and path.name != "SHA256SUMS":
            found[name] = path.stat().st_size
    return found


def fill(cluster, options, name, paths):
    """Fills both sites with one list; figures of that."""
    work = pathlib.Path(options.work)
    edges = [work / "edge-a", work / "edge-b"]
    before = [sum(objects(edge).values()) for edge in edges]
    logs = [work / "origin.log", work / "edge-a.log"]
    sent_before = [sent(log) for log in logs]
    (work / "list").write_text("".join("%s/%s\n" % (options.origin, path) for path in paths))
    begun = time.monotonic()
    cluster.run("prefetch", work / "list", "--site", ",".join("file://%s" % edge for edge in edges),
                "--name", name, "--quiet")
    seconds = time.monotonic() - begun
    stored = [objects(edge) for edge in edges]
    if stored[0] != stored[1]:
        sys.exit("the sites hold different files")
    for path in random.sample(sorted(stored[0]), min(200, len(stored[0]))):
        if (edges[0] / path).read_bytes() != (edges[1] / path).read_bytes():
            sys.exit("%s differs" % path)
    # nginx logs a request after its last byte is sent.
    time.sleep(1)
    size = sum(stored[0].values()) - before[0]
    by_origin, by_edge = (sent(log) - earlier for log, earlier in zip(logs, sent_before))
    figures = {"catalog": name, "bytes": size, "seconds": seconds, "originBytes": by_origin,
               "neighbourBytes": by_edge, "share": by_origin / size}
    print("%s: %d bytes at each of two sites in %.1f s: the origin sent %d (%.3f of the catalog), "
          "the first site %d" % (name, size, seconds, by_origin, figures["share"], by_edge))
    return figures


def main():
    options = arguments()
    generator = random.Random(1)
    root = pathlib.Path(options.work) / "origin"
    files = write_files(root, options, generator)
    titles = write_titles(root, options, generator)
    cluster = private_cluster.Cluster(options.dray, options.work, options.port)
    try:
        for edge in ("edge-a", "edge-b"):
            cluster.run("site", "add", pathlib.Path(options.work) / edge)
        cluster.run("site", "set", "file://%s/edge-a" % options.work, "--serves", options.edge)
        found = [fill(cluster, options, "files", files), fill(cluster, options, "titles", titles)]
    finally:
        cluster.stop()
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found, indent=2) + "\n")
    for figures in found:
        if figures["share"] > options.max_share:
            sys.exit("%s: the origin sent more than %g of the catalog" % (
                figures["catalog"], options.max_share))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
