import TestSupport
import Testing

/// The fixtures are seen through curl: what they claim to do is what a client meets.
@Suite struct FaultOriginTests {
    /// curl's exit code and output.
    private func curl(_ arguments: [String]) async throws -> (code: Int32, output: String) {
        let child = try ChildProcess(["curl", "-sS", "--max-time", "20"] + arguments)
        guard case .exited(let code) = try await child.wait() else { return (-1, child.output) }
        return (code, child.output)
    }

    @Test func aCorrectObjectWithRanges() async throws {
        let origin = try FaultOrigin()
        origin.serve("/a", Array("0123456789".utf8), etag: "\"v1\"")
        let url = origin.url("/a")
        #expect(try await curl([url]).output == "0123456789")
        #expect(try await curl(["-r", "2-4", url]).output == "234")
        #expect(try await curl(["-r", "7-", url]).output == "789")
        let stale = try await curl(["-r", "2-4", "-H", "If-Range: \"v0\"", url])
        #expect(stale.output == "0123456789")
        let beyond = try await curl(["-r", "10-", "-o", "/dev/null", "-w", "%{http_code}", url])
        #expect(beyond.output == "416")
        #expect(origin.count("/a") == 5)
        #expect(origin.requests(for: "/a")[1].headers["range"] == "bytes=2-4")
        #expect(origin.requests.map(\.number) == [1, 2, 3, 4, 5])
    }

    @Test func oneConnectionCarriesManyRequests() async throws {
        let origin = try FaultOrigin()
        origin.serve("/a", [1, 2, 3])
        let url = origin.url("/a")
        let result = try await curl(["-o", "/dev/null", "-o", "/dev/null", url, url])
        #expect(result.code == 0)
        #expect(origin.count("/a") == 2)
        #expect(origin.acceptedConnections == 1)
    }

    @Test func bodiesBreakOffAndReset() async throws {
        let origin = try FaultOrigin()
        let whole = FaultOrigin.Response(body: [UInt8](repeating: 65, count: 100_000))
        origin.route("/cut", whole.cut(after: 500))
        origin.route("/reset", whole.cut(after: 500, then: .reset))
        origin.route("/junk", .raw("SSH-2.0-OpenSSH_9.2\r\n"))
        #expect(try await curl([origin.url("/junk")]).code == 1)
        origin.route("/long", whole.with("Content-Length", "100"))
        #expect(try await curl(["-o", "/dev/null", origin.url("/cut")]).code == 18)
        #expect(try await curl(["-o", "/dev/null", origin.url("/reset")]).code == 56)
        #expect(try await curl([origin.url("/long")]).output.utf8.count == 100)
    }

    @Test func answersInTurn() async throws {
        let origin = try FaultOrigin()
        origin.route(
            "/a",
            inTurn: [
                .init(503), .init(429, headers: [("Retry-After", "0")]), .init(text: "at last"),
            ])
        let result = try await curl(["--retry", "3", "--retry-delay", "1", "-f", origin.url("/a")])
        #expect(result.output.hasSuffix("at last"))
        #expect(origin.count("/a") == 3)
    }

    @Test func aHeldBodyWaitsForTheTest() async throws {
        let origin = try FaultOrigin()
        let gate = Gate()
        origin.route("/a", FaultOrigin.Response(text: "slowly").held(after: 2, at: gate))
        let child = try ChildProcess(["curl", "-sSN", "--max-time", "600", origin.url("/a")])
        try await gate.waitUntilReached()
        try await waitUntil(deadlineSeconds: 60) { child.output == "sl" }
        #expect(origin.activeRequests.now == 1)
        gate.open()
        #expect(try await child.wait() == .exited(0))
        #expect(child.output == "slowly")
    }

    @Test func gzipRedirectsAndEndlessBodies() async throws {
        let origin = try FaultOrigin()
        origin.route("/gzip", .gzipped(Array(repeating: 66, count: 70_000)))
        origin.route("/loop", .redirect(to: "/loop"))
        origin.route("/endless", .endless())
        let plain = try await curl(["--compressed", origin.url("/gzip")])
        #expect(plain.code == 0)
        #expect(plain.output == String(repeating: "B", count: 70_000))
        #expect(try await curl(["-L", origin.url("/loop")]).code == 47)
        let endless = try ChildProcess(["curl", "-sS", "-o", "/dev/null", origin.url("/endless")])
        try await waitUntil(deadlineSeconds: 60) { origin.activeRequests.now == 1 }
        endless.signal(9)
        try await waitUntil(deadlineSeconds: 60) { origin.activeRequests.now == 0 }
    }

    @Test func anEndedOriginLetsGoOfItsClients() async throws {
        var origin: FaultOrigin? = try FaultOrigin()
        let gate = Gate()
        origin?.route("/a", FaultOrigin.Response(text: "never").held(at: gate))
        let url = try #require(origin?.url("/a"))
        let child = try ChildProcess(["curl", "-sS", "--max-time", "600", url])
        try await gate.waitUntilReached()
        origin = nil
        let ending = try await child.wait()
        #expect(ending != .exited(0))
        #expect(try await curl([url]).code == 7)
    }

    @Test func aProxyForwardsPausesCutsAndRefuses() async throws {
        let origin = try FaultOrigin()
        let gate = Gate()
        origin.serve("/a", Array("through".utf8))
        origin.route("/held", FaultOrigin.Response(text: "xy").held(after: 1, at: gate))
        let proxy = try TCPProxy(to: .port(origin.port))
        let url = "http://127.0.0.1:\(proxy.port)"
        #expect(try await curl(["\(url)/a"]).output == "through")

        let held = try ChildProcess(["curl", "-sSN", "--max-time", "600", "\(url)/held"])
        try await gate.waitUntilReached()
        proxy.cut()
        #expect(try await held.wait() != .exited(0))
        gate.open()

        proxy.pause()
        let paused = try ChildProcess(["curl", "-sS", "--max-time", "600", "\(url)/a"])
        try await waitUntil(deadlineSeconds: 60) { proxy.connections > 0 }
        #expect(paused.ending == nil)
        proxy.resume()
        #expect(try await paused.wait() == .exited(0))

        proxy.refuse()
        try await waitUntil(deadlineSeconds: 60) { try await curl(["\(url)/a"]).code == 7 }
        try proxy.accept()
        #expect(try await curl(["\(url)/a"]).output == "through")
    }
}
