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
        _ fixture: Fixture, _ headers: [String: String]
    ) async throws -> (trace: String?, answer: Wire.Answer) {
        let body = #"{"name":"a","storageURL":"\#(Fixture.storageURL)","priority":5}"#
        let answer = try await fixture.send(
            "POST", "/v1/catalogs", body, headers: headers)
        #expect(answer.status == 200, "\(answer)")
        let handle = try JSONDecoder().decode(CatalogHandle.self, from: Data(answer.body.utf8))
        return (try await fixture.client.status(of: handle.id).traceID, answer)
    }

    @Test func aCatalogHasTheTraceOfItsSubmission() async throws {
        try await Fixture.with { fixture in
            #expect(try await open(fixture, ["traceparent": Self.header]).trace == Self.trace)
            // A later submission replaces it, with one of its own if it has none that counts.
            let headers = [
                [:], ["traceparent": Self.header.uppercased()], ["traceparent": "00-\(Self.trace)"],
                ["traceparent": Self.header, "Traceparent": Self.header],
                ["tracestate": "a=\(Self.header)"],
            ]
            var seen: Set<String> = [Self.trace]
            for headers in headers {
                let trace = try #require(try await open(fixture, headers).trace)
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
