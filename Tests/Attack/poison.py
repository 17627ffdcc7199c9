"""A URL that kills its worker, simulated by kill -9: its job is held after two deaths, and the pool lives."""

import json
import signal
import time

from .lab import ORIGIN_ADDRESS
from .origins import Origin, ok

GOOD = 8


def attack(lab, record):
    # Never answered: the worker is killed while it waits.
    origin = Origin(ORIGIN_ADDRESS, lambda path: None if path == "/poison" else ok(b"good"))
    try:
        # A lease is lost in five seconds.
        with lab.another_cluster("poison"):
            play(lab, record, origin)
    finally:
        origin.close()


def play(lab, record, origin):
    _, storage = lab.site("poison")
    rows = [{"name": f"g{number}", "url": f"{origin.url}/good/{number}", "kind": "file", "key": f"g/{number}"}
            for number in range(GOOD)]
    rows.insert(3, {"name": "poison", "url": f"{origin.url}/poison", "kind": "file", "key": "poison"})
    catalog, _ = lab.submit("poison", storage, rows)
    deaths = 0
    limit = time.monotonic() + 60
    state = None
    while time.monotonic() < limit:
        asked = origin.asked.count("/poison")
        worker = lab.start_worker(f"poison-{deaths}", "--allow-addresses", ORIGIN_ADDRESS, "--connections", "8")
        try:
            while time.monotonic() < limit:
                state = asset(lab, catalog)
                if origin.asked.count("/poison") > asked or state["state"] == "failed":
                    break
                time.sleep(0.2)
            if state["state"] == "failed":
                wait_for_rest(lab, catalog, limit)
                break
        finally:
            lab.stop(worker, signal.SIGKILL if state["state"] != "failed" else signal.SIGTERM)
        deaths += 1
    code = (state.get("failure") or {}).get("code")
    record.judge("the URL that kills",
                 None if code == "worker.poison" else f"{state['state']} with {code} after {deaths} deaths")
    record.judge("deaths", None if deaths <= 2 else f"it killed {deaths} workers")
    rest = [row for row in lab.pages(f"/v1/catalogs/{catalog}/assets", "assets") if row["name"] != "poison"]
    left = [row["name"] for row in rest if row["state"] != "completed"]
    record.judge("the rest of the catalog", f"not completed: {left[:5]}" if left or len(rest) != GOOD else None)


def asset(lab, catalog):
    wake(lab)
    return next(row for row in lab.pages(f"/v1/catalogs/{catalog}/assets", "assets") if row["name"] == "poison")


def wake(lab):
    """Has workers that wait for work ask again, as other submissions of a busy cluster do."""
    for queue in json.loads(lab.ask("GET", "/v1/queues").body)["queues"]:
        lab.ask("POST", f"/v1/queues/{queue['name']}/control", {"action": "resume"})


def wait_for_rest(lab, catalog, limit):
    while time.monotonic() < limit:
        wake(lab)
        rows = lab.pages(f"/v1/catalogs/{catalog}/assets", "assets")
        if all(row["state"] in ("completed", "failed") for row in rows):
            return
        time.sleep(0.1)
