"""Hostile paths and keys in lists, playlists, MPDs and the API: nothing is written outside of a site."""

import hashlib
import json
import os
import time

from . import oracles
from .lab import ORIGIN_ADDRESS
from .origins import Origin, ok

#: What follows the host in a URL, or is a key.
PATHS = ("../x", "../../../../etc/x", "a/../../x", "a/../../../x", "..", ".", "./x", "/x", "//x", "///x", "/../x",
         "a//b", "a/./b", "a/", "%2e%2e/x", "%2E%2E/x", ".%2e/x", "%2e./x", "..%2fx", "..%2Fx", "..%5cx", "..\\x",
         "..%255cx", "%252e%252e/x", "%252e%252e%252fx", "a%2f..%2f..%2fx", "%2fetc%2fx", "/%2e%2e/%2e%2e/x",
         "a/%2e%2e/%2e%2e/x", "....//x", "..../x", "...", ".../x", ".. /x", " ../x", "..%20/x", "..%00/x", "%00",
         "a%00b", "a%00/../x", "..%0a/x", "..%0d%0a/x", "%0a", "%1b[31mx", "%7fx", "%c2%9b31mx", "%9b31m",
         "%c0%ae%c0%ae/x", "%c0%af..%c0%afx", "%e0%80%ae%e0%80%ae/x", "%uff0e%uff0e/x", "%ff%fe", "%ed%a0%80",
         "\uff0e\uff0e/x", "\u2025/x", "\u2024\u2024/x", "..\u2215x", "..\u2044x", "a\u202e/x", "%e2%80%ae/x",
         "x%e2%80%8b", "..;/x", "..;a=b/x", ";/../x", ".dray/x", "/.dray/tmp/x", ".DRAY/x", "%2edray/tmp/x",
         ".dray%2ftmp", "a/.dray/x", ".dray", "SHA256SUMS", "a/SHA256SUMS", "sha256sums", ".git/config",
         ".ssh/authorized_keys", "~root/x", "~/x", "$HOME/x", "${HOME}", "`id`", "$(id)", "|id", ";id", "-rf",
         "--to=/etc", "-", "*", "?", "a?b", "a?../../x", "a?%2e%2e%2fx", "a?/../../x", "a?%00", "a#../x",
         "a#/../../x", "con", "nul.txt", "x:y", "C:/x", "C:%5cx", "file:///etc/x", "http://127.0.0.1/../x",
         "%3cscript%3e", "'", "\"", "a'b\"c", "%25", "%", "%zz", "%2", "a" * 255, "a" * 256, "a" * 5_000,
         "a/" * 130 + "x", "%61" * 300, "\u00e9" * 200, "a%cc%81", "link/x", "link%2fx", "link/../x",
         "outside-link", "index.html", "index.html/", "index.html/x", "x/index.html", "x", "x/", "x/y", "X", "X/y",
         "con/..", "%5c..%5cx", "%EF%BC%8F..%EF%BC%8Fx", "proc/self/environ", "dev/stdout", "\t../x", "a\tb",
         "a\nb", "a\rb", "a\x1b]0;x\x07", "a\x00b",
         )
CONTAINED = "dest"


def attack(lab, record):
    lab.start_cluster()
    world = lab.scratch / "world"
    world.mkdir(exist_ok=True)
    for name in ("x", "secret"):
        (world / name).write_text("as it was")
    (world / "outside").mkdir(exist_ok=True)
    paths = PATHS if not record.is_short else PATHS[::5]
    origin = Origin(ORIGIN_ADDRESS, lambda path: respond(path, paths))
    try:
        for form in FORMS if not record.is_short else ("json",):
            listed(lab, record, world, origin, form, paths)
        titles(lab, record, world, origin, paths)
        keys(lab, record, world, origin, paths)
    finally:
        origin.close()


def snapshot(root):
    """Everything outside of the sites: names, kinds, contents."""
    found = {}
    for directory, names, files in os.walk(root):
        if CONTAINED in names:
            names.remove(CONTAINED)
        for name in names + files:
            path = os.path.join(directory, name)
            if os.path.islink(path):
                found[path] = os.readlink(path)
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    found[path] = hashlib.sha256(file.read()).hexdigest()
            else:
                found[path] = "directory"
    return found


def difference(before, after):
    changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    return f"written outside of the site: {changed[:5]}" if changed else None


def destination(world, name, origin):
    """A site with links that lead out of it, where the origin's files will be."""
    site = world / f"site-{name}" / CONTAINED
    host = site / origin.url.removeprefix("http://")
    host.mkdir(parents=True)
    (host / "link").symlink_to(world / "outside")
    (host / "outside-link").symlink_to(world / "secret")
    (site / "link").symlink_to(world / "outside")
    (site / "outside-link").symlink_to(world / "secret")
    return site


# MARK: Lists

def urls(text):
    return text.encode("utf-8", "surrogatepass") + b"\n"


def as_json(entries):
    return json.dumps({"assets": [
        {"url": url, "name": name, "sidecars": [{"url": url, "required": False}]} for url, name in entries]}).encode()


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


FORMS = {
    "urls": lambda entries: b"".join(urls(url) for url, _ in entries), "json": as_json,
    "ndjson": lambda entries: b"".join(
        json.dumps({"url": url, "name": name}).encode() + b"\n"
        for url, name in entries), "csv": lambda entries: b"url,filename\n" + b"".join(
            urls('"%s","%s"' % (url.replace('"', '""'), name.replace('"', '""'))) for url, name in entries),
    "gsts": lambda entries: b"TsvHttpData-1.0\n" + b"".join(urls(url) for url, _ in entries),
    "aria2": lambda entries: b"".join(
        urls(url) + urls(f"  out={name}") + urls("  dir=../../..") for url, name in entries),
    "metalink": lambda entries: urls('<?xml version="1.0"?><metalink xmlns="urn:ietf:params:xml:ns:metalink">' + "".
                                     join(f'<file name="{escaped(name)}"><url>{escaped(url)}</url></file>'
                                          for url, name in entries) + "</metalink>"), "sitemap": lambda entries:
    urls('<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">' + "".join(
        f"<url><loc>{escaped(url)}</loc></url>" for url, _ in entries) + "</urlset>"),
}


def listed(lab, record, world, origin, form, paths):
    """Each path in a list of its own is checked; those that are taken are fetched, all in one list."""
    before = snapshot(world)
    taken = []
    for number, path in enumerate(paths):
        entry = (f"{origin.url}/{path}", path)
        # A check is a process: the whole suite has time for half of them in every form.
        if form in ("urls", "metalink") or number % 3 == 0:
            text = FORMS[form]([entry])
            ended = lab.run("catalog", "check", "-", "--format", form, stdin=text)
            record.judge((form, text),
                         oracles.process(ended, {0, 2}) or oracles.controls(ended.stdout + ended.stderr))
            if ended.status == 0:
                taken.append(entry)
        elif path.isprintable() and path.isascii():
            taken.append(entry)
    site = destination(world, form, origin)
    while taken:
        (lab.scratch / "list").write_bytes(FORMS[form](taken))
        ended = lab.run("prefetch",
                        lab.scratch / "list",
                        "--format",
                        form,
                        "--to",
                        site,
                        "--state",
                        lab.scratch / "state-paths",
                        "--durability",
                        "none",
                        "--report",
                        world / "report.json",
                        seconds=90)
        record.judge((form, "prefetch"),
                     oracles.process(ended, {0, 1, 2}) or oracles.controls(ended.stdout + ended.stderr))
        (world / "report.json").unlink(missing_ok=True)
        if ended.status != 2 or len(taken) < 8:
            break
        # Something in it makes the whole list be refused.
        taken = taken[: len(taken) // 2]
    for path in paths:
        record.judge((form, path), None)
    record.judge((form, "the site's surroundings"), difference(before, without(snapshot(world), site)))


def without(found, site):
    parent = str(site.parent)
    return {path: value for path, value in found.items() if path != parent and not path.startswith(parent + "/") or
            path.startswith(parent + "/") and path != str(site)}


# MARK: Titles

def respond(path, paths):
    parts = path.strip("/").split("/")
    if parts[0] == "hls" and parts[-1].startswith("t.m3u8"):
        uri = paths[int(parts[1])]
        text = ("#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXT-X-MAP:URI=\"%s\"\n#EXT-X-KEY:METHOD=AES-128,URI=\"%s\"\n"
                "#EXTINF:6,\n%s\n#EXT-X-ENDLIST\n") % (uri, uri, uri)
        return ok(text.encode("utf-8", "surrogatepass"), "application/vnd.apple.mpegurl")
    if parts[0] == "dash" and parts[-1].startswith("t.mpd"):
        uri = escaped(paths[int(parts[1])])
        text = (
            '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT6S" '
            'profiles="urn:mpeg:dash:profile:full:2011"><Period><AdaptationSet mimeType="video/mp4">'
            f'<Representation id="{uri}" bandwidth="1000"><SegmentTemplate duration="6" media="$RepresentationID$" '
            f'initialization="{uri}"/></Representation></AdaptationSet></Period></MPD>')
        return ok(text.encode("utf-8", "surrogatepass"), "application/dash+xml")
    return ok(b"x" * 32)


def titles(lab, record, world, origin, paths):
    before = snapshot(world)
    site = destination(world, "titles", origin)
    rows = [f"{origin.url}/hls/{number}/t.m3u8" for number in range(len(paths))]
    rows += [f"{origin.url}/dash/{number}/t.mpd" for number in range(len(paths))]
    (lab.scratch / "list").write_text("\n".join(rows) + "\n")
    report = lab.scratch / "titles.json"
    ended = lab.run("prefetch",
                    lab.scratch / "list",
                    "--to",
                    site,
                    "--state",
                    lab.scratch / "state-paths",
                    "--durability",
                    "none",
                    "--report",
                    report,
                    seconds=120)
    record.judge("titles", oracles.process(ended, {0, 1}) or oracles.controls(ended.stdout + ended.stderr))
    outcomes = {asset["url"]: asset for asset in json.loads(report.read_text())["assets"]} if report.exists() else {}
    for row in rows:
        failure = (outcomes.get(row) or {}).get("failure")
        happened = None if row in outcomes else "is not in the report"
        if failure and failure["code"] == "worker.internal":
            happened = f"{failure}"
        record.judge(row, happened)
    record.judge("titles: surroundings", difference(before, without(snapshot(world), site)))


# MARK: Keys of the API

def keys(lab, record, world, origin, paths):
    site = lab.sites / "keys" / CONTAINED
    site.mkdir(parents=True)
    outside = lab.sites / "keys" / "outside"
    outside.mkdir()
    (site / "link").symlink_to(outside)
    (site / "outside-link").symlink_to(outside / "secret")
    (outside / "secret").write_text("as it was")
    before = snapshot(lab.sites / "keys") | snapshot(world)
    worker = lab.start_worker("paths", "--allow-addresses", ORIGIN_ADDRESS)
    try:
        rows = [{"name": f"n{number}", "url": f"{origin.url}/good/{number}", "kind": "file", "key": path}
                for number, path in enumerate(paths)]
        rows += [{
            "name": f"s{number}", "url": f"{origin.url}/side/{number}", "kind": "file", "key": f"side/{number}",
            "sidecars": [{
                "url": f"{origin.url}/sidecar/{number}", "key": path, "role": "image", "isRequired": True
            }]
        } for number, path in enumerate(paths)]
        catalog, refused = lab.submit("keys", f"file://{site}", [], doubtful=rows)
        rejections = {row["name"]: answer for part, answer in refused for row in part}
        for row in rows:
            answer = rejections.get(row["name"])
            record.judge(row, oracles.refused(answer, {400, 409}) if answer else None)
        limit = time.monotonic() + 60
        while time.monotonic() < limit and lab.sql(
                f"SELECT count(*) FROM dray.asset WHERE catalog_id = {catalog} AND state NOT IN ('completed', 'failed')"
        ) != "0":
            time.sleep(0.2)
    finally:
        lab.stop(worker)
    record.judge("keys: surroundings", difference(before, snapshot(lab.sites / "keys") | snapshot(world)))
    log = worker.log.read_bytes()
    record.judge("keys: the worker's log", oracles.controls(log))
