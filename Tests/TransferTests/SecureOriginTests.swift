import Model
import TestSupport
import Testing
import Transfer

/// TLS and HTTP/2 as settings of origins say, against nginx.
@Suite("TLS and HTTP/2", .timeLimit(.minutes(2)))
struct SecureOriginTests {
    private let directory: TemporaryDirectory
    private let port: UInt16
    private let plain: UInt16
    private let nginx: NginxServer

    init() async throws {
        directory = try TemporaryDirectory("secure")
        for name in ["server", "client"] {
            let openssl = try ChildProcess([
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                "-addext", "subjectAltName=DNS:localhost", "-keyout",
                directory.path("\(name).key"), "-out", directory.path("\(name).pem"),
            ])
            try await openssl.wait()
        }
        try directory.write("hello", to: "root/a")
        try directory.write("secret", to: "root/members/a")
        port = try { try FaultOrigin().port }()
        plain = try { try FaultOrigin().port }()
        nginx = try await NginxServer(
            root: directory.path("root"),
            configuration: """
                listen 127.0.0.1:\(port) ssl http2;
                listen 127.0.0.1:\(plain) http2;
                ssl_certificate \(directory.path("server.pem"));
                ssl_certificate_key \(directory.path("server.key"));
                ssl_client_certificate \(directory.path("client.pem"));
                ssl_verify_client optional;
                location = /connection { return 200 "$connection"; }
                location /members/ { if ($ssl_client_verify != SUCCESS) { return 403; } }
                """)
    }

    private var origin: String { "https://localhost:\(port)" }

    private func fetcher(_ adjust: (inout OriginSettings) -> Void = { _ in }) throws -> Fetcher {
        var settings = OriginSettings()
        settings.caFile = directory.path("server.pem")
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

    @Test("a client certificate opens its origin's door")
    func clientCertificate() async throws {
        let without = try fetcher()
        let refused = without.request("\(origin)/members/a")
        #expect(await without.failure(refused) == "origin.http.403")
        let with = try fetcher { settings in
            settings.clientCertificate = .init(
                certificate: directory.path("client.pem"), key: directory.path("client.key"))
        }
        let opened = await get("\(origin)/members/a", with)
        #expect(try opened.outcome.get().body == Array("secret".utf8))
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

    @Test("a rate that is set while HTTP/2 streams are under way is kept, and they end")
    func bounded() async throws {
        let body = sample(400_000)
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
