import Foundation
import Gzip
import HTTPServer
import TestSupport
import Testing

@testable import Coordinator

/// Entity tags, compression and rules for caches of reads.
@Suite struct RepresentationTests {
    @Test func anUnchangedReadIsNotSentAgain() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a"])
            let first = try await fixture.send("GET", "/v1/queues")
            let tag = try #require(first.headers["etag"])
            #expect(tag.hasPrefix("W/\"") && tag.hasSuffix("\""))
            #expect(first.headers["cache-control"] == "private, no-cache")
            #expect(first.headers["vary"] == "Accept-Encoding")
            for known in [tag, String(tag.dropFirst(2)), "\"x\", \(tag)", "*"] {
                let again = try await fixture.send(
                    "GET", "/v1/queues", headers: ["If-None-Match": known])
                #expect(again.status == 304 && again.body.isEmpty, "\(known)")
                #expect(again.headers["etag"] == tag && again.headers["content-type"] == nil)
            }
            _ = try await fixture.send(
                "POST", "/v1/queues/srv-edge/control", #"{"action":"pause"}"#)
            let changed = try await fixture.send(
                "GET", "/v1/queues", headers: ["If-None-Match": tag])
            #expect(changed.status == 200 && changed.headers["etag"] != tag)
        }
    }

    @Test func onlyReadsHaveATag() async throws {
        try await Fixture.with { fixture in
            let change = try await fixture.send(
                "POST", "/v1/origins/limits", #"{"limits":{"connections":3}}"#)
            #expect(change.status == 204 && change.headers["etag"] == nil)
            #expect(change.headers["cache-control"] == "no-store")
            let failure = try await fixture.send("GET", "/v1/catalogs/99")
            #expect(failure.status == 404 && failure.headers["etag"] == nil)
            #expect(failure.headers["cache-control"] == "no-store")
            #expect(try await fixture.send("GET", "/v1/cooldowns").headers["etag"] == nil)
            #expect(
                try await fixture.send("GET", "/healthz").headers["cache-control"] == "no-store")
        }
    }

    private static func answer(_ bytes: Int, accepting: String?) throws -> HTTPResponse {
        let route = Route.get("/x", .readers) { _ in .text(200, "") }
        let request = HTTPRequest(
            method: "GET", path: "/x", segments: ["x"],
            headers: accepting.map { [("Accept-Encoding", $0)] } ?? [])
        return Representation.of(
            .json(bytes: Array(repeating: 0x20, count: bytes)), for: request, route)
    }

    @Test func largeReadsAreCompressedForWhoAccepts() throws {
        let long = try Self.answer(5_000, accepting: "deflate, gzip;q=0.5")
        #expect(long.headers.contains { $0 == ("Content-Encoding", "gzip") })
        #expect(long.body.count < 200)
        var packed = long.body[...]
        #expect(try GzipDecoder().next(&packed).count == 5_000)
        #expect(try Self.answer(1_023, accepting: "gzip").body.count == 1_023)
        #expect(try Self.answer(5_000, accepting: nil).body.count == 5_000)
        // The same tag for both forms.
        func tag(_ response: HTTPResponse) -> String? {
            response.headers.first { $0.name == "ETag" }?.value
        }
        #expect(tag(long) == tag(try Self.answer(5_000, accepting: nil)))
    }

    @Test(arguments: [
        ("gzip", true), ("GZIP", true), ("x-gzip", true), ("*", true), ("gzip;q=0", false),
        ("gzip; q=0.001", true), ("*;q=0", false), ("br, *;q=0.1", true), ("", false),
        ("identity", false), ("identity;q=1, gzip;q=0.5", false), ("gzip, identity;q=0.5", true),
        ("gzip;q=2", false), ("gzip;q=x", false), ("gzip;q=0, *", false), ("br;q=1.0", false),
    ])
    func weightsAreHonoured(_ header: String, _ accepts: Bool) {
        #expect(Representation.acceptsGzip(header) == accepts)
    }
}
