import Model
import Storage
import TestSupport
import Testing
import Transfer

@Suite("HTTP/2 origins that misbehave")
struct HTTP2FaultTests {
    private static let length = 100_000

    private func result(_ frames: [HTTP2Origin.Frame]...) async throws -> TransferResult {
        let origin = try HTTP2Origin(answers: frames)
        var settings = OriginSettings()
        settings.http = .http2PriorKnowledge
        let table = OriginSettingsTable(standard: settings, origins: [:])
        let fetcher = try Fetcher { $0.origins = table }
        return await fetcher.fetch(fetcher.request(origin.url("/a")))
    }

    @Test("a stream that ends in order is whole")
    func whole() async throws {
        let result = try await result([
            .header(length: 3_000), .data(2_000, isLast: false), .data(1_000, isLast: true),
        ])
        let fetched = try result.outcome.get()
        #expect(fetched.bytes == 3_000)
        #expect(result.httpVersion == "2")
        fetched.object?.discard()
    }

    /// What the origin gives up may go well next time, and what has come is kept for it.
    @Test(
        "a stream or connection that is given up is a connection that broke",
        arguments: [
            [.reset(errorCode: 2)], [.reset(errorCode: 7)], [.reset(errorCode: 11)],
            [.goAway(errorCode: 2)], [.goAway(errorCode: 0)], [.cut],
        ] as [[HTTP2Origin.Frame]])
    func givenUp(frames: [HTTP2Origin.Frame]) async throws {
        let start: [HTTP2Origin.Frame] = [
            .header(length: Self.length), .data(10_000, isLast: false),
        ]
        let failure = try #require(try await result(start + frames).outcome.failure)
        #expect(["origin.reset", "origin.truncated"].contains(failure.code), "\(failure)")
    }

    @Test("a stream that ends before its length is cut short")
    func short() async throws {
        let result = try await result([
            .header(length: Self.length), .data(10_000, isLast: true),
        ])
        let failure = try #require(result.outcome.failure)
        #expect(["origin.reset", "origin.truncated"].contains(failure.code), "\(failure)")
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let failure) = self { failure } else { nil }
    }
}
