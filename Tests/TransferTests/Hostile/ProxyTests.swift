import Model
import TestSupport
import Testing
import Transfer

/// The proxies that an origin's settings may name, and what goes wrong there.
@Suite("Proxies", .timeLimit(.minutes(2)))
struct ProxyTests {
    private let origin: FaultOrigin

    init() throws {
        origin = try FaultOrigin()
        origin.route("/a", .init(text: "hello"))
    }

    private func fetcher(
        _ proxy: String, _ adjust: @escaping (inout OriginSettings) -> Void = { _ in }
    ) throws -> Fetcher {
        try Fetcher { options in
            options.origins.standard.proxy = proxy
            adjust(&options.origins.standard)
        }
    }

    private func get(_ url: String, by fetcher: Fetcher) async throws -> [UInt8]? {
        try await fetcher.fetch(fetcher.memory(url, role: .data)).outcome.get().body
    }

    // MARK: SOCKS

    @Test("SOCKS 5: the proxy resolves the name with socks5h, and is given an address with socks5")
    func socks() async throws {
        let proxy = try ForwardProxy(.forward(to: origin.port))
        let byName = try fetcher("socks5h://127.0.0.1:\(proxy.port)")
        let name = "http://media.invalid:8080/a"
        #expect(try await get(name, by: byName) == Array("hello".utf8))
        let byAddress = try fetcher("socks5://127.0.0.1:\(proxy.port)")
        #expect(try await get(origin.url("/a"), by: byAddress) == Array("hello".utf8))
        #expect(
            proxy.requests.map(\.target) == ["media.invalid:8080", "127.0.0.1:\(origin.port)"])
        // A name that only the proxy could resolve.
        #expect(await byAddress.failure(byAddress.request(name)) == "origin.connect")
        #expect(proxy.requests.count == 2)
    }

    @Test("SOCKS 5 with a user, and what a proxy rejects")
    func socksRejections() async throws {
        let proxy = try ForwardProxy(.forward(to: origin.port), credentials: "ann:s3cret")
        let url = "http://media.invalid/a"
        let right = try fetcher("socks5h://ann:s3cret@127.0.0.1:\(proxy.port)")
        #expect(try await get(url, by: right) == Array("hello".utf8))
        #expect(proxy.requests.map(\.credentials) == ["ann:s3cret"])
        for user in ["ann:wr0ng@", ""] {
            try await expectFailure(
                "origin.connect", of: url, by: "socks5h://\(user)127.0.0.1:\(proxy.port)")
        }
        for code in 1...9 {
            let refusing = try ForwardProxy(.send(SOCKS.answer(UInt8(code))))
            try await expectFailure(
                "origin.connect", of: url, by: "socks5h://127.0.0.1:\(refusing.port)")
        }
        let broken = try ForwardProxy(.send([]))
        try await expectFailure(
            "origin.connect", of: url, by: "socks5h://127.0.0.1:\(broken.port)")
        // It speaks another protocol, and waits for more.
        let other = try FaultOrigin()
        try await expectFailure(
            "origin.timeout", of: url, by: "socks5h://127.0.0.1:\(other.port)"
        ) { $0.connectSeconds = 0.2 }
    }

    /// And that the proxy's password stands in no message.
    private func expectFailure(
        _ code: FailureCode, of url: String, by proxy: String,
        _ adjust: @escaping (inout OriginSettings) -> Void = { _ in },
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let fetcher = try fetcher(proxy, adjust)
        let result = await fetcher.fetch(fetcher.request(url))
        let failure = #expect(throws: Failure.self, sourceLocation: sourceLocation) {
            try result.outcome.get()
        }
        #expect(failure?.code == code, sourceLocation: sourceLocation)
        let message = failure?.message ?? ""
        #expect(!message.contains("wr0ng"), "\(message)", sourceLocation: sourceLocation)
    }

    // MARK: CONNECT

    /// An origin of TLS with `/a`, and what trusts it.
    private struct Secure {
        let directory: TemporaryDirectory
        let certificate: TestCertificate
        let nginx: NginxServer
        let port: UInt16

        init(_ lines: String = "") async throws {
            directory = try TemporaryDirectory("proxied")
            certificate = try await TestCertificate(in: directory, "server")
            try directory.write("secret", to: "root/a")
            port = try { try FaultOrigin().port }()
            nginx = try await NginxServer(
                root: directory.path("root"),
                configuration: """
                    listen 127.0.0.1:\(port) ssl;
                    ssl_certificate \(certificate.certificate);
                    ssl_certificate_key \(certificate.key);
                    \(lines)
                    """)
        }

        var url: String { "https://localhost:\(port)/a" }
    }

    @Test("an origin of TLS is reached by a tunnel, and its credentials are not the proxy's")
    func connect() async throws {
        let secure = try await Secure()
        let proxy = try ForwardProxy(.forward(to: secure.port), credentials: "ann:s3cret")
        let fetcher = try fetcher("http://ann:s3cret@127.0.0.1:\(proxy.port)") { settings in
            settings.caFile = secure.certificate.certificate
            settings.authorization = .bearer("t0ken")
            settings.headers = (try? [RequestHeader(name: "X-Key", value: "k")]) ?? []
        }
        #expect(try await get(secure.url, by: fetcher) == Array("secret".utf8))
        let request = try #require(proxy.requests.first)
        #expect(request.target == "localhost:\(secure.port)")
        #expect(request.credentials == "ann:s3cret")
        #expect(!request.headers.contains("authorization") && !request.headers.contains("x-key"))
        // The tunnel proves nothing of whom it leads to.
        let distrusting = try self.fetcher("http://ann:s3cret@127.0.0.1:\(proxy.port)")
        #expect(await distrusting.failure(distrusting.request(secure.url)) == "origin.tls")
    }

    @Test("a tunnel that is rejected is an origin that cannot be reached")
    func connectRejections() async throws {
        let url = "https://media.invalid/a"
        let wanting = try ForwardProxy(.forward(to: origin.port), credentials: "ann:s3cret")
        try await expectFailure(
            "origin.connect", of: url, by: "http://ann:wr0ng@127.0.0.1:\(wanting.port)")
        for status in [403, 502, 503] {
            let text = "HTTP/1.1 \(status) No\r\nContent-Length: 0\r\n\r\n"
            let refusing = try ForwardProxy(.send(Array(text.utf8)))
            try await expectFailure(
                "origin.connect", of: url, by: "http://127.0.0.1:\(refusing.port)")
        }
        let broken = try ForwardProxy(.send([]))
        try await expectFailure("origin.reset", of: url, by: "http://127.0.0.1:\(broken.port)")
        let gone: UInt16 = try { try FaultOrigin().port }()
        try await expectFailure("origin.connect", of: url, by: "http://127.0.0.1:\(gone)")
        try await expectFailure("origin.dns", of: url, by: "http://proxy.invalid:3128")
        let flood = Array("HTTP/1.1 200 Yes\r\nX-Filler: y\r\n".utf8)
        let flooding = try ForwardProxy(.sendForever(flood))
        try await expectFailure("origin.protocol", of: url, by: "http://127.0.0.1:\(flooding.port)")
    }

    @Test("an HTTP proxy's answer to a plain URL is recognized by its status")
    func plainRejection() async throws {
        let proxy = try FaultOrigin()
        proxy.route("http://media.invalid/a", .init(407))
        try await expectFailure(
            "origin.http.4xx", of: "http://media.invalid/a", by: "http://127.0.0.1:\(proxy.port)")
    }

    // MARK: TLS to the proxy

    @Test("a proxy of TLS is believed only with a certificate of those that are trusted for it")
    func secureProxy() async throws {
        // It serves requests by itself.
        let proxy = try await Secure()
        let url = "http://media.invalid/a"
        let address = "https://localhost:\(proxy.port)"
        let trusting = try fetcher(address) { settings in
            settings.proxyCAFile = proxy.certificate.certificate
        }
        #expect(try await get(url, by: trusting) == Array("secret".utf8))
        try await expectFailure("origin.tls", of: url, by: address)
        // Who is trusted for the origin is not for its proxy.
        try await expectFailure("origin.tls", of: url, by: address) { settings in
            settings.caFile = proxy.certificate.certificate
        }
        // Another name than the certificate's.
        try await expectFailure("origin.tls", of: url, by: "https://127.0.0.1:\(proxy.port)") {
            $0.proxyCAFile = proxy.certificate.certificate
        }
    }
}
