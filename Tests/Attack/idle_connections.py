"""Thousands of connections without a token, all kinds of half requests: who has the token is answered all the same."""

import multiprocessing
import os
import pathlib
import resource
import sys
import time

from . import oracles

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "loadtest"))
import idle_connections as benchmark  # noqa: E402

CONNECTIONS = 5_000
MAX_DESCRIPTORS = 1_100
MAX_MIB = 64


def attack(lab, record):
    lab.start_cluster()
    raise_limit()
    coordinator = lab.start_coordinator("connections", database="postgres")
    before = cost(coordinator.pid)
    ending, told = multiprocessing.Event(), multiprocessing.Queue()
    attacker = multiprocessing.Process(target=benchmark.attack, args=(coordinator.port, CONNECTIONS, ending, told))
    attacker.start()
    try:
        limit = time.monotonic() + record.count(15, 5)
        while time.monotonic() < limit:
            answer = lab.ask("GET", "/v1/status", port=coordinator.port)
            record.judge("an authorised request", oracles.answer(answer, allowed={200}))
            time.sleep(0.02)
        during = cost(coordinator.pid)
    finally:
        ending.set()
        held = told.get(timeout=30)
        attacker.join(30)
    answer = lab.ask("GET", "/v1/status", port=coordinator.port)
    record.judge("an authorised request afterwards", oracles.answer(answer, allowed={200}))
    lab.stop(coordinator)
    record.tried += CONNECTIONS
    record.judge(f"descriptors for {held['opened']} connections",
                 bound("descriptors", during[0] - before[0], MAX_DESCRIPTORS))
    record.judge(f"memory for {held['opened']} connections", bound("MiB", during[1] - before[1], MAX_MIB))
    if held["opened"] < CONNECTIONS:
        record.fail("the attack itself", f"only {held['opened']} connections were opened")
    record.notes.append(f"{held['opened']} connections opened, {during[0] - before[0]} descriptors and "
                        f"{during[1] - before[1]:.0f} MiB more")


def bound(what, value, most):
    return f"{value:.0f} {what}, more than {most}" if value > most else None


def cost(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return len(os.listdir(f"/proc/{pid}/fd")), int(status.split("VmRSS:")[1].split()[0]) / 1024


def raise_limit():
    # For the coordinator as well, which inherits it: its own bounds are to hold, not the system's.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
