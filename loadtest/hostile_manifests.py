"""Time and memory that `dray inspect` takes for manifests that are made to cost as much as can be.

Each is as large as is taken, or has as many segments, with names of which nothing is shared, and its flaw at its
very end. Started by loadtest/hostile-manifests. Standard library only.
"""

import argparse
import hashlib
import json
import os
import pathlib
import statistics
import sys
import time

MIB = 1 << 20
PLAYLIST_BYTES = 16 * MIB
MPD_BYTES = 22 * MIB
LISTED = 499_990
REPRESENTATIONS = 29_900


def arguments():
    parser = argparse.ArgumentParser(
        prog="loadtest/hostile-manifests", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (3)")
    parser.add_argument("--only", metavar="TEXT", help="those with TEXT in their names")
    parser.add_argument("--max-seconds", type=float, default=1.0,
                        help="fail when the median of one is more (1)")
    parser.add_argument("--max-rss", type=float, default=96,
                        help="fail when one takes more MiB (96)")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    for name in ("work", "dray"):
        parser.add_argument("--" + name, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def name(number, length):
    """A name that shares nothing with others."""
    return hashlib.sha256(b"%d" % number).hexdigest()[:length]


def filled(head, part, last, tail, size, most=LISTED):
    """As many parts between head and tail as there is room for."""
    parts = [head]
    room = size - len(head) - len(last) - len(tail)
    for number in range(most):
        text = part(number)
        room -= len(text)
        if room < 0:
            break
        parts.append(text)
    return "".join(parts + [last, tail])


def playlist(line, last, tail="#EXT-X-ENDLIST\n", most=LISTED, head=""):
    return filled("#EXTM3U\n#EXT-X-TARGETDURATION:4\n" + head, line, last, tail, PLAYLIST_BYTES, most)


def segment(uri):
    return "#EXTINF:1\n%s\n" % uri


def mpd(inner, seconds=1_000_000, kind="static"):
    duration = ' mediaPresentationDuration="PT%dS"' % seconds if seconds else ""
    return ('<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="%s"%s>\n%s\n</MPD>\n'
            % (kind, duration, inner))


def representation(inner, identifier="1"):
    return '<Representation id="%s" bandwidth="1">%s</Representation>' % (identifier, inner)


def period(inner):
    return '<Period><AdaptationSet mimeType="video/mp4">%s</AdaptationSet></Period>' % inner


def listed(entry, last, base="", most=LISTED):
    """An MPD's segment list."""
    whole = mpd(period(representation(base + '<SegmentList timescale="1" duration="1">\0</SegmentList>')))
    head, tail = whole.split("\0")
    return filled(head, entry, last, tail, MPD_BYTES, most)


def url(media):
    return '<SegmentURL media="%s"/>' % media


def represented(make, last):
    head, tail = mpd(period("\0"), 10).split("\0")
    return filled(head, make, last, tail, MPD_BYTES, REPRESENTATIONS)


def template(media, more=""):
    return '<SegmentTemplate media="%s" timescale="1" duration="1"%s/>' % (media, more)


FILE = '<BaseURL>file:///etc/passwd</BaseURL>'
ITSELF = '<BaseURL>m.mpd</BaseURL>'
LAST = "z"


def timeline(kind):
    entries = '<SegmentTimeline>%s</SegmentTimeline>' % ('<S d="1"/>' * 699_990)
    media = '<SegmentTemplate media="$Time$" timescale="1">%s</SegmentTemplate>' % entries
    return mpd(period(representation(media) + representation(ITSELF, LAST)), 0, kind)


def documents():
    """Name, code, document: made when it is its turn."""
    def plain(number):
        return segment(name(number, 40))

    def short(number):
        return segment(name(number, 20))

    def entry(number):
        return url(name(number, 28))

    bases = "".join("<BaseURL>http://%s.example/</BaseURL>" % name(k, 40) for k in range(4))
    up = "a/../" * 1_600
    malformed, refused, key = "manifest.malformed", "manifest.uriRefused", "storage.pathRefused"
    conflict, large, many = "storage.pathConflict", "manifest.tooLarge", "manifest.tooMany"
    return [
        ("playlist: itself", malformed, lambda: playlist(plain, segment("m.m3u8"))),
        ("playlist: itself, short names", malformed, lambda: playlist(short, segment("m.m3u8"))),
        ("playlist: ../", refused, lambda: playlist(plain, segment("../" * 9 + "etc/passwd"))),
        ("playlist: %2e%2e", key, lambda: playlist(plain, segment("%2e%2e/etc/passwd"))),
        ("playlist: file:", refused, lambda: playlist(plain, segment("file:///etc/passwd"))),
        ("playlist: data:", refused, lambda: playlist(plain, segment("data:text/plain,a"))),
        ("playlist: NUL", malformed, lambda: playlist(plain, segment("a\0b"))),
        ("playlist: folder of a file", conflict,
         lambda: playlist(short, segment(name(5, 20) + "/x"))),
        ("playlist: live", "manifest.live", lambda: playlist(short, "", "")),
        ("playlist: too many", many, lambda: playlist(lambda n: segment("a%x" % n), "", most=10**7)),
        ("playlist: from the root, itself", large,
         lambda: playlist(lambda n: segment("/x/" + name(n, 30)), segment("m.m3u8"))),
        ("playlist: other hosts, itself", large,
         lambda: playlist(lambda n: segment("http://c%d.example/%s" % (n % 50, name(n, 20))),
                          segment("m.m3u8"))),
        ("playlist: queries, itself", large,
         lambda: playlist(lambda n: segment("a?" + name(n, 30)), segment("m.m3u8"))),
        ("playlist: percent-encoded, itself", malformed,
         lambda: playlist(lambda n: segment("".join("%%%02x" % ord(c) for c in name(n, 14))),
                          segment("m.m3u8"))),
        ("playlist: folders, itself", malformed,
         lambda: playlist(lambda n: segment("/".join(name(n + k, 8) for k in range(4))),
                          segment("m.m3u8"))),
        ("playlist: deep folders, itself", malformed,
         lambda: playlist(lambda n: segment("/".join("%x" % (n >> 4 * (k % 5) & 15)
                                                     for k in range(110)) + "%x" % n),
                          segment("m.m3u8"))),
        ("playlist: byte ranges, itself", malformed,
         lambda: playlist(lambda n: "#EXT-X-BYTERANGE:9@1\n" + segment(name(n, 4)),
                          segment("m.m3u8"))),
        ("playlist: variables, itself", malformed,
         lambda: playlist(lambda n: segment("{$a}" + name(n, 9)), segment("m.m3u8"),
                          head='#EXT-X-DEFINE:NAME="a",VALUE="bcd"\n')),
        ("playlist: attributes, file:", refused,
         lambda: playlist(lambda n: "#EXT-X-MAP:%s,URI=\"%s\"\n" % (
             ",".join("A%d=1" % k for k in range(63)), name(n, 6)),
             segment("file:///etc/passwd"))),
        ("playlist: a/../ of 8 KiB, itself", malformed,
         lambda: playlist(lambda n: segment(up + "x%d" % n), segment("m.m3u8"))),
        ("MPD list: itself", malformed, lambda: listed(entry, url("m.mpd"))),
        ("MPD list: file:", refused, lambda: listed(entry, url("file:///etc/passwd"))),
        ("MPD list: %2e%2e", key, lambda: listed(entry, url("%2e%2e/etc/passwd"))),
        ("MPD list: folder of a file", conflict, lambda: listed(entry, url(name(5, 28) + "/x"))),
        ("MPD list: byte ranges, itself", malformed,
         lambda: listed(lambda n: '<SegmentURL mediaRange="%d-%d"/>' % (n, n + 1), url("m.mpd"))),
        ("MPD list: indexes, itself", malformed,
         lambda: listed(lambda n: '<SegmentURL media="%s" index="%s"/>' % (name(n, 9), name(-1 - n, 9)),
                        url("m.mpd"), most=LISTED // 2)),
        ("MPD list: from the root", large,
         lambda: listed(lambda n: url("/x/" + name(n, 20)), url("m.mpd"))),
        ("MPD list: another host", large,
         lambda: listed(lambda n: url("http://c/x/" + name(n, 12)), url("m.mpd"))),
        ("MPD list: ../ from a long URL", many,
         lambda: listed(lambda n: url("../%d" % n), url("m.mpd"),
                        "<BaseURL>%s/</BaseURL>" % ("%41" * 1_900))),
        ("MPD list: queries", large, lambda: listed(lambda n: url("a?" + name(n, 12)), url("m.mpd"))),
        ("MPD list: mirrors, file:", refused,
         lambda: listed(lambda n: url(name(n, 16)), url("file:///etc/passwd"), bases)),
        ("MPD list: UTF-16, file:", refused,
         lambda: mpd(period(representation(
             '<SegmentList timescale="1" duration="1">%s</SegmentList>'
             % ("".join(url(name(n, 12)) for n in range(300_000)) + url("file:///etc/passwd"))
         ))).encode("utf-16")),
        ("MPD template: 10^9", many,
         lambda: mpd(period(representation(template("$Number$"))), 10**9)),
        ("MPD template: 10^6, itself", malformed,
         lambda: mpd(period(representation(template("$Number$")) + representation(ITSELF, LAST)),
                     999_000)),
        ("MPD template: mirrors, file:", refused,
         lambda: mpd(period(bases + representation(template("$Number$")) + representation(FILE, LAST)),
                     240_000)),
        ("MPD template: indexes, itself", malformed,
         lambda: mpd(period(representation(template(name(1, 60) + "$Number$",
                                                    ' index="%s$Number$"' % name(2, 60)))
                            + representation(ITSELF, LAST)), 300_000)),
        ("MPD timeline: itself", malformed, lambda: timeline("static")),
        ("MPD timeline: live", "manifest.live", lambda: timeline("dynamic")),
        ("MPD: base URLs, file:", refused,
         lambda: represented(lambda n: representation(
             "<BaseURL>http://%s.example/%s</BaseURL>" % (name(n, 20), name(n, 60) * 4), str(n)),
             representation(FILE, LAST))),
        ("MPD: templates, file:", many,
         lambda: represented(lambda n: representation(template(
             "".join(name(n + k, 60) for k in range(6)) + "$Number$",
             ' initialization="%s"' % "".join(name(n + 7 * k, 60) for k in range(6))), str(n)),
             representation(FILE, LAST))),
        ("MPD: a/../ of 8 KiB", many,
         lambda: mpd(period(template(up + "x$RepresentationID$-$Number$")
                            + "".join(representation("", str(n)) for n in range(REPRESENTATIONS))),
                     10)),
        ("MPD: templates at a long URL", refused,
         lambda: mpd("<BaseURL>%s/</BaseURL>" % ("%41" * 1_900) + period(
             template("a") * 400_000 + representation(FILE)), 10)),
        ("MPD: attributes, file:", refused,
         lambda: represented(lambda n: "<Initialization %s/>" % " ".join(
             '%c%c=""' % (97 + k // 26, 97 + k % 26) for k in range(60)), representation(FILE))),
        ("MPD: elements, file:", refused,
         lambda: mpd(period('<ContentProtection a="b" c="d"/>' * 499_000 + representation(FILE)), 10)),
    ]


def lenient_documents():
    """As `documents`: what breaks rules and is read past, as much of it as can be, and its flaw behind that."""
    refused, live, many = "manifest.uriRefused", "manifest.live", "manifest.tooMany"
    bad = '<Representation width="x" height="y" id="%s"/>'
    return [
        ("lenient playlist: durations, file:", refused,
         lambda: playlist(lambda n: "#EXTINF:\n%s\n" % name(n, 20), segment("file:///etc/passwd"))),
        ("lenient playlist: byte ranges, file:", refused,
         lambda: playlist(lambda n: "#EXTINF:1\n#EXT-X-BYTERANGE:%d\n%s\n" % (n + 1, name(n, 6)),
                          segment("file:///etc/passwd"))),
        ("lenient playlist: both kinds", refused,
         lambda: playlist(lambda n: "#EXT-X-GAP\n", "#EXT-X-STREAM-INF:A=1\nfile:///etc/passwd\n",
                          most=10**7)),
        ("lenient playlist: attributes twice", refused,
         lambda: playlist(lambda n: "#EXT-X-MAP:%s,URI=\"%s\"\n" % ("A=1," * 62, name(n, 6)),
                          segment("file:///etc/passwd"))),
        ("lenient playlist: without #EXTM3U", live,
         lambda: filled("#" * 60_000 + "\n#EXTINF:1\n", lambda n: segment(name(n, 20)), "", "",
                        PLAYLIST_BYTES)),
        ("lenient MPD: late templates, file:", refused,
         lambda: mpd(period("".join(representation("", str(n)) for n in range(29_000))
                            + template("a") * 370_000 + representation(FILE, LAST)), 10)),
        ("lenient MPD: late lists, file:", many,
         lambda: mpd(period("".join(representation("", str(n)) for n in range(1_000))
                            + "<SegmentList>%s</SegmentList>" % "".join(
                                url(name(n, 12)) for n in range(300_000))
                            + representation(FILE, LAST)), 10)),
        ("lenient MPD: prefixes, file:", refused,
         lambda: mpd(period('<a:b c:d=""/>' * 499_000 + representation(FILE)), 10)),
        ("lenient MPD: numbers, file:", refused,
         lambda: represented(lambda n: bad % n, representation(FILE, LAST))),
        ("lenient MPD: identifiers, file:", refused,
         lambda: represented(lambda n: representation(template("$x" * 300), str(n)),
                             representation(FILE, LAST))),
    ]


def write(path, make):
    """In a process of its own: the most that a child has resident begins with what its parent has."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            text = make()
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
            status = 0
        finally:
            os._exit(status)
    if os.waitpid(child, 0)[1] != 0:
        raise SystemExit(f"{path} could not be written")


def measure(dray, path, form, options):
    """Code, seconds, MiB of one run."""
    read, write = os.pipe()
    began = time.monotonic()
    child = os.posix_spawn(
        dray, [dray, "inspect", str(path), "--base", "http://h.example/a/b/m." + form, "--segments",
               "--json"] + options,
        os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, write, 1), (os.POSIX_SPAWN_CLOSE, read)])
    os.close(write)
    # Of a manifest that is taken there may be much more.
    with os.fdopen(read, "rb") as output:
        text = output.read(4_096)
        while output.read(1 << 20):
            pass
    _, _, usage = os.wait4(child, 0)
    seconds = time.monotonic() - began
    start = text.find(b'"error"')
    code = text[start:].split(b":", 1)[1].split(b",")[0].strip().strip(b'"\n}').decode()
    return code, seconds, usage.ru_maxrss / 1_024


def main():
    options = arguments()
    rows = []
    failed = False
    print(f"{'manifest':<36} {'MiB':>5}  {'code':<21} {'seconds':>8} {'most':>6} {'MiB resident':>13}")
    # What is read past would be no flaw.
    cases = [(case, ["--strict"]) for case in documents()] + [(case, []) for case in lenient_documents()]
    for (title, wanted, make), how in cases:
        if options.only and options.only not in title:
            continue
        form = "m3u8" if "playlist" in title else "mpd"
        path = pathlib.Path(options.work) / ("m." + form)
        write(path, make)
        runs = [measure(options.dray, path, form, how) for _ in range(options.rounds)]
        codes = {run[0] for run in runs}
        seconds = statistics.median(run[1] for run in runs)
        most = max(run[1] for run in runs)
        memory = max(run[2] for run in runs)
        size = path.stat().st_size / MIB
        print(f"{title:<36} {size:>5.1f}  {'/'.join(sorted(codes)):<21} {seconds:>8.2f} {most:>6.2f} "
              f"{memory:>13.1f}", flush=True)
        rows.append({"manifest": title, "bytes": path.stat().st_size, "codes": sorted(codes),
                     "seconds": seconds, "mostSeconds": most, "mostMiB": memory})
        wrong = []
        if codes != {wanted}:
            wrong.append(f"{wanted} was expected")
        if seconds > options.max_seconds:
            wrong.append(f"it takes {seconds:.2f} s, over {options.max_seconds}")
        if memory > options.max_rss:
            wrong.append(f"it takes {memory:.1f} MiB, over {options.max_rss}")
        for what in wrong:
            print(f"  {title}: {what}", file=sys.stderr)
        failed = failed or bool(wrong)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=2)
            file.write("\n")
    if not rows:
        print(f"no manifest has {options.only} in its name", file=sys.stderr)
        return 2
    print(f"{len(rows)} manifests, {options.rounds} runs each: {max(r['seconds'] for r in rows):.2f} s "
          f"and {max(r['mostMiB'] for r in rows):.1f} MiB at most")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
