"""A request that is right for every route that changes something, to be spoiled in one place."""

import copy
import json
import uuid

PLACEHOLDER = "@@number@@"


class Documents:
    """Bodies by path. The jobs and the lease that they name are real, so that what is in them is looked at."""

    def __init__(self, lab):
        self.lab = lab
        self.worker, self.lease = str(uuid.uuid4()), str(uuid.uuid4())
        _, self.storage = lab.site("documents")
        self.name = f"documents-{self.worker[:8]}"
        self.catalog, _ = lab.submit(self.name, self.storage, [
            {"name": f"f{index}", "url": f"http://127.0.0.1:1/f{index}", "kind": "file", "key": f"f{index}"}
            for index in range(20)] + [
            {"name": "title", "url": "http://127.0.0.1:1/t.m3u8", "kind": "hls", "key": "t.m3u8"}], priority=9)
        status = json.loads(lab.ask("GET", f"/v1/catalogs/{self.catalog}").body)
        self.queue, self.generation = status["queue"], status["generation"]
        granted = json.loads(lab.ask("POST", "/v1/leases", self.lease_request() | {"lease": self.lease}).body)
        jobs = granted.get("jobs") or []
        self.job = jobs[0]["id"] if jobs else 1

    def lease_request(self):
        return {"worker": self.worker, "queues": [self.queue], "maxJobs": 5, "waitMilliseconds": 0}

    def bodies(self):
        """Every POST route with a body that it takes."""
        holder = {"worker": self.worker, "lease": self.lease}
        segment = {"ordinal": 0, "url": "http://127.0.0.1:1/s", "key": "s.ts", "role": "media", "bytes": 5,
                   "sha256": "0" * 64}
        stored = {"bytes": 5, "sha256": "0" * 64}
        catalog = f"/v1/catalogs/{self.catalog}"
        test = str(uuid.uuid4())
        load = f"/v1/load-tests/{test}"
        return [
            ("/v1/catalogs", {
                "name": self.name + "-other", "storageURL": self.storage, "priority": 5, "notBefore": 1e9,
                "deadline": 4e9, "titles": {"tracks": {
                    "maximumHeight": 720, "maximumBitsPerSecond": 3000000, "preferredBitsPerSecond": 2000000}}}),
            (f"{catalog}/assets", {"generation": self.generation, "assets": [
                {"name": "a", "url": "http://127.0.0.1:1/a", "kind": "file", "key": "a", "bytes": 5, "sidecars": [
                    {"url": "http://127.0.0.1:1/b.jpg", "key": "b.jpg", "role": "image", "isRequired": True,
                     "bytes": 5}]}]}),
            (f"{catalog}/start", {"generation": self.generation}),
            (f"{catalog}/interrupt", {}),
            ("/v1/leases", self.lease_request()),
            ("/v1/reports", {"worker": self.worker, "results": [
                {"job": self.job, "lease": self.lease, "outcome": "failed", "retryAfterSeconds": 1,
                 "failureCode": "origin.timeout", "failureMessage": "m",
                 "origins": [{"origin": "http://127.0.0.1:1", "code": "origin.timeout", "retryAfterSeconds": 1}]}]}),
            ("/v1/reports", {"worker": self.worker, "results": [
                {"job": self.job, "lease": self.lease, "outcome": "done", "segments": 3} | stored]}),
            ("/v1/heartbeats", {
                "worker": self.worker, "leases": [self.lease], "name": "w", "activeTransfers": 1,
                "progress": {"1": {"receivedBytes": 1, "expectedBytes": 2, "transfers": 1, "partBytes": 1}},
                "origins": [{"origin": "http://127.0.0.1:1", "concurrency": 1, "bytesPerSecond": 1,
                             "decision": "hold", "reason": "r", "active": 1, "waiting": 1}],
                "siteShares": [{"site": 1, "number": 1}],
                "sites": [{"site": 1, "availableBytes": 1, "isSound": True}],
                "done": {"fetches": 1, "bytes": 1, "busySeconds": 1.5, "seconds": 1.5, "seconds2": 1.5,
                         "seconds3": 1.5, "seconds4": 1.5, "cpuSeconds": 1.5, "connections": 4, "cores": 2}}),
            ("/v1/segments", holder | {"job": self.job, "segments": [segment]}),
            ("/v1/splits", holder | {
                "job": self.job, "multipart": str(uuid.uuid4()), "totalBytes": 40 << 20, "partBytes": 16 << 20,
                "validator": "\"a\""}),
            ("/v1/refreshes", holder | {"job": self.job, "files": [{
                "segment": segment, "stored": stored, "staged": 1}], "publication": {"segments": 1}}),
            ("/v1/refreshes/files", holder | {"job": self.job, "after": 1}),
            ("/v1/rewritten-manifests", holder | {"job": self.job}),
            ("/v1/checksums/turns", holder | {"jobs": [self.job]}),
            ("/v1/purges", holder | {"job": self.job, "results": [
                {"file": 1, "deleted": False, "failure": {"code": "storage.io", "message": "m"}}]}),
            ("/v1/sites/volumes", holder | {"site": 1, "volume": str(uuid.uuid4())}),
            ("/v1/releases", holder),
            ("/v1/load-tests", {
                "id": test, "name": "t", "scenario": "{}", "workers": 1, "atLeast": 1, "waitSeconds": 1.5,
                "durationSeconds": 1.5, "parts": 1, "urls": "http://127.0.0.1:1/a",
                "range": {"unit": "users", "most": 5, "seconds": 1.5}}),
            (f"{load}/data", {"parts": [{"number": 0, "data": "query\ntoken=1"}]}),
            (f"{load}/parts", {"worker": self.worker, "from": 0}),
            (f"{load}/follow", {"after": [1], "waitMilliseconds": 0, "changes": 0}),
            (f"{load}/load", {"level": 1.5}),
            (f"{load}/stop", {}),
            (f"{load}/shards", {"worker": self.worker, "name": "w"}),
            (f"{load}/reports", {
                "worker": self.worker, "progress": "ready", "cores": 2, "waitMilliseconds": 0, "changes": 0,
                "intervals": [{"second": 1, "data": "AAAA"}]}),
            (f"/v1/queues/{self.queue}/control", {"action": "resume"}),
            ("/v1/selections", {"action": "reprioritise", "catalog": {"id": self.catalog}, "priority": 5}),
            ("/v1/selections", {"action": "remove", "catalog": {"id": self.catalog}, "ofLeft": True,
                                "generation": 1}),
            ("/v1/selections", {"action": "reschedule", "catalog": {"id": self.catalog}, "notBefore": 1e9,
                                "deadline": 4e9}),
            ("/v1/origins/limits", {"origin": "http://127.0.0.1:1", "limits": {
                "connections": 5, "requestsPerSecond": 0.5, "bytesPerSecond": 1000000}}),
            ("/v1/sites/settings", {
                "site": self.queue, "schedule": "unlimited", "maximumBytesPerSecond": 1000000, "floorBytes": 1000,
                "quotaBytes": 1000000000}),
        ]


def spots(value, path=()):
    """The way to every value in a document, itself included."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from spots(inner, (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def replaced(document, path, value):
    if not path:
        return value
    document = copy.deepcopy(document)
    at(document, path[:-1])[path[-1]] = value
    return document


def numeric_fields(documents):
    """Each numeric field of each body: the path, the body with a placeholder there, the placeholder."""
    for path, body in documents.bodies():
        for spot in spots(body):
            value = at(body, spot)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                yield path, replaced(body, spot, PLACEHOLDER), PLACEHOLDER
