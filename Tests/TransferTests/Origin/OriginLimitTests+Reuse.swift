import Model
import TestSupport
import Testing
import Transfer

extension OriginLimitTests {
    /// Whichever handle opened it.
    @Test("a connection that is used again is in use")
    func limitedWhileUsedAgain() async throws {
        let (origin, url) = (origin, origin.url())
        let fetcher = try Fetcher { $0.loops = 1 }
        let warming = Gate()
        let held = Gate()
        defer {
            warming.open()
            held.open()
        }
        for number in 0..<6 {
            origin.route("/warm/\(number)", FaultOrigin.Response(text: "x").held(at: warming))
            origin.route("/held/\(number)", FaultOrigin.Response(text: "x").held(at: held))
        }
        func run(_ path: String, _ count: Int, at gate: Gate) async throws -> [FailureCode?] {
            try await withThrowingTaskGroup(of: FailureCode?.self) { group in
                for number in 0..<count {
                    let request = fetcher.memory(origin.url("\(path)/\(number)"), role: .data)
                    group.addTask { await fetcher.failure(request) }
                }
                try await waitUntil(deadlineSeconds: 60, "\(count) requests") {
                    origin.activeRequests.now == count
                }
                if count == 3 {
                    fetcher.engine.setLimits(
                        OriginAllowance(connections: 3), of: url, forSeconds: 600)
                    try await waitUntil(deadlineSeconds: 60, "the end of those that are idle") {
                        origin.connections.now == 3
                    }
                }
                gate.open()
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }
        #expect(try await run("/warm", 6, at: warming) == [nil, nil, nil, nil, nil, nil])
        #expect(try await run("/held", 3, at: held) == [nil, nil, nil])
        #expect(origin.acceptedConnections == 6)
    }
}

extension OriginLimitTests {
    /// A high limit of bytes leaves all connections of the engine in use, on all loops.
    @Test("a high limit of bytes uses the connections of all loops")
    func connectionsBelowAByteLimit() async throws {
        let origin = try FaultOrigin()
        let fetcher = try Fetcher { ($0.loops, $0.connections) = (2, 4) }
        let held = Gate()
        defer { held.open() }
        for number in 0..<4 {
            origin.route("/held/\(number)", FaultOrigin.Response(text: "x").held(at: held))
        }
        fetcher.engine.setLimits(
            OriginAllowance(bytesPerSecond: 8_000_000), of: origin.url(), forSeconds: 600)
        try await withThrowingTaskGroup(of: FailureCode?.self) { group in
            for number in 0..<4 {
                let request = fetcher.memory(origin.url("/held/\(number)"), role: .data)
                group.addTask { await fetcher.failure(request) }
            }
            try await waitUntil(deadlineSeconds: 60, "4 requests at a time") {
                origin.activeRequests.now == 4
            }
            held.open()
            for try await failure in group { #expect(failure == nil) }
        }
    }
}
