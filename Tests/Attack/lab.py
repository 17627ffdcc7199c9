"""What is attacked: PostgreSQL, a coordinator and workers, all started here, on loopback, and stopped at the end."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from .oracles import Answer, Ended

START_SECONDS = 60
STOP_SECONDS = 25
ORIGIN_ADDRESS = "127.0.0.77"


def free_port(address="127.0.0.1"):
    with socket.socket() as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


class Lab:
    def __init__(self, dray):
        self.dray = str(dray)
        self.token = secrets.token_hex(32)
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="dray-attack.", dir="/var/tmp"))
        # As root, PostgreSQL runs as another user, which has to get to its directory.
        self.scratch.chmod(0o755)
        self.processes = []
        self.is_closed = False
        self.sites = self.scratch / "sites"
        self.sites.mkdir()
        self.port = None
        self.kept = None
        self.takes_roots = b"--root " in self.run("worker", "--help").stdout
        self.numbered = 0

    # MARK: Processes

    def environment(self, more=None):
        base = {name: value for name, value in os.environ.items() if not name.startswith(("DRAY_", "PG"))}
        return base | {"SWIFT_BACKTRACE": "enable=no", "HOME": str(self.scratch),
                       "TMPDIR": str(self.scratch)} | (more or {})

    def run(self, *arguments, seconds=30, stdin=b"", environment=None, prefix=()):
        """Runs one command to its end."""
        self.check_open()
        begin = time.monotonic()
        child = subprocess.Popen(
            [*prefix, self.dray, *map(os.fsencode, map(str, arguments))], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment(environment),
            cwd=self.scratch, start_new_session=True)
        self.processes.append(child)
        try:
            stdout, stderr = child.communicate(stdin, seconds)
            status = child.returncode
        except subprocess.TimeoutExpired:
            # Politely first: what it started itself is to end with it.
            os.killpg(child.pid, signal.SIGTERM)
            try:
                stdout, stderr = child.communicate(timeout=STOP_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                stdout, stderr = child.communicate()
            status = None
        finally:
            if child in self.processes:
                self.processes.remove(child)
        return Ended(status, stdout, stderr, time.monotonic() - begin)

    def start(self, name, command, environment=None):
        """Starts what runs until the end; its output is in a file called `name`."""
        self.check_open()
        log = self.scratch / f"{name}.log"
        with open(log, "ab") as output:
            child = subprocess.Popen(
                list(map(str, command)), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                env=self.environment(environment), cwd=self.scratch, start_new_session=True)
        child.log = log
        self.processes.append(child)
        return child

    def stop(self, child, number=signal.SIGTERM):
        if child.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, number)
            try:
                child.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        if child in self.processes:
            self.processes.remove(child)

    def check_open(self):
        if self.is_closed:
            raise RuntimeError("the attacks are being ended")

    def close(self):
        self.is_closed = True
        for child in reversed(list(self.processes)):
            # PostgreSQL: fast shutdown, without waiting for sessions.
            self.stop(child, signal.SIGINT if child is getattr(self, "server", None) else signal.SIGTERM)
        shutil.rmtree(self.scratch, ignore_errors=True)

    def wait_for(self, what, condition, seconds=START_SECONDS, child=None):
        limit = time.monotonic() + seconds
        while True:
            found = condition()
            if found:
                return found
            if time.monotonic() > limit or (child is not None and child.poll() is not None):
                text = child.log.read_text(errors="replace")[-2_000:] if child is not None else ""
                raise RuntimeError(f"{what} did not come\n{text}")
            time.sleep(0.05)

    # MARK: The cluster

    @staticmethod
    def as_server(command):
        if os.geteuid() != 0:
            return command
        return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", *command]

    def start_database(self):
        found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        if not found:
            raise RuntimeError("no PostgreSQL in /usr/lib/postgresql; install the package postgresql")
        self.postgres = found[-1]
        self.database_directory = self.scratch / "pg"
        self.database_directory.mkdir(mode=0o700)
        if os.geteuid() == 0:
            shutil.chown(self.database_directory, "postgres", "postgres")
        data = self.database_directory / "data"
        subprocess.run(
            self.as_server([str(self.postgres / "initdb"), "-D", str(data), "-U", "owner", "-A", "trust",
                            "-N", "--locale=C", "--encoding=UTF8"]),
            check=True, stdout=subprocess.DEVNULL, cwd="/", env=self.environment())
        self.server = self.start("postgres", self.as_server(
            [str(self.postgres / "postgres"), "-D", str(data), "-k", str(self.database_directory), "-c",
             "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=200"]))
        self.wait_for("PostgreSQL", lambda: self.sql("SELECT 1", check=False) == "1", child=self.server)

    def sql(self, statement, check=True, database="postgres", user="owner"):
        done = subprocess.run(
            [str(self.postgres / "psql"), "-h", str(self.database_directory), "-U", user, "-d", database, "-XAtq",
             "-v", "ON_ERROR_STOP=1", "-F", "\t"],
            input=statement.encode(), capture_output=True, env=self.environment())
        if check and done.returncode != 0:
            raise RuntimeError(done.stderr.decode("utf-8", "replace"))
        return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n") if done.returncode == 0 else None

    def database(self, name="postgres", user="owner"):
        return f"host={self.database_directory} user={user} dbname={name}"

    def certificate(self, name):
        """A certificate for 127.0.0.1 that is its own authority, and its key."""
        files = self.scratch / f"{name}.pem", self.scratch / f"{name}.key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-days",
             "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-out", str(files[0]),
             "-keyout", str(files[1])], check=True, capture_output=True)
        return files

    def start_coordinator(self, name="coordinator", database="postgres", environment=None, options=()):
        child = self.start(
            name, [self.dray, "coordinator", "--database", self.database(database), "--listen", "127.0.0.1:0",
                   *options],
            # No lease runs out while its requests are spoiled.
            {"DRAY_TOKEN": self.token, "DRAY_LEASE_SECONDS": "3600"} | (environment or {}))
        pattern = re.compile(r"(?:127\.0\.0\.1:|port=)(\d+)")
        found = self.wait_for(
            "the coordinator", lambda: pattern.search(child.log.read_text(errors="replace")), child=child)
        child.port = int(found.group(1))
        return child

    @contextlib.contextmanager
    def another_cluster(self, name, environment=None, seconds_of_lease="5"):
        """A coordinator with a database and workers of its own, in place of the lab's while it lasts."""
        self.start_cluster()
        self.sql(f"CREATE DATABASE {name}")
        child = self.start_coordinator(
            f"coordinator-{name}", name, {"DRAY_LEASE_SECONDS": seconds_of_lease} | (environment or {}))
        port, self.port, self.kept = self.port, child.port, None
        try:
            yield child
        finally:
            self.port, self.kept = port, None
            self.stop(child)

    def start_cluster(self):
        if self.port is None:
            self.start_database()
            self.coordinator = self.start_coordinator()
            self.port = self.coordinator.port
        return self

    def start_worker(self, name, *options, environment=None):
        """A worker as in a cluster; it may write below the sites' directory only, if it has that option."""
        roots = ["--root", self.sites] if self.takes_roots else []
        return self.start(
            name, [self.dray, "worker", "--coordinator", f"http://127.0.0.1:{self.port}", "--durability", "none",
                   *roots, *options], {"DRAY_TOKEN": self.token} | (environment or {}))

    def site(self, name):
        """A new directory for a site, and its URL."""
        self.numbered += 1
        path = self.sites / f"{name}-{self.numbered}"
        path.mkdir()
        return path, f"file://{path}"

    # MARK: The API

    def ask(self, method, path, body=None, headers=None, port=None, token=True, seconds=20):
        """One request on a connection that is kept."""
        begin = time.monotonic()
        if port is not None or self.kept is None:
            connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=seconds)
        else:
            connection = self.kept
        lines = {"Content-Type": "application/json"} if body is not None else {}
        if token:
            lines["Authorization"] = "Bearer " + (self.token if token is True else token)
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode("utf-8", "surrogatepass")
        try:
            connection.request(method, path, body, lines | (headers or {}))
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException, ValueError) as error:
            connection.close()
            if connection is self.kept:
                # Closed between two requests: asked once more, on another one.
                self.kept = None
                return self.ask(method, path, body, headers, port, token, seconds)
            return Answer(None, {}, f"{type(error).__name__}: {error}".encode(), time.monotonic() - begin)
        if port is None and not answer.will_close:
            self.kept = connection
        else:
            connection.close()
            self.kept = None if port is None else self.kept
        return Answer(answer.status, dict(answer.getheaders()), content, time.monotonic() - begin)

    def submit(self, name, storage_url, assets, priority=5, doubtful=()):
        """Submits and starts a catalog; returns its number, and what was refused of it with the answers.

        What is `doubtful` is submitted each by itself.
        """
        opened = self.ask("POST", "/v1/catalogs", {
            "name": name, "storageURL": storage_url, "priority": priority})
        if opened.status != 200:
            raise RuntimeError(f"the catalog was refused: {opened.body!r}")
        catalog = json.loads(opened.body)
        number, generation = catalog["id"], catalog["generation"]
        refused = []
        parts = [assets[start:start + 2_000] for start in range(0, len(assets), 2_000)]
        for part in parts + [[asset] for asset in doubtful]:
            answer = self.ask("POST", f"/v1/catalogs/{number}/assets", {"generation": generation, "assets": part})
            if answer.status != 204:
                refused.append((part, answer))
        started = self.ask("POST", f"/v1/catalogs/{number}/start", {"generation": generation})
        if started.status not in (200, 204):
            raise RuntimeError(f"the start was refused: {started.body!r}")
        return number, refused

    def pages(self, path, field):
        """All rows of a list that comes in pages."""
        rows, after = [], None
        while True:
            mark = "&" if "?" in path else "?"
            answer = self.ask("GET", path + (f"{mark}after={after}" if after is not None else ""))
            if answer.status != 200:
                raise RuntimeError(f"{path}: {answer.body!r}")
            page = json.loads(answer.body)
            rows += page[field]
            after = page.get("next")
            if after is None:
                return rows
