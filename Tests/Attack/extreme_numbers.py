"""Extreme numbers in every numeric option, field and variable: plans, load tests, workers, the API."""

import concurrent.futures
import json
import re

from . import oracles
from .wire import numeric_fields, Documents

#: As text: of options, of `--set`, of variables.
TEXTS = (
    "0", "-0", "-1", "1", "2", "0.5", "-0.5", "1e-1", "1e-7", "1e-15", "1e-40", "1e-300", "2.2250738585072014e-308",
    "1e-320", "4.9e-324", "1e-400", "1e5", "1e9", "1e15", "9007199254740993", "1e18", "9.3e18", "1e19", "1e40",
    "1e300", "1.7976931348623157e308", "-1.7976931348623157e308", "1e309", "-1e309", "1e9999999999", "nan", "-nan",
    "inf", "-inf", "infinity", "2147483647", "2147483648", "4294967296", "9223372036854775807",
    "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615",
    "18446744073709551616", "99999999999999999999", "0x10", "0x1p-1074", "1e", "1e+", ".", ".5", "5.", "+5", "--5",
    "1.2.3", "1,000", "1_000", " 1", "1 ", "\t1", "", "-", "%", "1%", "1e308%", "1e-322%", "-1%", "1:2:3", "3:2:1",
    "1:1:1e308", "1e-320:1e-320:1e-320", "0:0:0", "::", "1:2", "1:2:3:4", "nan:nan:nan", "1e-320:1:1", "\u0661",
    "\uff11", "\u00bd", "0" * 400, "1" * 400, "0." + "0" * 400 + "1", "1" + "0" * 308, "9" * 25 + "e-20",
    "1e999999999999999999999", "1e-999999999999999999999",
)
#: With units: of sizes, rates and times.
UNITS = (
    "1e308GB", "1e-320GB", "99999999999TB", "9223372036854775807B", "9223372036854775807KiB", "-1GB", "nanGB",
    "1e30h", "1e-320s", "1e309s", "99999999999999999d", "-1s", "infs", "1e18ms", "1e400Mbit/s", "1e-320bit/s",
    "18446744073709551616bit/s", "1e308Gbit/s", "0s", "0B", "0bit/s", "1e-30ms", "1.5e300MB/s", "30s:1e308",
    "1e308s:1", "1e-320s:1", "30s:-1", "1s:1e-320", "1s:nan,1s:2", "9e99h:9e99", "0s:0", ":", "1s:", ":1",
    "5" * 60 + "s", "1e3", "2026-11-22T18:00+99:99", "9999999999-01-01T00:00Z", "0000-00-00T00:00Z",
    "1,1e308,nan", "1,2,99999999999999999999", "-1,0",
)
#: As JSON numbers, which some decoders read otherwise than they should.
JSON_NUMBERS = (
    "0", "-0", "-0.0", "-1", "1", "0.5", "1.5", "1e-7", "1e-40", "1e-320", "4.9e-324", "1e-400", "1e15", "1e18",
    "9.3e18", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
    "18446744073709551616", "1e19", "1e40", "1.7976931348623157e308", "-1.7976931348623157e308", "1e309", "-1e309",
    "1e9999999999", "1E+2", "1e+00", "2147483648", "4294967296", "1" * 400, "1" + "0" * 308,
    "0." + "0" * 400 + "1", "01", "+1", ".5", "5.", "0x10", "NaN", "Infinity", "-Infinity", "1e", "--1", "1_0",
    "\"1\"", "true", "null", "[1]", "{}",
)
OUTPUTS = (("--json",), ("--json",), ("--markdown",), (), ("--emit", "compose"), ("--emit", "kubernetes"),
           ("--emit", "keda"), ("--emit", "postgresql"), ("--json", "--months", "120"), ("--html", "page.html"),
           ("--json", "--simulate", "--jobs", "1000"))
#: What is run for each command: it ends by itself, soon, whatever its options say.
COMMANDS = (
    ("prefetch", ["/nonexistent", "--to", "DIR"]),
    ("refresh", ["nothing", "--state", "/proc/nowhere"]),
    ("fetch", ["http://127.0.0.1:1/a", "--output", "DIR/a", "--retries", "0"]),
    ("inspect", ["/nonexistent"]),
    ("up", ["--state", "/proc/nowhere"]),
    ("coordinator", ["--database", "host=/nonexistent", "--listen", "127.0.0.1:0"]),
    ("worker", ["--coordinator", "http://127.0.0.1:1", "--origin-settings", "/nonexistent"]),
    ("status", ["--state", "/proc/nowhere"]),
    ("queue pause", ["x", "--state", "/proc/nowhere"]),
    ("catalog cancel", ["1", "--state", "/proc/nowhere"]),
    ("catalog reprioritise", ["1", "--state", "/proc/nowhere"]),
    ("catalog reschedule", ["1", "--state", "/proc/nowhere"]),
    ("assets", ["1", "--state", "/proc/nowhere"]),
    ("origins set", ["http://a.example", "--state", "/proc/nowhere"]),
    ("site set", ["edge", "--state", "/proc/nowhere"]),
    ("loadtest", ["http://127.0.0.1:1/a", "--requests", "1"]),
    ("histogram", ["/nonexistent"]),
    ("benchmark queue", ["--directory", "/nonexistent"]),
    ("benchmark transfer", ["/nonexistent", "--to", "DIR"]),
)
#: A price file with a mark for each of its numbers.
PRICES = ("cores", "memory", "nic", "month", "storage", "included", "upTo", "egress")
PRICE_FILE = """{"provider":"p","name":"P","instance":{"type":"t","cores":@cores@,"memoryGigabytes":@memory@,
"nicMegabitsPerSecond":@nic@,"month":{"amount":@month@,"currency":"EUR","date":"2026-01-01","source":"s"}},
"storage":{"type":"t","unit":"TB","unitMonth":{"amount":@storage@,"currency":"EUR","date":"2026-01-01","source":"s"}},
"egress":{"unit":"TB","includedPerMachine":@included@,"tiers":[{"upTo":@upTo@,"price":{"amount":@egress@,
"currency":"EUR","date":"2026-01-01","source":"s"}},{"price":{"amount":1,"currency":"EUR","date":"2026-01-01",
"source":"s"}}]}}"""
#: Simulations of three numbers of servers take ten seconds in a debug build.
MAX_SECONDS = 60


def attack(lab, record):
    lab.start_cluster()
    rows = inputs(lab)
    random = record.random()
    groups = [
        (2_600, [plan(lab, [f"--set={row['path']}={text}"], random) for row in rows for text in TEXTS]),
        (1_600, [scenario(lab, row["path"], number, random) for row in rows for number in JSON_NUMBERS]),
        (2_800, [corner(lab, rows, random) for _ in range(record.count(2_800, 300))]),
        (700, list(plan_options(lab))),
        (500, list(queue_options(lab))),
        (300, list(fits(lab, record.random("fits"), record.count(300, 30)))),
        (300, list(logs(lab))),
        (300, list(prices(lab))),
        (900, list(commands(lab))),
        (500, list(scenarios_of_load(lab))),
        (60, list(variables(lab))),
    ]
    # Another part of them for each seed.
    tasks = [task for most, group in groups
             for task in random.sample(group, min(len(group), record.count(most, most // 15)))]
    # A plan is one process for some 10 ms: two at a time fill both cores.
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for given, happened in pool.map(lambda task: task(), tasks):
            record.judge(given, happened)
    fields(lab, record)


def inputs(lab):
    """The inputs of a plan, as the plan's own JSON names them."""
    ended = lab.run("plan", "--json", "--draws", "0")
    rows = json.loads(ended.stdout)["inputs"]
    return [row for row in rows if isinstance(row.get("unit"), str)]


def judged(lab, arguments, given=None, stdin=b"", environment=None, extra=()):
    def task():
        ended = lab.run(*arguments, seconds=MAX_SECONDS, stdin=stdin, environment=environment)
        happened = oracles.process(ended) or oracles.controls(ended.stdout + ended.stderr)
        if happened is None:
            happened = oracles.numbers(ended) if "--json" in arguments and ended.stdout else \
                oracles.text_numbers(ended)
        return given or list(arguments), happened
    return task


def few_draws(random):
    return ("--draws", random.choice(("0", "0", "0", "3", "20")))


def plan(lab, options, random):
    return judged(lab, ["plan", *options, *few_draws(random), *random.choice(OUTPUTS)])


def scenario(lab, path, number, random):
    """A scenario with one field, its name's parts nested; sometimes one bound of a range."""
    number = random.choice((number, number, '{"low":%s,"likely":%s,"high":%s}' % (number, number, number),
                            '{"low":0,"likely":%s,"high":1e10}' % number))
    group, _, name = path.partition(".")
    text = '{"%s":{"%s":%s}}' % (group, name, number) if name else '{"%s":%s}' % (group, number)
    arguments = ["plan", "-", *few_draws(random), *random.choice(OUTPUTS)]
    return judged(lab, arguments, f"{text} {' '.join(arguments)}", stdin=text.encode())


ALLOWED = {}


def corner(lab, rows, random):
    """Several inputs at once, each at an edge of what is allowed: where formulas divide and multiply."""
    options = []
    for row in random.sample(rows, random.choice((1, 2, 2, 3, 5, 12))):
        low, high = allowed(lab, row["path"])
        near = [low, high, low or 1e-300, low or 1e-320, low or 4.9e-324, low or 1e-40, low or 1e-12,
                low + (high - low) / 2, high / 2, max(low, 1e-9), min(high, 1)]
        values = sorted(random.choice(near) for _ in range(random.choice((1, 1, 1, 3))))
        options.append(f"--set={row['path']}=" + ":".join(repr(value) for value in values))
    return plan(lab, options, random)


def allowed(lab, path):
    """The bounds of an input: as the message says that refuses more."""
    if path not in ALLOWED:
        ended = lab.run("plan", f"--set={path}=1e305", "--draws", "0")
        found = re.search(rb"from (\S+) to (\S+?)[. ]", ended.stderr)
        text = found.groups() if found else (b"0", b"1")
        ALLOWED[path] = tuple(float(part.rstrip(b".").replace(b",", b"")) for part in text)
    return ALLOWED[path]


def options_of(lab, command):
    """The options of a command that take a value, as its help names them."""
    text = lab.run(*command.split(), "--help").stdout.decode()
    return [name for name, kind in re.findall(r"^  (--[a-z0-9-]+) ([A-Z][A-Z0-9:/=…-]*)", text, re.M)
            if kind not in ("FILE", "DIR", "PATH", "DEST", "LIST", "LINE", "HOST", "URL", "RUN", "BLOCKS")
            or name == "--scale"]


def plan_options(lab):
    for option in options_of(lab, "plan"):
        if option in ("--set", "--prices", "--emit", "--html"):
            continue
        draws = () if option == "--draws" else ("--draws", "0")
        # The most draws and jobs that are allowed take seconds; they are no number that surprises.
        for text in TEXTS:
            yield judged(lab, ["plan", f"{option}={text}", *draws, "--json",
                               *(["--simulate"] if option == "--jobs" else [])])


def queue_options(lab):
    base = {"--load": "10", "--servers": "12", "--service-time": "1", "--arrival-cv2": "1", "--service-cv2": "1",
            "--within": "1"}
    for option in (*base, "--target-level"):
        for text in TEXTS:
            for servers in (True, False):
                chosen = base | {option: text}
                if not servers or option == "--target-level":
                    chosen.pop("--servers", None)
                    chosen.setdefault("--target-level", "0.9")
                yield judged(lab, ["plan", "queue", "--json", *(f"{name}={value}" for name, value in chosen.items())])


def fits(lab, random, count):
    """Data of a fit, half of them extreme."""
    for _ in range(count):
        lines = [f"{random.choice((*TEXTS[:30], '1', '2', '4', '8', '16'))},"
                 f"{random.choice((*TEXTS[:30], '100', '190', '350'))}" for _ in range(random.randint(1, 9))]
        if random.random() < 0.7:
            lines = [f"{n},{random.choice(TEXTS[:30])}" for n in (1, 2, 4, 8, 16)]
        text = "\n".join(lines) + "\n"
        yield judged(lab, ["plan", "fit", "-", "--json"], f"plan fit: {text}", stdin=text.encode())


def logs(lab):
    """Access logs and histogram logs with one extreme number."""
    for number in TEXTS:
        for line in (f'1.2.3.4 - - [10/Oct/2025:13:55:36 +0000] "GET /a HTTP/1.1" 200 {number} "-" "-" rt=0.5',
                     f'1.2.3.4 - - [10/Oct/2025:13:55:36 +0000] "GET /a HTTP/1.1" 200 5 "-" "-" rt={number}',
                     f'1.2.3.4 - - [10/Oct/2025:13:55:36 +0000] "GET /a HTTP/1.1" 200 5 "-" "-" {number}',
                     f'1.2.3.4 - - [10/Oct/{number}:13:55:36 +0000] "GET /a HTTP/1.1" 200 5 "-" "-"'):
            good = '1.2.3.4 - - [10/Oct/2025:13:55:37 +0000] "GET /a HTTP/1.1" 200 9 "-" "-" rt=0.1'
            text = f"{good}\n{line}\n{good}\n"
            for command in (["plan", "log", "-"], ["plan", "--from-access-log", "-", "--json", "--draws", "0"]):
                yield judged(lab, command, f"{' '.join(command)}: {line}", stdin=text.encode())
        for line in (f"{number},1,1,HISTFAAAAA", f"1,{number},1,HISTFAAAAA", f"1,1,{number},HISTFAAAAA"):
            yield judged(lab, ["histogram", "/dev/stdin"], f"histogram: {line}", stdin=line.encode() + b"\n")


def prices(lab):
    """A price file with one extreme price, and rates of exchange."""
    for number in JSON_NUMBERS:
        text = '{"money":{"currency":"EUR","exchange":{"USD":%s},"exchangeDate":"2026-01-01"}}' % number
        for output in OUTPUTS[:4]:
            yield judged(lab, ["plan", "-", "--draws", "0", *output], f"plan: {text}", stdin=text.encode())
        for name in PRICES:
            text = PRICE_FILE.replace(f"@{name}@", number)
            for other in PRICES:
                text = text.replace(f"@{other}@", "1")
            yield judged(lab, ["plan", "--prices", "/dev/stdin", "--draws", "0", "--json"], f"prices: {text}",
                         stdin=text.encode())


def commands(lab):
    for command, rest in COMMANDS:
        target = lab.scratch / "numbers"
        target.mkdir(exist_ok=True)
        rest = [part.replace("DIR", str(target)) for part in rest]
        for option in options_of(lab, command):
            for text in (*TEXTS, *UNITS):
                yield judged(lab, [*command.split(), *(part for part in rest), f"{option}={text}"])




LOAD_PLACES = ('"seed":%s', '"popularity":{"zipf":%s}', '"arrivals":{"rate":%s,"seconds":1}',
               '"arrivals":{"rate":1,"seconds":%s}', '"arrivals":{"users":%s,"seconds":1}',
               '"arrivals":{"stages":[{"seconds":%s,"rate":1}]}',
               '"arrivals":{"stages":[{"seconds":1,"rate":%s,"from":0}]}',
               '"arrivals":{"stages":[{"seconds":1,"rate":1,"from":%s}]}',
               '"arrivals":{"stages":[{"seconds":1,"users":%s}]}', '"viewers":{"startupSeconds":%s}',
               '"viewers":{"bufferSeconds":%s}', '"viewers":{"watchSeconds":%s}', '"viewers":{"safety":%s}',
               '"viewers":{"startBitsPerSecond":%s}', '"viewers":{"fixedBitsPerSecond":%s}', '"warmUpSeconds":%s',
               '"caps":{"seconds":%s}', '"caps":{"requests":%s}', '"caps":{"bytes":%s}',
               '"http":{"concurrency":%s}', '"http":{"connectTimeoutSeconds":%s}', '"http":{"timeoutSeconds":%s}',
               '"thinkTime":{"seconds":%s}', '"thinkTime":{"meanSeconds":%s}',
               '"thresholds":[{"threshold":"error_rate < 5%%","abortAfterSeconds":%s}]',
               '"thresholds":["p99(first_byte) < %sms"]', '"thresholds":["p%s(first_byte) < 1ms"]',
               '"thresholds":["error_rate < %s%%"]',
               )


def scenarios_of_load(lab):
    """Scenarios of load tests, one number of each extreme. The target is closed: none is sent."""
    for place in LOAD_PLACES:
        for number in JSON_NUMBERS:
            number = number.replace('"', '\\"') if "<" in place else number
            text = '{"targets":[{"url":"http://127.0.0.1:1/a","weight":1}],%s}' % (place % number)
            yield judged(lab, ["loadtest", "-", "--json"], f"loadtest: {text}", stdin=text.encode())
    for number in JSON_NUMBERS:
        text = '{"targets":[{"url":"http://127.0.0.1:1/a","weight":%s}]}' % number
        yield judged(lab, ["loadtest", "-", "--json"], f"loadtest: {text}", stdin=text.encode())


def variables(lab):
    for name in ("DRAY_LEASE_SECONDS", "DRAY_RETENTION_DAYS"):
        for text in TEXTS:
            if text:
                yield judged(lab, ["coordinator", "--database", "host=/nonexistent", "--listen", "127.0.0.1:0"],
                             f"{name}={text}", environment={name: text, "DRAY_TOKEN": lab.token})


def fields(lab, record):
    """Numeric fields of the API: one at a time in a request that is right otherwise."""
    documents = Documents(lab)
    for path, body, place in numeric_fields(documents):
        for number in JSON_NUMBERS[::record.count(1, 7)]:
            text = json.dumps(body).replace(json.dumps(place), number)
            record.judge(f"POST {path} {text}", oracles.answer(lab.ask("POST", path, text)))
    queries = ("/v1/catalogs/%s", "/v1/catalogs/{catalog}/files?limit=%s", "/v1/catalogs/{catalog}/assets?after=%s",
               "/v1/assets?catalog={catalog}&minimumBytes=%s", "/v1/assets?catalog={catalog}&maximumBytes=%s",
               "/v1/assets?limit=50&catalog=%s", "/v1/assets?catalog={catalog}&limit=%s", "/v1/origins?limit=%s",
               "/v1/checksums?site=%s", "/v1/checksums?site=1&limit=%s", "/v1/workers/wanted?queue=%s", "/v1/workers/history?seconds=%s",
               "/v1/workers/wanted?perWorker=%s", "/v1/workers/wanted?within=%s", "/v1/workers/wanted?maximum=%s",
               "/v1/workers/wanted?minimum=%s")
    for query in queries:
        query = query.replace("{catalog}", str(documents.catalog))
        for text in TEXTS[::record.count(1, 5)]:
            quoted = "".join(f"%{byte:02X}" for byte in text.encode())
            record.judge(f"GET {query % text}", oracles.answer(lab.ask("GET", query % quoted)))
