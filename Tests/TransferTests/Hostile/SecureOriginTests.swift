import Model
import TestSupport
import Testing
import Transfer

/// TLS and HTTP/2 by the settings of origins, against nginx.
@Suite("TLS and HTTP/2", .timeLimit(.minutes(2)))
struct SecureOriginTests {
    private let directory: TemporaryDirectory
    private let server: TestCertificate
    private let client: TestCertificate
    private let port: UInt16
    private let plain: UInt16
    private let nginx: NginxServer
    /// What `/held/` leads to.
    private let behind: FaultOrigin

    init() async throws {
        directory = try TemporaryDirectory("secure")
        server = try await TestCertificate(in: directory, "server")
        client = try await TestCertificate(in: directory, "client")
        try directory.write("hello", to: "root/a")
        try directory.write("secret", to: "root/members/a")
        behind = try FaultOrigin()
        port = try { try FaultOrigin().port }()
        plain = try { try FaultOrigin().port }()
        nginx = try await NginxServer(
            root: directory.path("root"),
            configuration: """
                listen 127.0.0.1:\(port) ssl http2;
                listen 127.0.0.1:\(plain) http2;
                ssl_certificate \(server.certificate);
                ssl_certificate_key \(server.key);
                ssl_client_certificate \(client.certificate);
                ssl_verify_client optional;
                location = /connection { return 200 "$connection"; }
                location = /names { return 200 "$http_host $ssl_server_name"; }
                location /held/ {
                    proxy_pass \(behind.url());
                    proxy_set_header X-Connection $connection;
                }
                location /members/ { if ($ssl_client_verify != SUCCESS) { return 403; } }
                """)
    }

    private var origin: String { "https://localhost:\(port)" }

    private func fetcher(_ adjust: (inout OriginSettings) -> Void = { _ in }) throws -> Fetcher {
        var settings = OriginSettings()
        settings.caFile = server.certificate
        adjust(&settings)
        let table = OriginSettingsTable(
            standard: OriginSettings(),
            origins: [origin: settings, "http://127.0.0.1:\(plain)": settings])
        return try Fetcher { options in
            options.origins = table
            options.loops = 1
        }
    }

    private func get(_ url: String, _ fetcher: Fetcher) async -> TransferResult {
        await fetcher.fetch(fetcher.memory(url, role: .data))
    }

    @Test("an origin's authorities are trusted there, and the system's no more")
    func authorities() async throws {
        let fetcher = try fetcher()
        let good = await get("\(origin)/a", fetcher)
        #expect(try good.outcome.get().body == Array("hello".utf8))
        let elsewhere = try Fetcher()
        #expect(await elsewhere.failure(elsewhere.request("\(origin)/a")) == "origin.tls")
        // The same handle goes back to the system's authorities for another origin.
        let byNumber = fetcher.request("https://127.0.0.1:\(port)/a")
        #expect(await fetcher.failure(byNumber) == "origin.tls")
    }

    @Test(
        "a cache's POP is asked by its address, with the name, certificate and settings of the edge"
    )
    func edge() async throws {
        var settings = OriginSettings()
        settings.caFile = server.certificate
        let table = OriginSettingsTable(
            standard: OriginSettings(),
            origins: ["https://localhost": settings, "https://edge.example": settings])
        let fetcher = try Fetcher { $0.origins = table }
        var request = fetcher.memory("https://127.0.0.1:\(port)/names", role: .data)
        request.access.edge = "localhost"
        let result = await fetcher.fetch(request)
        let fetched = try result.outcome.get()
        #expect(String(decoding: fetched.body ?? [], as: UTF8.self) == "localhost localhost")
        #expect(result.origin == "https://127.0.0.1:\(port)")
        #expect(fetched.response.cache == CacheAnswer(.unknown, detail: ""))
        // Its certificate is not that of another edge, and the same handle connects as before.
        request.access.edge = "edge.example"
        #expect(await fetcher.failure(request) == "origin.tls")
        request.access.edge = nil
        #expect(await fetcher.failure(request) == "origin.tls")
    }

    @Test("a client certificate opens its origin's door")
    func clientCertificate() async throws {
        let without = try fetcher()
        let refused = without.request("\(origin)/members/a")
        #expect(await without.failure(refused) == "origin.http.403")
        let with = try fetcher { settings in
            settings.clientCertificate = .init(
                certificate: client.certificate, key: client.key)
        }
        let opened = await get("\(origin)/members/a", with)
        #expect(try opened.outcome.get().body == Array("secret".utf8))
    }

    @Test("a client certificate's key may have a password, which is never prompted for")
    func keyPassword() async throws {
        // The same key, so that the origin knows its certificate.
        let key = directory.path("encrypted.key")
        try await ChildProcess.run([
            "openssl", "pkey", "-in", client.key, "-aes256", "-passout", "pass:s3cret", "-out", key,
        ])
        for password in ["s3cret", "wr0ng", nil] {
            let fetcher = try fetcher { settings in
                settings.clientCertificate = .init(
                    certificate: client.certificate, key: key, password: password)
            }
            let result = await get("\(origin)/members/a", fetcher)
            switch result.outcome {
            case .success(let fetched):
                #expect(password == "s3cret")
                #expect(fetched.body == Array("secret".utf8))
            case .failure(let failure):
                #expect(password != "s3cret")
                #expect(failure.code == "origin.tls")
                #expect(!failure.message.contains("wr0ng"), "\(failure)")
            }
        }
    }

    @Test("HTTP/2 is spoken where it is offered, all requests over one connection")
    func multiplexed() async throws {
        let fetcher = try fetcher()
        let results = await withTaskGroup(of: TransferResult.self) { group in
            for _ in 0..<40 {
                group.addTask { await self.get("\(origin)/connection", fetcher) }
            }
            return await group.reduce(into: [TransferResult]()) { $0.append($1) }
        }
        // Each answer is the number of its connection.
        let connections = try results.map { try $0.outcome.get().body }
        #expect(Set(connections).count == 1)
        #expect(results.allSatisfy { $0.httpVersion == "2" })
    }

    /// None is answered before all are asked, which on a connection with one at a time would be never.
    @Test("as many streams are open at once on a connection as there are transfers")
    func streams() async throws {
        let fetcher = try fetcher()
        _ = try await get("\(origin)/a", fetcher).outcome.get()
        let gate = Gate()
        defer { gate.open() }
        let count = 8
        for number in 0..<count {
            behind.route("/held/\(number)", FaultOrigin.Response(text: "held").held(at: gate))
        }
        let results = try await withThrowingTaskGroup(of: TransferResult.self) { group in
            for number in 0..<count {
                group.addTask { await self.get("\(origin)/held/\(number)", fetcher) }
            }
            try await waitUntil(deadlineSeconds: 60, "all requests at the origin") {
                behind.activeRequests.now == count
            }
            gate.open()
            return try await group.reduce(into: [TransferResult]()) { $0.append($1) }
        }
        for result in results {
            #expect(try result.outcome.get().body == Array("held".utf8))
            #expect(result.httpVersion == "2")
        }
        #expect(Set(behind.requests.map { $0.headers["x-connection"] }).count == 1)
    }

    @Test(
        "a silent connection is not reused", arguments: [true, false])
    func halfOpen(hasBegun: Bool) async throws {
        let way = try TCPProxy(to: .port(port))
        let url = "https://localhost:\(way.port)"
        var settings = OriginSettings()
        settings.caFile = server.certificate
        settings.connectSeconds = 2
        settings.firstByteSeconds = 0.2
        settings.lowSpeedSeconds = 1
        let table = OriginSettingsTable(standard: OriginSettings(), origins: [url: settings])
        let fetcher = try Fetcher { options in
            options.origins = table
            options.loops = 1
        }
        #expect(try await get("\(url)/a", fetcher).outcome.get().body == Array("hello".utf8))
        let gate = Gate()
        defer { gate.open() }
        let body = FaultOrigin.Response(body: sampleBytes(1 << 20))
        behind.route(
            "/held/x", hasBegun ? body.held(after: 1 << 19, at: gate) : body.held(at: gate))
        async let held = fetcher.fetch(fetcher.request("\(url)/held/x"))
        try await gate.waitUntilReached()
        way.freeze()
        gate.open()
        let outcome = await held.outcome
        let failure = #expect(throws: Failure.self) { try outcome.get() }
        #expect(failure?.code == "origin.timeout")
        // On a busy machine a transfer may be late by itself; on that connection each would be for ever.
        var tries = 0
        while tries < 5, case .failure = await get("\(url)/a", fetcher).outcome { tries += 1 }
        #expect(tries < 5)
    }

    @Test("a rate that is set while HTTP/2 streams run is kept, and they end")
    func bounded() async throws {
        let body = sampleBytes(400_000)
        try directory.write(body, to: "root/b")
        let fetcher = try fetcher()
        _ = try await get("\(origin)/a", fetcher).outcome.get()
        let results = await withTaskGroup(of: TransferResult.self) { group in
            for _ in 0..<6 { group.addTask { await self.get("\(origin)/b", fetcher) } }
            fetcher.engine.setLimits(
                OriginAllowance(bytesPerSecond: 2_000_000), of: origin, forSeconds: 600)
            for _ in 0..<2 { group.addTask { await self.get("\(origin)/b", fetcher) } }
            return await group.reduce(into: [TransferResult]()) { $0.append($1) }
        }
        for result in results {
            #expect(try result.outcome.get().sha256 == sha256(body))
        }
        // What begins with a bound has a connection of its own.
        #expect(await get("\(origin)/a", fetcher).httpVersion == "1.1")
    }

    @Test("a stream that ended while others continued leaves nothing in the way of a rate")
    func boundedAfterAStream() async throws {
        let fetcher = try fetcher()
        _ = try await get("\(origin)/a", fetcher).outcome.get()
        let gate = Gate()
        behind.route("/held/x", FaultOrigin.Response(text: "held").held(at: gate))
        async let held = get("\(origin)/held/x", fetcher)
        defer { gate.open() }
        try await gate.waitUntilReached()
        // The handle of this one keeps its buffer.
        #expect(await get("\(origin)/a", fetcher).httpVersion == "2")
        fetcher.engine.setLimits(
            OriginAllowance(bytesPerSecond: 2_000_000), of: origin, forSeconds: 600)
        let bounded = await get("\(origin)/a", fetcher)
        #expect(try bounded.outcome.get().body == Array("hello".utf8))
        gate.open()
        #expect(try await held.outcome.get().body == Array("held".utf8))
    }

    @Test("the version that is set is the version that is spoken")
    func versions() async throws {
        let first = try fetcher { $0.http = .http1 }
        #expect(await get("\(origin)/a", first).httpVersion == "1.1")
        let second = try fetcher { $0.http = .http2 }
        #expect(await get("\(origin)/a", second).httpVersion == "2")
        let prior = try fetcher { $0.http = .http2PriorKnowledge }
        let plain = await get("http://127.0.0.1:\(plain)/a", prior)
        #expect(try plain.outcome.get().body == Array("hello".utf8))
        #expect(plain.httpVersion == "2")
    }
}
