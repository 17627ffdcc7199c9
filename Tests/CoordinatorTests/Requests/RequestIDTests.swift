import TestSupport
import Testing

@testable import Coordinator

/// Every answer has the identity of its request.
@Suite struct RequestIDTests {
    @Test func aSaneOneIsRepeatedAndOthersAreReplaced() async throws {
        try await Fixture.with { fixture in
            for target in ["/v1/status", "/v1/nothing", "/healthz", "/v1/catalogs/%zz"] {
                let answer = try await fixture.send(
                    "GET", target, headers: ["X-Request-Id": "trace-7/é".replacing("é", with: "e")])
                #expect(answer.headers["x-request-id"] == "trace-7/e", "\(target)")
            }
            let refused = try await fixture.send(
                "GET", "/v1/status", headers: ["Authorization": "", "X-Request-Id": "a"])
            #expect(refused.status == 401 && refused.headers["x-request-id"] == "a")
            for odd in ["a b", String(repeating: "x", count: 129), "\u{7f}\u{80}"] {
                let answer = try await fixture.send(
                    "GET", "/healthz", headers: ["X-Request-Id": odd])
                #expect(answer.headers["x-request-id"] != odd)
            }
            let (one, other) = (
                try await fixture.send("GET", "/healthz"), try await fixture.send("GET", "/healthz")
            )
            #expect(one.headers["x-request-id"]?.count == 16)
            #expect(one.headers["x-request-id"] != other.headers["x-request-id"])
        }
    }
}
