import Model
import Storage
import TestSupport
import Testing
import Transfer

@Suite("HTTP/2 origins that misbehave")
struct HTTP2FaultTests {
    private static let length = 100_000

    private func fetcher() throws -> Fetcher {
        var settings = OriginSettings()
        settings.http = .http2PriorKnowledge
        let table = OriginSettingsTable(standard: settings, origins: [:])
        return try Fetcher { options in
            options.origins = table
            options.loops = 1
        }
    }

    private func result(_ frames: [HTTP2Origin.Frame]...) async throws -> TransferResult {
        let origin = try HTTP2Origin(answers: frames)
        let fetcher = try fetcher()
        var request = fetcher.request(origin.url("/a"))
        request.access.timeouts.connect = 0.5
        request.access.timeouts.firstByte = 0.5
        request.access.timeouts.lowSpeed = 0.5
        return await fetcher.fetch(request)
    }

    /// As it is over TLS, but without a word of what is spoken.
    @Test("over plain TCP, requests come beside and after each other")
    func again() async throws {
        let origin = try HTTP2Origin(answers: [[.header(length: 3), .data(3, isLast: true)]])
        let fetcher = try fetcher()
        for _ in 0..<3 {
            let codes = await withTaskGroup(of: FailureCode?.self) { group in
                for number in 0..<8 {
                    let request = fetcher.memory(origin.url("/\(number)"), role: .data)
                    group.addTask { await fetcher.failure(request) }
                }
                return await group.reduce(into: [FailureCode?]()) { $0.append($1) }
            }
            #expect(codes.compactMap(\.self).isEmpty)
        }
    }

    enum Flood: String, CaseIterable, Sendable {
        case header, hints, trailers, pings, settings, emptyData, padding

        var frames: [HTTP2Origin.Frame] {
            // HPACK: literals without indexing.
            let field: [UInt8] = [0, 1, 0x78, 1, 0x79]
            let block = [[UInt8]](repeating: field, count: 1_000).flatMap(\.self)
            let start = HTTP2Origin.Frame.header(length: 10)
            // Continuations: never complete.
            let header: [HTTP2Origin.Frame] = [
                .frame(type: 1, flags: 0, block), .endless(type: 9, flags: 0, block),
            ]
            switch self {
            case .header: return header
            case .hints: return [.endless(type: 1, flags: 4, [8, 3, 0x31, 0x30, 0x33] + field)]
            case .trailers: return [start] + header
            case .pings:
                return [.endless(type: 6, flags: 0, ofConnection: true, [0, 0, 0, 0, 0, 0, 0, 0])]
            case .settings:
                return [.endless(type: 4, flags: 0, ofConnection: true, [0, 3, 0, 0, 0, 100])]
            case .emptyData: return [start, .endless(type: 0, flags: 0, [])]
            case .padding:
                let padding = [UInt8](repeating: 0, count: 255)
                return [start, .endless(type: 0, flags: 8, [255] + padding)]
            }
        }
    }

    @Test("frames without end are bounded", arguments: Flood.allCases)
    func floods(flood: Flood) async throws {
        let failure = try #require(try await result(flood.frames).outcome.failure)
        #expect(
            ["origin.protocol", "origin.reset", "origin.timeout"].contains(failure.code),
            "\(failure)")
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

    /// A stream that the origin resets may succeed next time, and received bytes are kept.
    @Test(
        "a reset stream or connection counts as a broken connection",
        arguments: [
            [.reset(errorCode: 2)], [.reset(errorCode: 7)], [.reset(errorCode: 11)],
            [.goAway(errorCode: 2)], [.goAway(errorCode: 0)], [.cut],
        ] as [[HTTP2Origin.Frame]])
    func brokenConnections(frames: [HTTP2Origin.Frame]) async throws {
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
