"""A private cluster, `dray up`, for load tests: its coordinator, its workers and a PostgreSQL."""

import http.client
import json
import os
import pathlib
import secrets
import signal
import socket
import subprocess
import sys
import time

START_SECONDS = 60
REUSE_SECONDS = 20


class Cluster:
    """Runs from its creation to `stop`. Its answers are those of one kept connection.

    `arguments` are further ones of `dray up`. The port is a free one, the state a folder of `work`, by default. Its
    own workers write below `root`, by default `work`.
    """

    def __init__(self, dray, work, port=None, patience_seconds=60, state=None, arguments=(), root=None):
        self.dray, self.work, self.port = dray, pathlib.Path(work), int(port or free_port())
        self.token = secrets.token_hex(32)
        self.log = self.work / "log"
        # Without the settings of who starts it.
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("DRAY_")} | {
            "DRAY_LOG": "warning", "DRAY_TOKEN": self.token,
            "DRAY_COORDINATOR": "http://127.0.0.1:%d" % self.port, "LANG": "C.UTF-8"}
        self.log.write_bytes(b"")
        self.process = self.start(
            "up", "--state", state or self.work / "state", "--root", root or self.work,
            "--listen", "127.0.0.1:%d" % self.port, *arguments)
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=patience_seconds)
        self.used_at = time.monotonic()
        self.wait_for(self.is_ready)

    def start(self, *words):
        """A command of dray that runs beside this process, with its output in the log."""
        with open(self.log, "ab") as log:
            return subprocess.Popen(
                [self.dray, *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment)

    def wait_for(self, condition):
        limit = time.monotonic() + START_SECONDS
        while not condition():
            if self.process.poll() is not None or time.monotonic() > limit:
                self.stop()
                sys.exit("the cluster did not start: " + self.log.read_text())
            time.sleep(0.1)

    def is_ready(self):
        try:
            return self.answer("GET", "/readyz")[0] == 200
        except OSError:
            self.connection.close()
            return False

    def answer(self, method, path, body=None):
        """The status and the bytes of an answer."""
        # The coordinator closes connections that were idle for a minute; the next request opens another.
        if time.monotonic() - self.used_at > REUSE_SECONDS:
            self.connection.close()
        self.connection.request(
            method, path, body=None if body is None else json.dumps(body),
            headers={"Authorization": "Bearer " + self.token, "Content-Type": "application/json"})
        answer = self.connection.getresponse()
        text = answer.read()
        self.used_at = time.monotonic()
        return answer.status, text

    def call(self, method, path, body=None):
        """The bytes of an answer that is no failure."""
        status, text = self.answer(method, path, body)
        if status != 200:
            sys.exit("%s %s: %d %s" % (method, path, status, text[:500].decode(errors="replace")))
        return text

    def ask(self, method, path, body=None):
        return json.loads(self.call(method, path, body))

    def run(self, *words):
        """A command of dray, which has to succeed."""
        found = subprocess.run(
            [self.dray, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=self.environment)
        if found.returncode != 0:
            sys.exit("dray %s: %s%s%s" % (
                " ".join(map(str, words)), found.stdout, found.stderr, self.log.read_text()))

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def free_port():
    """A port of loopback that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
