import Model
import TestSupport
import Testing
import Transfer

/// An operator's settings for an origin reach that origin only.
@Suite("Settings of origins", .timeLimit(.minutes(2)))
struct OriginSettingsTests {
    private let origin: FaultOrigin
    private let other: FaultOrigin

    init() throws {
        origin = try FaultOrigin()
        other = try FaultOrigin()
        for server in [origin, other] { server.route("/a", .init(text: "a")) }
    }

    private func fetcher(
        standard: OriginSettings = OriginSettings(),
        _ adjust: (inout OriginSettings) throws -> Void
    ) throws -> Fetcher {
        var settings = OriginSettings()
        try adjust(&settings)
        let table = OriginSettingsTable(standard: standard, origins: [origin.url(): settings])
        return try Fetcher { options in
            options.loops = 1
            options.origins = table
        }
    }

    private func get(_ url: String, _ fetcher: Fetcher) async throws -> TransferResult {
        await fetcher.fetch(fetcher.memory(url, role: .data))
    }

    @Test("headers, credentials and user agent go to their origin alone")
    func credentials() async throws {
        var standard = OriginSettings()
        standard.headers = [try RequestHeader(name: "X-All", value: "all")]
        standard.userAgent = "everywhere/1"
        let fetcher = try fetcher(standard: standard) { settings in
            settings.headers = [
                try RequestHeader(name: "X-Key", value: "secret"),
                try RequestHeader(name: "x-all", value: "here"),
            ]
            settings.authorization = .bearer("t0ken")
            settings.userAgent = "here/2"
        }
        // One handle serves both in turn: nothing of one is left for the other.
        for _ in 0..<2 {
            _ = try await get(origin.url("/a"), fetcher).outcome.get()
            _ = try await get(other.url("/a"), fetcher).outcome.get()
        }
        for request in origin.requests {
            #expect(request.headers["authorization"] == "Bearer t0ken")
            #expect(request.headers["x-key"] == "secret")
            #expect(request.headers["x-all"] == "here")
            #expect(request.headers["user-agent"] == "here/2")
        }
        for request in other.requests {
            #expect(request.headers["authorization"] == nil)
            #expect(request.headers["x-key"] == nil)
            #expect(request.headers["x-all"] == "all")
            #expect(request.headers["user-agent"] == "everywhere/1")
        }
        #expect(origin.requests.count == 2 && other.requests.count == 2)
    }

    @Test("a redirect leaves them behind, and finds those of where it leads to")
    func redirects() async throws {
        origin.route("/away", .redirect(to: other.url("/a")))
        other.route("/here", .redirect(to: origin.url("/a")))
        let fetcher = try fetcher { $0.authorization = .basic(user: "ann", password: "p:w") }
        _ = try await get(origin.url("/away"), fetcher).outcome.get()
        #expect(origin.requests.first?.headers["authorization"] == "Basic YW5uOnA6dw==")
        #expect(other.requests.first.map { $0.headers["authorization"] == nil } == true)
        _ = try await get(other.url("/here"), fetcher).outcome.get()
        #expect(origin.requests.last?.path == "/a")
        #expect(origin.requests.last?.headers["authorization"] == "Basic YW5uOnA6dw==")
    }

    @Test("a request's own header replaces the origin's")
    func ownHeaders() async throws {
        let fetcher = try fetcher { settings in
            settings.headers = [try RequestHeader(name: "X-Key", value: "origin")]
        }
        var request = fetcher.memory(origin.url("/a"), role: .data)
        request.access.headers = ["x-key: mine"]
        _ = try await fetcher.fetch(request).outcome.get()
        #expect(origin.requests.first?.headers["x-key"] == "mine")
    }

    @Test("a proxy gets its origin's URLs, and no others")
    func proxies() async throws {
        let proxy = try FaultOrigin()
        proxy.route(origin.url("/a"), .init(text: "by proxy"))
        let fetcher = try fetcher { $0.proxy = proxy.url() }
        let result = try await get(origin.url("/a"), fetcher).outcome.get()
        #expect(result.body == Array("by proxy".utf8))
        #expect(try await get(other.url("/a"), fetcher).outcome.get().body == Array("a".utf8))
        #expect(proxy.requests.map(\.target) == [origin.url("/a")])
        #expect(origin.requests.isEmpty)
    }

    // MARK: Bounds

    @Test("each bound can be set for one origin")
    func bounds() async throws {
        let gate = Gate()
        defer { gate.open() }
        let long = FaultOrigin.Response(body: sampleBytes(10_000))
        origin.route("/late", FaultOrigin.Response(text: "late").held(at: gate))
        origin.route("/stalled", long.held(after: 5_000, at: gate))
        origin.route("/endless", .endless([0]))
        origin.route("/long", long)
        origin.route(
            "/header", .init(headers: [("X-Filler", String(repeating: "x", count: 2_000))]))
        other.route("/long", long)
        other.route("/header", .init(headers: [("X-Filler", String(repeating: "x", count: 2_000))]))

        let late = try fetcher { settings in
            settings.connectSeconds = 0.05
            settings.firstByteSeconds = 0.05
        }
        #expect(await late.failure(late.request(origin.url("/late"))) == "origin.timeout")
        let slow = try fetcher { $0.lowSpeedSeconds = 0.1 }
        #expect(await slow.failure(slow.request(origin.url("/stalled"))) == "origin.timeout")
        let total = try fetcher { settings in
            settings.totalSeconds = 0.2
            settings.lowSpeedBytesPerSecond = 0
        }
        #expect(await total.failure(total.request(origin.url("/endless"))) == "origin.timeout")
        let small = try fetcher { settings in
            settings.maximumBytes = 9_999
            settings.maximumHeaderBytes = 1_000
        }
        #expect(await small.failure(small.request(origin.url("/long"))) == "origin.tooLarge")
        #expect(await small.failure(small.request(origin.url("/endless"))) == "origin.tooLarge")
        #expect(await small.failure(small.request(origin.url("/header"))) == "origin.protocol")
        for path in ["/long", "/header"] {
            #expect(await small.failure(small.request(other.url(path))) == nil)
        }
    }

    @Test("no connection within its time")
    func connectTimeout() async throws {
        // Its queue of connections is full: another one is neither taken nor rejected.
        let full = try FullListener()
        let fetcher = try Fetcher { options in
            options.origins.standard.connectSeconds = 0.1
        }
        let request = fetcher.request("http://127.0.0.1:\(full.port)/")
        #expect(await fetcher.failure(request) == "origin.timeout")
    }
}
