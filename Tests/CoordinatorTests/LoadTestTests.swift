import API
import Coordinator
import CoordinatorClient
import Foundation
import Model
import TestSupport
import Testing

/// Load tests over HTTP: who is called and when, what is rejected.
@Suite struct LoadTestTests {
    private static let id: LoadTestID = "aaaaaaaa-2222-4333-8444-555555555555"
    private static let clock = ContinuousClock()

    private static func test(queue: String? = nil, workers: Int = 1) -> LoadTestSubmission {
        LoadTestSubmission(
            id: id, name: "smoke", queue: queue, scenario: "{}", workers: workers, atLeast: 1,
            waitSeconds: 60, durationSeconds: 5)
    }

    private static func request(
        _ queues: [String] = [], past: [LoadTestID]? = [], wait: Int = 30_000
    ) -> LeaseRequest {
        var request = LeaseRequest(
            worker: Fixture.worker, queues: queues, maxJobs: 10, waitMilliseconds: wait)
        request.pastLoadTests = past
        return request
    }

    @Test func aWorkerThatWaitsForWorkIsCalledAtOnce() async throws {
        try await Fixture.with { one in
            let two = try await Fixture(one.server, databaseURL: one.databaseURL)
            do {
                let poll = Task { try await one.client.lease(Self.request()) }
                try await waitUntil(deadlineSeconds: 60, "the poll") {
                    one.coordinator.waitingRequests > 0
                }
                // At another coordinator than the one that the worker asks.
                let created = try await two.client.create(Self.test())
                let grant = try await poll.value
                #expect(grant.loadTest == LoadTestCall(id: Self.id, queue: nil))
                #expect(grant.lease == nil && grant.waitedSeconds < 20)
                #expect(created.state == .waiting)
                // A heartbeat notifies a worker that holds jobs.
                let heartbeat = Heartbeat(
                    worker: Fixture.worker, leases: [], progress: [:], name: "w",
                    activeTransfers: 0)
                let answer = try await one.client.heartbeat(heartbeat)
                #expect(answer.loadTests == [LoadTestCall(id: Self.id, queue: nil)])
            } catch {
                await two.close()
                throw error
            }
            await two.close()
        }
    }

    @Test func onlyWhoIsMeantIsCalled() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a"])
            let name = try #require(try await fixture.client.queues().queues.first?.name)
            _ = try await fixture.client.create(Self.test(queue: name))
            // Of other queues, done with it, or of a version that does not know of load tests.
            for request in [
                Self.request(["other"], wait: 0), Self.request(past: [Self.id], wait: 0),
                Self.request(past: nil, wait: 0),
            ] {
                let grant = try await fixture.client.lease(request)
                #expect(grant.loadTest == nil)
            }
            // Who is meant gets no jobs beside it.
            try await fixture.submit(["b"], catalog: "other")
            let grant = try await fixture.client.lease(Self.request([name], wait: 0))
            #expect(grant.loadTest?.queue == name && grant.jobs.isEmpty)
        }
    }

    @Test func aReportWaitsForAChange() async throws {
        try await Fixture.with { fixture in
            _ = try await fixture.client.create(Self.test())
            let place = try await fixture.client.join(
                Self.id, LoadTestJoin(worker: Fixture.worker, name: "w"))
            #expect(place.scenario == "{}")
            var report = LoadTestReport(worker: Fixture.worker, progress: .preparing)
            report.known = .wait
            report.waitMilliseconds = 5_000
            let held = Task { [report] in
                try await fixture.client.report(report, of: Self.id)
            }
            // Seen before the test is stopped.
            try await waitUntil(deadlineSeconds: 60, "the report") {
                try await fixture.execute(
                    "SELECT count(*) FROM load_shard WHERE reported_at > joined_at"
                ).hasPrefix("1")
            }
            #expect(try await fixture.client.stopLoadTest(Self.id).state == .ended)
            #expect(try await held.value.kind == .leave)
            let update = try await fixture.client.follow(
                Self.id, LoadTestFollow(after: [], waitMilliseconds: 5_000, known: .waiting))
            #expect(update.test.state == .ended)
        }
    }

    @Test(arguments: [
        (#"{"scenario":"{}"}"#, "input.malformed"), (#"{"id":"x"}"#, "input.field"),
        (#"{"scenario":""}"#, "input.field"), (#"{"scenario":"a\u0000"}"#, "input.field"),
        (#"{"workers":0}"#, "input.field"), (#"{"workers":201}"#, "input.field"),
        (#"{"atLeast":3}"#, "input.field"), (#"{"waitSeconds":0}"#, "input.field"),
        (#"{"durationSeconds":-1}"#, "input.field"), (#"{"queue":""}"#, "input.field"),
        (#"{"queue":"nowhere"}"#, "input.notFound"), (#"{"name":"a\nb"}"#, "input.field"),
        (#"{"parts":0}"#, "input.field"), (#"{"parts":5041}"#, "input.field"),
        (#"{"urls":[]}"#, "input.field"), (#"{"urls":["a",""]}"#, "input.field"),
        (#"{"range":{"unit":"users","most":-1,"seconds":5}}"#, "input.field"),
        (#"{"range":{"unit":"users","most":1,"seconds":0}}"#, "input.field"),
    ]) func wrongTestsAreRefused(_ change: String, _ code: String) async throws {
        try await Fixture.with { fixture in
            var fields: [String: Any] = [
                "id": Self.id.description, "name": "smoke", "scenario": "{}", "workers": 2,
                "atLeast": 1,
                "waitSeconds": 60, "durationSeconds": 5,
            ]
            let changed = try #require(
                try JSONSerialization.jsonObject(with: Data(change.utf8)) as? [String: Any])
            if code == "input.malformed" { fields["atLeast"] = nil }
            fields.merge(changed) { $1 }
            let body = String(
                decoding: try JSONSerialization.data(withJSONObject: fields), as: UTF8.self)
            let answer = try await fixture.send("POST", "/v1/load-tests", body)
            #expect(answer.code == code, "\(answer)")
            #expect(try await fixture.client.loadTests().tests.isEmpty)
        }
    }

    @Test func wrongReportsAreRefusedAndChangeNothing() async throws {
        try await Fixture.with { fixture in
            _ = try await fixture.client.create(Self.test())
            _ = try await fixture.client.join(
                Self.id, LoadTestJoin(worker: Fixture.worker, name: "w"))
            let ready = LoadTestReport(worker: Fixture.worker, progress: .ready)
            #expect(try await fixture.client.report(ready, of: Self.id).kind == .run)
            let before = try await fixture.tables()
            let long = String(repeating: "x", count: WireLimits.intervalBytes + 1)
            for (intervals, rest) in [
                (#"{"second":1,"data":"a"},{"second":1,"data":"b"}"#, ""),
                (#"{"second":-1,"data":"a"}"#, ""), (#"{"second":0,"data":""}"#, ""),
                (#"{"second":0,"data":"\#(long)"}"#, ""), (#"{"second":9999999,"data":"a"}"#, ""),
                ("", #","cores":0"#), ("", #","waitMilliseconds":60000"#),
                ("", #","failure":{"code":"a.b","message":""}"#),
            ] {
                let wait = rest.contains("waitMilliseconds") ? "" : #","waitMilliseconds":0"#
                let body =
                    #"{"worker":"\#(Fixture.worker)","progress":"ready","intervals":[\#(intervals)]"#
                    + "\(wait)\(rest)}"
                let answer = try await fixture.send(
                    "POST", "/v1/load-tests/\(Self.id)/reports", body)
                #expect(answer.code == "input.field", "\(body.prefix(200)): \(answer)")
            }
            #expect(try await fixture.tables() == before)
            for (method, path) in [
                ("GET", ""), ("POST", "/stop"), ("GET", "/breakdown?shard=0"), ("POST", "/follow"),
            ] {
                let body = path == "/follow" ? #"{"after":[],"waitMilliseconds":0}"# : "{}"
                for (id, code) in [(Fixture.unknown, "input.notFound"), ("1", "input.field")] {
                    let answer = try await fixture.send(
                        method, "/v1/load-tests/\(id)\(path)", method == "POST" ? body : nil)
                    #expect(answer.code == code, "\(method) \(path): \(answer)")
                }
            }
        }
    }

    /// Rows and URLs may have secrets: only workers with a shard read them.
    @Test func dataIsInNoAnswerButThatToItsShard() async throws {
        try await Fixture.with { fixture in
            var test = Self.test()
            (test.parts, test.urls) = (1, ["http://h/?token=s3cret"])
            _ = try await fixture.client.create(test)
            try await fixture.client.add(
                LoadTestData(parts: [.init(number: 0, data: "query\ntoken=s3cret")]), to: Self.id)
            let place = try await fixture.client.join(
                Self.id, LoadTestJoin(worker: Fixture.worker, name: "w"))
            #expect(place.parts == 1 && place.urlBlocks == 1)
            let urls = try await fixture.client.loadParts(
                LoadTestPartsRequest(worker: Fixture.worker, from: 0, urls: true), of: Self.id)
            #expect(urls.parts.map(\.data) == test.urls)
            let ready = LoadTestReport(worker: Fixture.worker, progress: .ready)
            #expect(try await fixture.client.report(ready, of: Self.id).kind == .run)
            let request = LoadTestPartsRequest(worker: Fixture.worker, from: 0)
            let parts = try await fixture.client.loadParts(request, of: Self.id).parts
            #expect(parts.map(\.data) == ["query\ntoken=s3cret"])
            for path in [
                "/v1/load-tests", "/v1/load-tests/\(Self.id)", "/v1/audit", "/v1/events",
                "/v1/status", "/v1/diagnosis", "/metrics",
            ] {
                let answer = try await fixture.send("GET", path)
                #expect(answer.status == 200 && !answer.body.contains("s3cret"), "\(path)")
            }
            for body in [
                #"{"parts":[]}"#, #"{"parts":[{"number":-1,"data":"a"}]}"#,
                #"{"parts":[{"number":1,"data":"s3cret"}]}"#,
                #"{"parts":[{"number":5040,"data":"s3cret"}]}"#,
                #"{"parts":[{"number":0,"data":"s3cret\u0000"}]}"#,
            ] {
                let answer = try await fixture.send(
                    "POST", "/v1/load-tests/\(Self.id)/data", body)
                #expect(answer.code == "input.field", "\(body): \(answer)")
                #expect(!answer.body.contains("s3cret"), "\(answer)")
            }
            let unknown = try await fixture.send(
                "POST", "/v1/load-tests/\(Fixture.unknown)/data",
                #"{"parts":[{"number":0,"data":"a"}]}"#)
            #expect(unknown.code == "input.notFound")
        }
    }
}
