import Model
import Storage
import TestSupport
import Testing
import Transfer

@Suite("Origins that misbehave")
struct TransferFaultTests {
    let origin: FaultOrigin
    let fetcher: Fetcher

    init() throws {
        origin = try FaultOrigin()
        fetcher = try Fetcher()
    }

    /// What one answer leads to, and that nothing is left of it.
    private func code(
        _ response: FaultOrigin.Response, at path: String = "/a.ts",
        _ adjust: (inout TransferRequest) -> Void = { _ in }
    ) async throws -> FailureCode? {
        origin.route(path, response)
        var request = fetcher.request(origin.url(path + "?sig=secret"))
        adjust(&request)
        let result = await fetcher.fetch(request)
        switch result.outcome {
        case .success(let fetched):
            fetched.object?.discard()
            return nil
        case .failure(let failure):
            #expect(!failure.message.contains("secret"), "\(failure)")
            #expect(try fetcher.temporaries().isEmpty)
            return failure.code
        }
    }

    @Test(
        "every status has its code",
        arguments: [
            (400, "origin.http.400"), (401, "origin.http.401"), (403, "origin.http.403"),
            (404, "origin.http.404"), (408, "origin.http.408"), (410, "origin.http.410"),
            (418, "origin.http.4xx"), (425, "origin.http.425"), (429, "origin.http.429"),
            (500, "origin.http.500"), (502, "origin.http.502"), (503, "origin.http.503"),
            (504, "origin.http.504"), (507, "origin.http.5xx"), (522, "origin.http.522"),
            (204, "origin.protocol"), (206, "origin.protocol"), (304, "origin.protocol"),
            (300, "origin.protocol"), (302, "origin.protocol"),
        ])
    func statuses(status: Int, code: String) async throws {
        #expect(try await self.code(.init(status)) == FailureCode(code))
    }

    @Test("error pages are not kept, however long")
    func errorPages() async throws {
        #expect(try await code(.init(404, text: "gone")) == "origin.http.404")
        let long = FaultOrigin.Response(404, body: sampleBytes(1 << 20))
        #expect(try await code(long) == "origin.http.404")
        var endless = FaultOrigin.Response.endless()
        endless.status = 503
        #expect(try await code(endless) == "origin.http.503")
    }

    @Test("Retry-After is handed on")
    func retryAfter() async throws {
        origin.route("/busy", .init(429, headers: [("Retry-After", "17")]))
        let result = await fetcher.fetch(fetcher.request(origin.url("/busy")))
        #expect(result.retryAfterSeconds == 17)
        #expect(result.httpStatus == 429)
    }

    @Test("bodies that are not what was promised")
    func bodies() async throws {
        let body = sampleBytes(100_000)
        let whole = FaultOrigin.Response(body: body)
        #expect(try await code(whole.cut(after: 60_000)) == "origin.truncated")
        #expect(try await code(whole.cut(after: 0)) == "origin.truncated")
        #expect(try await code(whole.cut(after: 60_000, then: .reset)) == "origin.reset")
        #expect(try await code(whole) { $0.expected.bytes = 99_999 } == "content.lengthMismatch")
        #expect(try await code(whole) { $0.expected.maximumBytes = 99_999 } == "origin.tooLarge")
        #expect(
            try await code(whole.corrupted(at: 70_000)) { $0.expected.sha256 = sha256(body) }
                == "integrity.digestMismatch")
        #expect(try await code(whole) { $0.expected.sha256 = sha256(body) } == nil)
        #expect(try await code(whole) { $0.expected.sha256 = "abc" } == "input.field")
        let encoded = FaultOrigin.Response.gzipped(body)
        #expect(try await code(encoded) == "origin.encoding")
    }

    @Test("bodies without a length")
    func unknownLength() async throws {
        #expect(
            try await code(.endless()) { $0.expected.maximumBytes = 1 << 20 } == "origin.tooLarge")
        #expect(
            try await code(.endless()) { $0.expected.bytes = 1 << 20 } == "content.lengthMismatch")
        let closing = FaultOrigin.Response(headers: [("Transfer-Encoding", "chunked")])
        var short = closing
        short.steps = [.send(Array("5\r\nabc".utf8)), .close]
        #expect(try await code(short) == "origin.truncated")
    }

    @Test("answers that are not HTTP")
    func noHTTP() async throws {
        #expect(
            try await code(.init(headers: [("Content-Length", "junk")], text: "x"))
                == "origin.protocol")
    }

    @Test("headers without end")
    func endlessHeaders() async throws {
        let line = ("X-Filler", String(repeating: "x", count: 1_000))
        let flood = FaultOrigin.Response(
            headers: [(String, String)](repeating: line, count: 5_000), text: "x")
        #expect(try await code(flood) == "origin.protocol")
        let long = FaultOrigin.Response(
            headers: [("X-Filler", String(repeating: "x", count: 1 << 20))], text: "x")
        #expect(try await code(long) == "origin.protocol")
    }

    @Test("a connection that breaks before the answer", .timeLimit(.minutes(1)))
    func brokenBeforeAnswer() async throws {
        let gate = Gate()
        origin.route("/held", FaultOrigin.Response().held(at: gate))
        async let code = fetcher.failure(fetcher.request(origin.url("/held")))
        try await gate.waitUntilReached()
        origin.cutConnections()
        #expect(await code == "origin.reset")
        gate.open()
    }

    @Test("web pages where there should be media")
    func pages() async throws {
        let page = FaultOrigin.Response.htmlPage()
        let untyped = page.with("Content-Type", "application/octet-stream")
        for role in [SegmentRole.media, .`init`, .subtitles, .playlist, .image, .key, .index] {
            #expect(try await code(page) { $0.role = role } == "content.unexpectedType")
            #expect(try await code(untyped) { $0.role = role } == "content.unexpectedType")
        }
        #expect(try await code(untyped, at: "/data.bin") { $0.role = .file } == nil)
        #expect(
            try await code(untyped, at: "/film.mp4") { $0.role = .file } == "content.unexpectedType"
        )
        #expect(
            try await code(untyped) { request in
                request.role = .file
                request.isManifest = true
            } == "content.unexpectedType")
        #expect(
            try await code(page, at: "/film.mp4") { $0.role = .file } == "content.unexpectedType")
        for path in ["/index.html", "/page.htm", "/", "/name"] {
            #expect(try await code(page, at: path) { $0.role = .file } == nil)
        }
    }

    @Test("redirects that lead nowhere good")
    func redirects() async throws {
        #expect(try await code(.redirect(to: "/a.ts")) == "origin.redirectLimit")
        #expect(origin.count("/a.ts") == 6)
        for location in ["file:///etc/passwd", "ftp://h/x", "gopher://h/", "http://", "http://[/"] {
            #expect(try await code(.redirect(to: location)) == "origin.redirectRefused")
        }
        #expect(
            try await code(.redirect(to: "http://169.254.169.254/latest/meta-data"))
                == "origin.addressForbidden")
        #expect(
            try await code(.redirect(to: "http://[::ffff:169.254.169.254]/"))
                == "origin.addressForbidden")
    }

    @Test("the address policy decides on every connection")
    func addressPolicy() async throws {
        let strict = try Fetcher { $0.addressPolicy = AddressPolicy(allowsPrivate: false) }
        origin.serve("/a", [1])
        for host in ["127.0.0.1", "localhost", "127.1", "0x7f000001"] {
            let url = "http://\(host):\(origin.port)/a"
            #expect(await strict.failure(strict.request(url)) == "origin.addressDenied", "\(host)")
        }
        #expect(origin.requests.isEmpty)
    }

    @Test("origins that cannot be reached")
    func unreachable() async throws {
        let gone: UInt16 = try { try FaultOrigin().port }()
        let refused = fetcher.request("http://127.0.0.1:\(gone)/")
        #expect(await fetcher.failure(refused) == "origin.connect")
        let unknown = fetcher.request("http://no-such-host.invalid/")
        #expect(await fetcher.failure(unknown) == "origin.dns")
    }

    /// An origin of TLS with `certificate` and an object `/a`, on a port of its own and a plain one.
    private func secure(
        _ certificate: TestCertificate, _ directory: TemporaryDirectory
    ) async throws -> (nginx: NginxServer, port: UInt16) {
        try directory.write("hello", to: "root/a")
        let port: UInt16 = try { try FaultOrigin().port }()
        let nginx = try await NginxServer(
            root: directory.path("root"),
            configuration: """
                listen 127.0.0.1:\(port) ssl;
                ssl_certificate \(certificate.certificate);
                ssl_certificate_key \(certificate.key);
                """)
        return (nginx, port)
    }

    @Test("an expired certificate is rejected, whoever signed it")
    func expired() async throws {
        let directory = try TemporaryDirectory("tls")
        for days in [2, -1] {
            let certificate = try await TestCertificate(in: directory, "days\(days)", days: days)
            let (nginx, port) = try await secure(certificate, directory)
            let trusting = try Fetcher { $0.caFile = certificate.certificate }
            let code = await trusting.failure(trusting.request("https://localhost:\(port)/a"))
            #expect(code == (days > 0 ? nil : "origin.tls"))
            try await nginx.stop()
        }
    }

    @Test("certificates are checked")
    func certificates() async throws {
        let directory = try TemporaryDirectory("tls")
        let certificate = try await TestCertificate(in: directory, "server")
        let (nginx, port) = try await secure(certificate, directory)
        let trusting = try Fetcher { $0.caFile = certificate.certificate }
        let good = trusting.memory("https://localhost:\(port)/a", role: .data)
        #expect(try await trusting.fetch(good).outcome.get().body == Array("hello".utf8))
        let otherName = trusting.request("https://127.0.0.1:\(port)/a")
        #expect(await trusting.failure(otherName) == "origin.tls")
        let untrusted = fetcher.request("https://localhost:\(port)/a")
        #expect(await fetcher.failure(untrusted) == "origin.tls")
        let plain = fetcher.request("https://127.0.0.1:\(nginx.port)/a")
        #expect(await fetcher.failure(plain) == "origin.tls")
    }

    @Test(
        "URLs that cannot be used",
        arguments: [
            "", "ftp://h/", "file:///etc/passwd", "http://a\r\nb/", "http://a b/", "name", "h:1/",
        ])
    func badURLs(url: String) async throws {
        #expect(await fetcher.failure(fetcher.request(url)) == "input.url")
    }

    @Test("a site that cannot be written")
    func storageFailure() async throws {
        origin.serve("/a", sampleBytes(10_000))
        var request = fetcher.memory(origin.url("/a"))
        request.delivery.destination = .object { (_) throws(Failure) in
            throw Failure("storage.full", "no space")
        }
        #expect(await fetcher.failure(request) == "storage.full")
    }

    // MARK: Time

    @Test("no answer", .timeLimit(.minutes(1)))
    func noAnswer() async throws {
        let gate = Gate()
        let code = try await code(FaultOrigin.Response(text: "late").held(at: gate)) { request in
            request.access.timeouts.connect = 0.05
            request.access.timeouts.firstByte = 0.05
        }
        #expect(code == "origin.timeout")
        gate.open()
    }

    @Test("a body that stops", .timeLimit(.minutes(1)))
    func stalled() async throws {
        let gate = Gate()
        let stalled = FaultOrigin.Response(body: sampleBytes(10_000)).held(after: 5_000, at: gate)
        #expect(try await code(stalled) { $0.access.timeouts.lowSpeed = 0.1 } == "origin.timeout")
        gate.open()
    }

    @Test("a body that never ends", .timeLimit(.minutes(1)))
    func endless() async throws {
        let code = try await code(.endless([0])) { request in
            request.access.timeouts.total = 0.2
            request.access.timeouts.lowSpeedBytesPerSecond = 0
        }
        #expect(code == "origin.timeout")
    }
}
