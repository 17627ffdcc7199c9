import Model
import Storage
import TestSupport
import Testing
import Transfer

/// Objects that are requested again: an unchanged one has no body.
@Suite struct ValidatorTests {
    let origin: FaultOrigin
    let fetcher: Fetcher

    init() throws {
        origin = try FaultOrigin()
        fetcher = try Fetcher()
    }

    private static let old = "Sun, 01 Nov 2026 10:00:00 GMT"
    private static let now = "Sun, 22 Nov 2026 10:00:00 GMT"

    /// Answers 304 where a request has `line`, as an origin does that knows `headers` of the object.
    private func serve(_ path: String, _ headers: [(String, String)], known line: (String, String))
    {
        origin.route(path) { request in
            request.headers[line.0] == line.1
                ? FaultOrigin.Response(304, headers: headers, body: [])
                : FaultOrigin.Response(headers: headers, body: [1, 2, 3])
        }
    }

    @Test(arguments: [
        ("\"v1\"", "if-none-match"), ("W/\"v1\"", "if-none-match"), (Self.old, "if-modified-since"),
    ])
    func whatHasNotChangedDoesNotComeAgain(validator: String, line: String) async throws {
        let name = line == "if-none-match" ? "ETag" : "Last-Modified"
        serve("/a", [(name, validator), ("Date", Self.now)], known: (line, validator))
        let first = try await fetcher.fetch(fetcher.request(origin.url("/a"))).outcome.get()
        #expect(first.response.validator == validator && !first.isUnchanged && first.bytes == 3)
        first.object?.discard()

        var again = fetcher.request(origin.url("/a"))
        again.validator = first.response.validator
        let second = await fetcher.fetch(again)
        let fetched = try second.outcome.get()
        #expect(second.httpStatus == 304)
        #expect(fetched.isUnchanged && fetched.object == nil && fetched.bytes == 0)
        #expect(try fetcher.temporaries().isEmpty)
    }

    @Test func whatHasChangedComesWithWhatItIsCalledNow() async throws {
        serve("/a", [("ETag", "\"v2\"")], known: ("if-none-match", "\"v2\""))
        var request = fetcher.request(origin.url("/a"))
        request.validator = "\"v1\""
        let fetched = try await fetcher.fetch(request).outcome.get()
        #expect(
            !fetched.isUnchanged && fetched.bytes == 3 && fetched.response.validator == "\"v2\"")
    }

    /// The place that a redirect leads to is the one that knows.
    @Test func redirectsAreAskedAsWell() async throws {
        let other = try FaultOrigin()
        other.route("/b") { request in
            FaultOrigin.Response(request.headers["if-none-match"] == "\"v1\"" ? 304 : 200)
        }
        origin.route("/a", .init(302, headers: [("Location", other.url("/b"))]))
        var request = fetcher.request(origin.url("/a"))
        request.validator = "\"v1\""
        #expect(try await fetcher.fetch(request).outcome.get().isUnchanged)
    }

    @Test func anUnrequestedAnswerIsRefused() async {
        origin.route("/a", .init(304))
        #expect(await fetcher.failure(fetcher.request(origin.url("/a"))) == "origin.protocol")
    }

    /// Validators that cannot be sent back, or are useless, are not kept.
    @Test(arguments: [
        [("ETag", "v1")], [("ETag", "\"a\", \"b\"")],
        [("ETag", "\"" + String(repeating: "x", count: 300) + "\"")],
        // Changed in the very second of the answer: it may change once more.
        [("Last-Modified", Self.now), ("Date", Self.now)], [("Last-Modified", Self.old)],
        [("Last-Modified", "yesterday"), ("Date", Self.now)], [],
    ])
    func whatIsOfNoUseIsNotKept(headers: [(String, String)]) async throws {
        origin.route("/a", .init(headers: headers, body: [1]))
        let fetched = try await fetcher.fetch(fetcher.request(origin.url("/a"))).outcome.get()
        #expect(fetched.response.validator == nil)
    }
}
