"""Requests without the token, files of the token, sites outside of a worker's roots, other roles of the database, planted links."""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import time

from . import oracles
from .lab import ORIGIN_ADDRESS, free_port
from .origins import Origin, ok
from .wire import Documents

GETS = ("/v1/status", "/v1/assets?catalog=1", "/v1/checksums?site=1", "/v1/cooldowns", "/v1/catalogs/1",
        "/v1/catalogs/1/assets", "/v1/catalogs/1/files", "/v1/catalogs/1/refresh", "/v1/load-tests",
        "/v1/load-tests/1", "/v1/queues", "/v1/origins", "/v1/sites", "/v1/workers/wanted", "/v1/workers/history",
        "/v1/nothing", "/v1", "/", "/metrics", "/v1/catalogs/999999999")


def attack(lab, record):
    lab.start_cluster()
    routes(lab, record)
    private_cluster(lab, record)
    coordinator_without(lab, record)
    outside_roots(lab, record)
    other_roles(lab, record)
    planted(lab, record)


# MARK: Without the token

def routes(lab, record):
    paths = [("POST", path, body) for path, body in Documents(lab).bodies()] + [("GET", path, None) for path in GETS]
    paths += [(method, "/v1/status", None) for method in ("OPTIONS", "PUT", "DELETE", "HEAD", "PATCH")]
    token = lab.token
    wrong = (None, "", " ", token[:-1], token + "0", token[1:], token[:len(token) // 2], token.upper(),
             "0" * len(token), token + " x", token + "\x00", "*", "null", token.replace("a", "b"),
             f"{token}{token}")
    seen = {}
    for method, path, body in paths if not record.is_short else paths[::2]:
        for value in wrong if not record.is_short else wrong[:6]:
            headers = {} if value is None else {"Authorization": f"Bearer {value}"}
            judge_rejection(lab, record, seen, method, path, body, headers)
        for headers in ({"Authorization": token}, {"Authorization": f"Basic {token}"},
                        {"Authorization": f"bearer: {token}"}, {"Authorization": f"Bearer  {token}"},
                        {"X-Authorization": f"Bearer {token}"}, {"Cookie": f"token={token}"},
                        {"Authorization": f"Bearer {token},x"}):
            judge_rejection(lab, record, seen, method, path, body, headers)
        judge_rejection(lab, record, seen, method, f"{path}{'&' if '?' in path else '?'}token={token}", body, {})
    # That there is none, or that it is a wrong one; of the path and the method nothing.
    record.judge("answers without a token", None if len(seen) <= 2 else f"rejections differ: {list(seen)[:3]}")
    for path in ("/healthz", "/readyz"):
        record.judge(path, oracles.answer(lab.ask("GET", path, token=False), allowed={200}))


def judge_rejection(lab, record, seen, method, path, body, headers):
    answer = lab.ask(method, path, body, headers, token=False)
    happened = None
    if answer.status == 400 and "\0" in headers.get("Authorization", ""):
        happened = oracles.code(answer) if method != "HEAD" else None
    elif answer.status != 401:
        happened = f"status {answer.status}: {oracles.tail(answer.body)}"
    elif method != "HEAD":
        happened = oracles.code(answer)
        seen[answer.body] = True
    record.judge((method, path, headers), happened)


# MARK: The private cluster's token

def private_cluster(lab, record):
    state = lab.scratch / "state-up"
    port = free_port()
    child = lab.start("up", [lab.dray, "up", "--state", state, "--listen", f"127.0.0.1:{port}"])
    try:
        lab.wait_for("dray up", lambda: lab.ask("GET", "/healthz", port=port, token=False).status == 200, child=child)
        answer = lab.ask("GET", "/v1/status", port=port, token=False)
        record.judge("dray up without a token",
                     None if answer.status == 401 else f"answers {answer.status} to who has none")
        path = state / "token"
        record.judge("STATE/token", token_file_fault(path))
        if path.exists():
            token = path.read_text().strip()
            record.judge("its own token",
                         oracles.answer(lab.ask("GET", "/v1/status", port=port, token=token), allowed={200}))
            record.judge("the token's length", None if len(token) >= 32 else f"{len(token)} characters")
            log = child.log.read_bytes()
            record.judge("the log of dray up", oracles.secret(log, token.encode()))
            arguments = pathlib.Path(f"/proc/{child.pid}/cmdline").read_bytes()
            record.judge("the arguments of dray up", oracles.secret(arguments, token.encode()))
            if os.geteuid() == 0:
                record.judge("another user", other_user_fault(path))
        else:
            record.fail("STATE/token", "there is none")
    finally:
        lab.stop(child)


def token_file_fault(path):
    if not path.exists():
        return "there is none"
    found = path.lstat()
    mode = stat.S_IMODE(found.st_mode)
    if mode & 0o077 or not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        return f"mode {mode:o}, owner {found.st_uid}"
    return None


def other_user_fault(path):
    done = subprocess.run(["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "cat",
                           str(path)],
                          capture_output=True)
    return "another user reads it" if done.returncode == 0 else None


def coordinator_without(lab, record):
    """No coordinator starts without a token, wherever it listens."""
    for listen in ("127.0.0.1:0", "[::1]:0", "0.0.0.0:0"):
        for environment in ({}, {"DRAY_TOKEN": ""}, {"DRAY_TOKEN": "short"}):
            ended = lab.run("coordinator",
                            "--database",
                            lab.database(),
                            "--listen",
                            listen,
                            seconds=4,
                            environment=environment)
            happened = None if ended.status == 2 else "it starts" if ended.status is None else oracles.process(
                ended) or f"exit {ended.status}"
            record.judge((listen, environment), happened)


# MARK: Sites outside of the roots

def outside_roots(lab, record):
    if not lab.takes_roots:
        record.fail("a site at file:///etc", "dray worker has no --root: it writes wherever it is sent to")
        return
    with lab.another_cluster("roots"):
        sites_outside(lab, record)


def sites_outside(lab, record):
    outside = lab.scratch / "outside"
    outside.mkdir()
    link = lab.sites / "link-out"
    link.symlink_to(outside)
    origin = Origin(ORIGIN_ADDRESS, lambda path: ok(b"good"))
    worker = lab.start_worker("roots", "--allow-addresses", ORIGIN_ADDRESS)
    places = [
        f"file://{outside}", "file:///etc", "file:///", f"file://{lab.sites}/../outside",
        f"file://{lab.sites}-other", f"file://{link}", f"file://{link}/deeper", f"file://{lab.sites}/./../outside",
        f"file://{outside}/", "file:///proc/self/root" + str(outside)
    ]
    try:
        # Where no worker is known, what is submitted waits for one.
        lab.wait_for("the worker", lambda: json.loads(lab.ask("GET", "/v1/status").body)["workers"], child=worker)
        waiting = {}
        for number, place in enumerate(places):
            opened = lab.ask("POST", "/v1/catalogs",
                             {"name": f"outside-{number}", "storageURL": place, "priority": 9})
            if opened.status != 200:
                record.judge(place, oracles.refused(opened, {400, 409}))
                continue
            catalog, _ = lab.submit(f"outside-{number}", place, [
                {"name": "x", "url": f"{origin.url}/x", "kind": "file", "key": "dray-attack-x"}], priority=9)
            waiting[catalog] = place
        limit = time.monotonic() + 15
        outcomes = {}
        while time.monotonic() < limit and None in (outcomes or {0: None}).values():
            outcomes = {place: outcome(lab, catalog) for catalog, place in waiting.items()} or {0: "none"}
            time.sleep(0.2)
        for place in waiting.values():
            record.judge(place, site_fault(outcomes[place]))
    finally:
        lab.stop(worker)
        origin.close()
    written = [
        str(path) for path in (outside, pathlib.Path("/etc"), pathlib.Path("/"))
        if (path / "dray-attack-x").exists() or path == outside and any(path.iterdir())
    ]
    for path in written:
        pathlib.Path(path, "dray-attack-x").unlink(missing_ok=True)
    record.judge("outside of the roots", f"written to {written}" if written else None)


def outcome(lab, catalog):
    """The code that a file failed with, `completed`, or the reason why its catalog waits; else None."""
    row = lab.pages(f"/v1/catalogs/{catalog}/assets", "assets")[0]
    if row["state"] in ("failed", "completed"):
        return (row.get("failure") or {}).get("code", row["state"])
    issue = json.loads(lab.ask("GET", f"/v1/catalogs/{catalog}").body).get("issue")
    return issue and issue["code"]


def site_fault(code):
    """A site that leads out of the roots, by its name or by a link, is refused with a code."""
    return None if code in ("storage.outsideRoots", "storage.pathRefused") else f"ends with {code}"


# MARK: Other roles of the database

#: Names that Dray's statements use, with arguments, result and value: what another role defines under them is never
#: to run as Dray's.
FUNCTIONS = """
hashtextextended | text, bigint | bigint | 0
hashtext | text | int | 0
now |  | timestamptz | clock_timestamp()
clock_timestamp |  | timestamptz | pg_catalog.now()
lower | text | text | $1
length | text | int | 0
md5 | text | text | $1
array_length | bigint[], int | int | 0
cardinality | bigint[] | int | 0
to_timestamp | double precision | timestamptz | pg_catalog.now()
make_interval |  | interval | '0'
left | text, int | text | $1
starts_with | text, text | boolean | true
count |  | bigint | 0
coalesce_text | text | text | $1
pg_notify | text, text | void | NULL
pg_try_advisory_xact_lock | bigint | boolean | true
pg_advisory_xact_lock | bigint | void | NULL
gen_random_uuid |  | uuid | NULL
sha256 | bytea | bytea | $1
convert_to | text, text | bytea | NULL
encode | bytea, text | text | NULL
split_part | text, text, int | text | $1
string_to_array | text, text | text[] | NULL
array_position | text[], text | int | 0
extract | text, timestamptz | numeric | 0
"""
OPERATORS = (("=", "text", "text"), ("<>", "text", "text"), ("=", "bigint", "bigint"), ("<", "bigint", "int"),
             ("=", "bigint", "int"), ("+", "timestamptz", "interval"), ("*", "double precision", "interval"),
             ("||", "text", "text"), ("=", "uuid", "text"), ("@>", "text[]", "text[]"))


def other_roles(lab, record):
    """A role that may create in `public` plants functions, operators and casts before Dray comes."""
    lab.sql("CREATE DATABASE roles")
    lab.sql("CREATE ROLE mallory LOGIN; CREATE ROLE dray_owner LOGIN")
    lab.sql(
        "GRANT ALL ON SCHEMA public TO mallory; GRANT CREATE ON DATABASE roles TO dray_owner; GRANT ALL ON SCHEMA public TO dray_owner; "
        "CREATE TABLE public.ran (what text, who text); GRANT ALL ON public.ran TO PUBLIC",
        database="roles")
    planted = 0
    for line in FUNCTIONS.strip().split("\n"):
        name, arguments, result, value = line.split(" | ")
        body = f"BEGIN INSERT INTO public.ran VALUES ('{name}', current_user); " + (
            f"RETURN {value}; END" if result != "void" else "END")
        planted += mallory(
            lab, f"CREATE FUNCTION public.{name}({arguments}) RETURNS {result} LANGUAGE plpgsql AS $f$ {body} $f$")
    for number, (operator, left, right) in enumerate(OPERATORS):
        planted += mallory(
            lab,
            f"CREATE FUNCTION public.op{number}({left}, {right}) RETURNS boolean LANGUAGE plpgsql AS $f$ BEGIN "
            f"INSERT INTO public.ran VALUES ('{operator}', current_user); RETURN true; END $f$; "
            f"CREATE OPERATOR public.{operator} (LEFTARG = {left}, RIGHTARG = {right}, FUNCTION = public.op{number})"
        )
    planted += mallory(lab, "CREATE DOMAIN public.text AS pg_catalog.text; CREATE TYPE public.bigint AS (x int)")
    planted += mallory(
        lab,
        "CREATE TABLE public.catalog (id int); CREATE TABLE public.job (id int); CREATE VIEW public.asset AS SELECT 1 AS id"
    )
    record.tried += planted
    child = lab.start("roles", [
        lab.dray, "coordinator", "--database",
        lab.database("roles", "dray_owner"), "--listen", f"127.0.0.1:{(port := free_port())}"
    ], {"DRAY_TOKEN": lab.token})
    main_port, lab.port, lab.kept = lab.port, port, None
    try:
        lab.wait_for("the coordinator", lambda: lab.ask("GET", "/readyz", token=False).status == 200, child=child)
        documents = Documents(lab)
        for path, body in documents.bodies():
            record.judge((path, "beside another role's functions"), oracles.answer(lab.ask("POST", path, body)))
        for path in GETS:
            record.judge((path, "beside another role's functions"), oracles.answer(lab.ask("GET", path)))
        # The coordinator's own housekeeping takes a turn.
        time.sleep(2)
        ran = lab.sql("SELECT DISTINCT what, who FROM public.ran WHERE who <> 'mallory'", database="roles")
        record.judge("what ran as Dray's role", f"{ran!r}" if ran else None)
    finally:
        lab.port, lab.kept = main_port, None
        lab.stop(child)
    lab.sql("CREATE DATABASE squatted")
    lab.sql("GRANT CREATE ON DATABASE squatted TO mallory, dray_owner", database="squatted")
    lab.sql("CREATE SCHEMA dray; GRANT ALL ON SCHEMA dray TO PUBLIC", database="squatted", user="mallory")
    ended = lab.run("coordinator",
                    "--database",
                    lab.database("squatted", "dray_owner"),
                    "--listen",
                    "127.0.0.1:0",
                    seconds=8,
                    environment={"DRAY_TOKEN": lab.token})
    record.judge(
        "a schema of another role", None if b"cluster.schemaOwner" in ended.stderr and ended.status not in (0, None)
        else f"exit {ended.status}: {oracles.tail(ended.stderr)}")


def mallory(lab, statement):
    """1 where it can be planted; some names no role but a superuser can take."""
    return 0 if lab.sql(statement, check=False, database="roles", user="mallory") is None else 1


# MARK: Planted links

def planted(lab, record):
    """Links under the names that temporary files might have, in a directory that others write to."""
    shared = lab.scratch / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    victim = lab.scratch / "victim"
    victim.write_text("as it was")
    outputs = (["plan", "--draws", "0", "--html"], ["plan", "--json", "--draws", "0", "--html"])
    for number, command in enumerate(outputs):
        name = f"out{number}.html"
        # The process's number can be guessed: the next ones are planted all.
        with open("/proc/sys/kernel/ns_last_pid",
                  encoding="ascii") if os.path.exists("/proc/sys/kernel/ns_last_pid") else open(os.devnull) as file:
            next_pid = int(file.read().strip() or os.getpid())
        for pid in range(next_pid, next_pid + 400):
            for candidate in (f"{name}.{pid}.tmp", f".{name}.{pid}.tmp", f".{name}.{pid}", f"{name}.tmp.{pid}"):
                plant(shared / candidate, victim)
        for candidate in (f"{name}.tmp", f".{name}.tmp", f".{name}", f"{name}~", f"{name}.part",
                          f".{name}.dray-part", f"{name}.new"):
            plant(shared / candidate, victim)
        ended = lab.run(*command, shared / name)
        happened = "a planted link was followed" if victim.read_text() != "as it was" else oracles.process(ended, {0})
        record.judge(command, happened)
        victim.write_text("as it was")
    shutil.rmtree(shared)
    record.tried += 1_600 * len(outputs)


def plant(path, victim):
    try:
        path.symlink_to(victim)
    except FileExistsError:
        pass
