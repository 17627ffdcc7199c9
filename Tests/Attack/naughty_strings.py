"""Naughty strings in every text field: nothing fails, no raw control character and no secret is shown or kept."""

import json
import re
import time

from . import oracles
from .lab import ORIGIN_ADDRESS
from .origins import Origin, ok
from .wire import Documents, at, replaced, spots

MARKER = "s3cr3tMARK"
FRAGMENTS = ("\0", "\x01", "\x07", "\b", "\t", "\n", "\v", "\f", "\r", "\r\n", "\x1b", "\x1b[31m",
             "\x1b]0;title\x07", "\x1b[2J\x1b[H", "\x1bP+q\x1b\\", "\x7f", "\x80", "\x85", "\x9b31m", "\x9d0;x\x9c",
             "\xa0", "\xad", "\u0300", "\u0301\u0302\u0303", "\u034f", "\u061c", "\u115f", "\u180e", "\u200b",
             "\u200c", "\u200d", "\u200e", "\u200f", "\u2028", "\u2029", "\u202a", "\u202d", "\u202e", "\u2060",
             "\u2066", "\u2069", "\u20dd", "\u3000", "\u3164", "\ufe0f", "\ufeff", "\ufff9", "\ufffd", "\ufffe",
             "\uffff", "\U000e0001", "\U000e0041", "\U0001f468\u200d\U0001f469", "\U0010ffff", "\ud800", "\udfff",
             "\ud83d", "\u0b95\u0bcd\u0bb7\u0bbf", "\ufdfd", "Z\u0351\u036b\u0343", "\u0130", "\u1e9e", "\ufb03",
             "'", "\"", "`", "\\", "\\\\", "\\0", "\\x00", "\\u0000", "%", "%s", "%n", "%@", "%1$s", "%s%s%s%s%n",
             "{}", "{0}", "${x}", "$(id)", "`id`", "' OR '1'='1", "'; DROP TABLE dray.asset; --",
             "\"; SELECT pg_sleep(9); --", "$$", "$1", "E'\\\\'", "/*", "*/", "--", "{{asset}}",
             "<script>alert(1)</script>", "<!--", "]]>", "&amp;", "&#0;", "&x;", "=cmd|' /C calc'!A0", "@SUM(1)",
             "-1+1", "+1", "null", "NULL", "nil", "undefined", "NaN", "true", "../../etc/passwd", "..", "/", "//",
             ".", "~", "*", "?", "[a-z]", "#", "@", ":", ";", ",", "|", "&&", "\t,\t", "Host: a\r\nX: y",
             "HTTP/1.1 200 OK\r\n\r\n", "code=origin.http.404", "level=error",
             "2026-01-01T00:00:00Z error worker: x", "key=\"v\" k=v", "\xe9", "e\u0301", "\u212b", "\uff21",
             "a" * 300, "\u0301" * 300, "\u202e" * 50, "\U0001f4a9" * 100, "x" * 9_000, "\n" * 500, " " * 300, "",
             )
#: What hides a query, userinfo or fragment from a reader that looks at characters, not bytes.
HIDING = ("", "\u0301", "\u0338", "\u200d", "\ufe0f", "\u20dd", "\u034f", "\u200b", "\u202e", "\U0001f3fb",
          "%cc%81", "\u0b95")
SHAPES = ("http://{host}/a?{hide}sig={mark}", "http://{host}/a{hide}?{hide}token={mark}",
          "http://user:{mark}{hide}@{host}/a", "http://{mark}{hide}@{hide}{host}/a", "http://{host}/a#{hide}{mark}",
          "//user:{mark}@{host}/a", "user:{mark}{hide}@{host}", "http://{host}/a?x=1&{hide}Signature={mark}&y=2",
          "HTTP://{host}/a?{hide}{mark}", "see http://{host}/a?{hide}k={mark}.",
          "http://{host}/a?{hide}{mark}#{mark}", "\"http://{host}/a?{hide}{mark}\"",
          "<http://{host}/a?{hide}{mark}>", "http://{host}/a?\\n{mark}", "(http://u:{mark}@{host}/)",
          "http:/{host}/a?{hide}{mark}", "https://{host}?{hide}{mark}",
          )
#: Columns that hold URLs whole: workers need them.
URL_COLUMNS = {("asset", "url"), ("segment", "url"), ("mirror", "url"), ("rewritten_manifest", "content"),
               ("load_test", "scenario")}


def attack(lab, record):
    lab.start_cluster()
    random = record.random()
    documents = Documents(lab)
    origin = Origin(ORIGIN_ADDRESS, lambda path: ok(b"good"))
    host = origin.url.removeprefix("http://")
    try:
        fields(lab, record, documents, random)
        secrets_of_workers(lab, record, documents, host)
        lists(lab, record, random)
        fetched(lab, record, host)
        commands(lab, record, host, random)
    finally:
        origin.close()
    shown(lab, record)
    kept(lab, record)


def naughty(random):
    kind = random.randrange(5)
    if kind == 0:
        return random.choice(FRAGMENTS)
    if kind == 1:
        return "".join(random.choice(FRAGMENTS) for _ in range(random.randint(2, 6)))[:12_000]
    if kind == 2:
        return "name" + random.choice(FRAGMENTS) + "end"
    if kind == 3:
        return "".join(
            chr(
                random.choice((random.randrange(0x20), random.randrange(0x80, 0x100),
                               random.randrange(0x300, 0x370), random.randrange(0x2000, 0x2070),
                               random.randrange(0x110000)))) for _ in range(random.randint(1, 30)))
    return "x" * random.choice((199, 200, 201, 1_000, 1_001, 2_049, 8_193)) + random.choice(FRAGMENTS)


# MARK: The API

def fields(lab, record, documents, random):
    """Each text field of each body, and names in paths and queries."""
    bodies = [(path, body, spot) for path, body in documents.bodies() for spot in spots(body)
              if isinstance(at(body, spot), str)]
    for number in range(record.count(7_000, 350)):
        path, body, spot = bodies[number % len(bodies)]
        text = naughty(random)
        if isinstance(spot[-1], str) and spot[-1] == "url":
            text = "http://127.0.0.1:1/" + text
        # Escaped, or as it is in UTF-8, if need be in what is none.
        content = json.dumps(replaced(body, spot, text), ensure_ascii=number % 2 == 0)
        answer = lab.ask("POST", path, content)
        record.judge((path, spot, text), oracles.answer(answer) or raw(answer))
    queries = ("/v1/assets?limit=50&catalog=%s", "/v1/assets?catalog={catalog}&name=%s", "/v1/assets?catalog={catalog}&search=%s",
               "/v1/assets?catalog={catalog}&after=%s", "/v1/assets?catalog={catalog}&code=%s", "/v1/assets?catalog={catalog}&state=%s",
               "/v1/queues/%s/control", "/v1/catalogs/%s", "/v1/%s", "/v1/origins?after=%s",
               "/v1/checksums?site=1&directory=%s", "/v1/checksums?site=1&after=%s", "/v1/catalogs/{catalog}/files?after=%s",
               "/v1/workers/wanted?queue=%s", "/v1/cooldowns?after=%s", "/v1/load-tests/%s", "/%s")
    for number in range(record.count(1_700, 100)):
        text = naughty(random).encode("utf-8", "surrogatepass")[:3_000]
        quoted = "".join(f"%{byte:02X}" for byte in text)
        path = queries[number % len(queries)].replace("{catalog}", str(documents.catalog)) % quoted
        answer = lab.ask("GET", path)
        record.judge(path, oracles.answer(answer) or raw(answer))


def raw(answer):
    """JSON has its control characters escaped."""
    found = re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", answer.body)
    return f"raw control character {found.group()!r} in an answer" if found else None


def secrets_of_workers(lab, record, documents, host):
    """What workers report of failures, in which URLs are."""
    for number, text in enumerate(secrets(host)):
        reports = [("/v1/reports", {
            "worker": documents.worker, "results": [{
                "job": documents.job, "lease": documents.lease, "outcome": "failed",
                "failureCode": "origin.timeout", "failureMessage": text[:400]
            }]
        }),
                   ("/v1/heartbeats", {
                       "worker": documents.worker, "leases": [documents.lease], "progress": {}, "name": "w",
                       "activeTransfers": 1, "issue": {"code": "storage.io", "message": text[:400]}, "origins": [{
                           "origin": "http://127.0.0.1:1", "concurrency": 1, "bytesPerSecond": 1,
                           "decision": "hold", "reason": text[:200], "active": 1, "waiting": 1
                       }]
                   })]
        path, body = reports[number % 2]
        answer = lab.ask("POST", path, body)
        record.judge((path, text), oracles.answer(answer) or oracles.secret(answer.body, MARKER.encode()))
    for text in secrets(host):
        for path, body in (("/v1/catalogs", {"name": "s", "storageURL": text, "priority": 5}),
                           ("/v1/origins/limits", {"origin": text, "limits": {"connections": 1}})):
            answer = lab.ask("POST", path, body)
            record.judge((path, text), oracles.answer(answer) or (
                oracles.secret(answer.body, MARKER.encode()) if answer.status >= 400 else None))


def secrets(host):
    for shape in SHAPES:
        for hide in HIDING:
            yield shape.format(host=host, hide=hide, mark=MARKER)


# MARK: Commands

def look(ended, allowed=(0, 1, 2, 3)):
    output = ended.stdout + ended.stderr
    return oracles.process(ended, allowed) or oracles.controls(output) or oracles.secret(output, MARKER.encode())


def lists(lab, record, random):
    """Names and URLs in lists of each form, many in each."""
    for number in range(record.count(60, 6)):
        texts = [naughty(random) for _ in range(25)]
        form = ("json", "ndjson", "csv", "urls", "metalink", "sitemap", "aria2", "gsts")[number % 8]
        if form in ("json", "ndjson"):
            lines = [
                json.dumps({"url": f"http://127.0.0.1:1/{index}?sig={MARKER}{text[:50]}", "name": text or "x"})
                for index, text in enumerate(texts)
            ]
            content = "[" + ",".join(lines) + "]" if form == "json" else "\n".join(lines)
        elif form in ("metalink", "sitemap"):
            content = "<metalink xmlns='urn:ietf:params:xml:ns:metalink'>" + "".join(
                f"<file name='{text}'><url>http://u:{MARKER}@127.0.0.1:1/{text}</url></file>"
                for text in texts) + "</metalink>"
        else:
            content = "\n".join(f"http://127.0.0.1:1/{index}?sig={MARKER}{text},{text}"
                                for index, text in enumerate(texts))
        data = content.encode("utf-8", "surrogatepass")
        ended = lab.run("catalog", "check", "-", "--format", form, "--errors", "30", stdin=data)
        happened = look(ended)
        for text in texts:
            record.judge((form, text), None)
        if happened:
            record.fail((form, data[:2_000]), happened)


def fetched(lab, record, host):
    """Files of signed URLs, fetched to a directory: names, checksum files, the report's paths and the output."""
    site = lab.scratch / "strings" / "dest"
    urls = [
        shape.format(host=host, hide=hide, mark=MARKER).replace("/a", f"/{number}/{index}/a")
        for number, shape in enumerate(("http://{host}/a?{hide}sig={mark}",
                                        "http://{host}/a?x=1&Signature={mark}{hide}",
                                        "http://{host}/a?token={mark}", "http://{host}/a#{mark}"))
        for index, hide in enumerate(HIDING)
    ]
    (lab.scratch / "signed").write_text("\n".join(urls) + "\n", errors="surrogatepass")
    report = lab.scratch / "strings.json"
    ended = lab.run("prefetch",
                    lab.scratch / "signed",
                    "--format",
                    "urls",
                    "--to",
                    site,
                    "--state",
                    lab.scratch / "state-strings",
                    "--report",
                    report,
                    "--durability",
                    "none",
                    seconds=90,
                    environment={"DRAY_LOG": "debug"})
    happened = look(ended, (0, 1))
    if not happened:
        names = [str(path.relative_to(site)) for path in site.rglob("*")]
        for path in site.rglob("SHA256SUMS"):
            names += path.read_text(errors="replace").splitlines()
        # What is only like a signature's name, `\u0301sig`, is a parameter as any other, and in the name.
        names = [name for name in names if MARKER in name and not re.search(r"[?&](%[0-9A-Fa-f]{2})+sig=", name)]
        happened = f"a secret in names at the edge: {names[:3]}" if names else None
    if not happened and report.exists():
        happened = oracles.secret(re.sub(rb'"path" ?: ?"[^"]*"', b"", report.read_bytes()), MARKER.encode())
    for url in urls:
        record.judge(url, None)
    if happened:
        record.fail("a list of signed URLs", happened)


def commands(lab, record, host, random):
    """Commands with secrets and naughty strings as operands and options."""
    commands = (["fetch", "{}", "--retries", "0", "--output",
                 "/nonexistent/x"], ["inspect", "{}"], ["loadtest", "{}", "--requests", "1",
                                                        "--yes"], ["catalog", "cancel", "{}"],
                ["queue", "pause", "{}"], ["site", "set", "{}", "--maximum",
                                           "1MB/s"], ["origins", "set", "{}", "--connections",
                                                      "1"], ["assets", "{}"], ["plan", "--set={}"], ["plan", "{}"],
                ["status", "--state", "{}"], ["fetch", "http://127.0.0.1:1/",
                                              "--header={}"], ["prefetch", "x", "--to",
                                                               "{}"], ["catalog", "check",
                                                                       "{}"], ["{}"], ["histogram", "{}"])
    environment = {"DRAY_COORDINATOR": f"http://127.0.0.1:{lab.port}", "DRAY_TOKEN": lab.token}
    # An operand is the caller's own; in other text a secret cannot be found.
    texts = [text for text in secrets("127.0.0.1:1") if "://" in text and f"#{MARKER}" not in text]
    texts += [naughty(random) for _ in range(300)]
    for number, text in enumerate(random.sample(texts, record.count(len(texts), 60))):
        command = [part.replace("{}", text) for part in commands[number % len(commands)]]
        try:
            arguments = [part.encode("utf-8", "surrogateescape").replace(b"\0", b"") for part in command]
        except UnicodeEncodeError:
            arguments = [part.encode("utf-8", "surrogatepass").replace(b"\0", b"") for part in command]
        if any(len(argument) > 100_000 for argument in arguments):
            continue
        ended = lab.run(*[argument.decode("utf-8", "surrogateescape") for argument in arguments],
                        environment=environment)
        record.judge(command, look(ended))


# MARK: What is left of it

def shown(lab, record):
    """Commands that show the texts that the cluster has."""
    environment = {"DRAY_COORDINATOR": f"http://127.0.0.1:{lab.port}", "DRAY_TOKEN": lab.token}
    for command in (["status"], ["queue", "list"], ["origins"], ["site"], ["assets", "1"], ["assets",
                                                                                            "2"], ["assets", "3"]):
        ended = lab.run(*command, environment=environment)
        record.judge(command, look(ended))
        ended = lab.run(*command, "--json", environment=environment)
        record.judge([*command, "--json"],
                     oracles.process(ended) or oracles.secret(ended.stdout + ended.stderr, MARKER.encode())
                     or (None if not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", ended.stdout) else
                         "raw control characters in JSON"))
    # What is logged is written by now.
    time.sleep(0.2)
    log = lab.coordinator.log.read_bytes()
    record.judge("the coordinator's log", oracles.controls(log) or oracles.secret(log, MARKER.encode()))


def kept(lab, record):
    """No column of the database but those of URLs has a secret."""
    columns = lab.sql("SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'dray' "
                      "AND data_type IN ('text', 'jsonb', 'ARRAY', 'character varying')")
    for line in columns.split("\n"):
        table, column = line.split("\t")
        if (table, column) in URL_COLUMNS:
            continue
        found = lab.sql(
            f"SELECT \"{column}\"::text FROM dray.\"{table}\" WHERE \"{column}\"::text LIKE '%{MARKER}%' LIMIT 1")
        record.judge(f"{table}.{column}", f"a secret is kept: {found!r}" if found else None)
