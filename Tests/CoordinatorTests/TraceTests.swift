import API
import CoordinatorClient
import Foundation
import Model
import TestSupport
import Testing

/// The trace of a request: taken over, stored with a catalog, and named in failures.
@Suite struct TraceTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let header = "00-\(trace)-00f067aa0ba902b7-01"

    private func open(
        _ fixture: Fixture, _ headers: [String: String], name: String = "a"
    ) async throws -> CatalogHandle {
        let body = #"{"name":"\#(name)","storageURL":"\#(Fixture.storageURL)","priority":5}"#
        let answer = try await fixture.send(
            "POST", "/v1/catalogs", body, headers: headers)
        #expect(answer.status == 200, "\(answer)")
        return try JSONDecoder().decode(CatalogHandle.self, from: Data(answer.body.utf8))
    }

    private func trace(_ fixture: Fixture, _ headers: [String: String]) async throws -> String? {
        try await fixture.client.status(of: open(fixture, headers).id).traceID
    }

    /// The jobs of two submissions in one lease.
    @Test(arguments: [true, false])
    func aLeaseHasTheTracesOfItsJobsIfItAsks(wantsTraces: Bool) async throws {
        try await Fixture.with { fixture in
            let other = "0af7651916cd43dd8448eb211c80319c"
            for (name, trace, flags) in [("a", Self.trace, "01"), ("b", other, "00")] {
                let handle = try await open(
                    fixture, ["traceparent": "00-\(trace)-00f067aa0ba902b7-\(flags)"], name: name)
                let assets = (0..<3).map { number in
                    AssetSubmission(
                        name: "\(number)", url: "https://origin.example/\(name)/\(number)",
                        kind: .file, key: "\(name)/\(number)")
                }
                try await fixture.client.submit(
                    AssetBatch(generation: handle.generation, assets: assets), to: handle.id)
                try await fixture.client.start(
                    handle.id, CatalogStartRequest(generation: handle.generation))
            }
            var request = LeaseRequest(
                worker: Fixture.worker, queues: [], maxJobs: 10, waitMilliseconds: 0)
            request.wantsTraces = wantsTraces
            let grant = try await fixture.client.lease(request)
            #expect(grant.jobs.count == 6)
            guard wantsTraces else {
                #expect(grant.traces == nil)
                return
            }
            let traces = try #require(grant.traces)
            #expect(traces.count == 2)
            for (name, trace, flags) in [("a", Self.trace, "01"), ("b", other, "00")] {
                let jobs = grant.jobs.filter { $0.requestedURL?.contains("/\(name)/") == true }
                let found = try #require(traces.first { $0.traceparent.contains(trace) })
                #expect(found.traceparent.hasSuffix("-\(flags)"))
                #expect(Set(found.jobs) == Set(jobs.map(\.id)) && found.jobs.count == 3)
            }
        }
    }

    @Test func aCatalogHasTheTraceOfItsSubmission() async throws {
        try await Fixture.with { fixture in
            #expect(try await trace(fixture, ["traceparent": Self.header]) == Self.trace)
            // A later submission replaces it, with one of its own if it has none that counts.
            let headers = [
                [:], ["traceparent": Self.header.uppercased()], ["traceparent": "00-\(Self.trace)"],
                ["traceparent": Self.header, "Traceparent": Self.header],
                ["tracestate": "a=\(Self.header)"],
            ]
            var seen: Set<String> = [Self.trace]
            for headers in headers {
                let trace = try #require(try await trace(fixture, headers))
                #expect(TraceContext.isTraceID(trace) && seen.insert(trace).inserted)
            }
        }
    }

    @Test func everyFailureNamesItsTrace() async throws {
        try await Fixture.with { fixture in
            for (path, token) in [("/v1/catalogs/x", true), ("/none", true), ("/v1/status", false)]
            {
                var headers = ["traceparent": Self.header]
                if !token { headers["Authorization"] = "Bearer wrong" }
                let answer = try await fixture.send("GET", path, headers: headers)
                #expect(answer.status >= 400)
                #expect(answer.headers["trace-id"] == Self.trace, "\(path): \(answer)")
            }
            let new = try await fixture.send("GET", "/none")
            #expect(new.headers["trace-id"].map { TraceContext.isTraceID($0) } == true)
            let fine = try await fixture.send("GET", "/v1/queues")
            #expect(fine.status == 200 && fine.headers["trace-id"] == nil)
        }
    }
}
