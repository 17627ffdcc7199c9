"""Asks a coordinator whatever its OpenAPI document describes, and much that it does not, by schemathesis.

A coordinator over a PostgreSQL of its own is asked with a token of each role. It is wrong to answer with 5xx, with a
status, a type or a body that the document does not have, or to accept a method or a token that it must not. See
docs/testing.md.
"""

import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import time

from Attack.lab import Lab

ROLES = ("admin", "operator", "submitter", "reader", "worker")
CONFIGURATION = pathlib.Path(__file__).parent / "schemathesis.toml"
# Routes that hold requests: so long at most, instead of what the document allows.
WAIT_MILLISECONDS = 20


def main():
    options = read_options()
    lab = Lab(options.dray)
    try:
        lab.start_cluster()
        lab.submit("films", lab.site("edge")[1], [
            {"name": f"film {number}", "kind": "file", "url": f"http://origin.test/{number}",
             "key": f"origin.test/{number}"} for number in range(5)])
        document = lab.scratch / "openapi.json"
        document.write_text(json.dumps(with_short_waits(json.loads(lab.ask("GET", "/openapi.json").body))))
        begin = time.monotonic()
        # The runs are of one thread each, and wait for their own answers.
        with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
            results = list(pool.map(lambda role: check(lab, document, role, options), options.role or ROLES))
        for role, status, output, seconds in results:
            print(f"{role}: {summary(output)}, {seconds:.0f} s")
            if status != 0:
                print(output)
        print(f"all: {time.monotonic() - begin:.0f} s; {len(successes(lab))} of "
              f"{sum(map(len, json.loads(document.read_text())['paths'].values()))} routes had a request that succeeded")
        log = lab.coordinator.log.read_text(errors="replace")
        failed = [line for line in log.splitlines() if "request failed" in line]
        print(*failed[:20], sep="\n", end="\n" if failed else "")
        if lab.coordinator.poll() is not None:
            print(f"the coordinator ended\n{log[-4_000:]}")
            failed.append("ended")
        return 1 if failed or any(status != 0 for _, status, _, _ in results) else 0
    finally:
        lab.close()


def read_options():
    parser = argparse.ArgumentParser(prog="check-api", description=__doc__)
    parser.add_argument("--dray", required=True, type=pathlib.Path, help="the binary")
    parser.add_argument("--role", action="append", choices=ROLES, help="only this role's token; repeatable")
    parser.add_argument("--seed", type=int, default=1, help="the same requests again")
    parser.add_argument("--seconds", type=int, default=60, help="time for each role")
    parser.add_argument("--examples", type=int, default=50, help="random requests of each route")
    parser.add_argument("--parallel", type=int, default=2, help="roles at once")
    return parser.parse_args()


def with_short_waits(node):
    """The document with requests that are not held for long."""
    if isinstance(node, list):
        return [with_short_waits(element) for element in node]
    if not isinstance(node, dict):
        return node
    changed = {name: with_short_waits(value) for name, value in node.items()}
    if isinstance(changed.get("waitMilliseconds"), dict):
        changed["waitMilliseconds"]["maximum"] = WAIT_MILLISECONDS
    if changed.get("name") == "waitMilliseconds" and "schema" in changed:
        changed["schema"]["maximum"] = WAIT_MILLISECONDS
    return changed


def check(lab, document, role, options):
    begin = time.monotonic()
    # That of the environment cannot be revoked by what it is used for.
    token = lab.token
    if role != "admin":
        answer = lab.ask("POST", "/v1/tokens", {"role": role}, port=lab.port)
        token = json.loads(answer.body)["secret"]
    done = subprocess.run(
        [str(pathlib.Path(sys.executable).parent / "schemathesis"), "--config-file", str(CONFIGURATION), "run",
         str(document),
         "--url", f"http://127.0.0.1:{lab.port}", "--header", f"Authorization: Bearer {token}",
         "--phases", "examples,coverage,fuzzing",
         "--max-examples", str(options.examples), "--max-time", str(options.seconds), "--seed", str(options.seed),
         "--suppress-health-check", "all", "--request-timeout", "20", "--continue-on-failure", "--no-shrink",
         "--warnings", "off"],
        cwd=lab.scratch, env=lab.environment({"NO_COLOR": "1", "COLUMNS": "120"}), capture_output=True)
    output = done.stdout.decode("utf-8", "replace") + done.stderr.decode("utf-8", "replace")
    return role, done.returncode, output, time.monotonic() - begin


def successes(lab):
    """The routes that have answered 2xx."""
    metrics = lab.ask("GET", "/metrics", port=lab.port).body.decode()
    return set(re.findall(r'dray_http_requests_total\{route="([^"]+)",status="2xx"\} [1-9]', metrics))


def summary(output):
    """The number of requests, and of failures."""
    cases = re.search(r"(\d[\d,]*) generated(?:, (\d[\d,]*) found)?", output)
    return cases.group(0) if cases else "no requests"


if __name__ == "__main__":
    sys.exit(main())
