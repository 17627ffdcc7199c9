import Digest
import Model
import Storage
import TestSupport
import Testing
import Transfer

@Suite("Resumed bodies")
struct ResumeTests {
    typealias Response = FaultOrigin.Response
    typealias Request = FaultOrigin.Request

    let origin: FaultOrigin
    let fetcher: Fetcher
    let body = sampleBytes(20_000)

    init() throws {
        origin = try FaultOrigin()
        fetcher = try Fetcher()
    }

    /// Cuts the first answer after 8,000 bytes, and answers `second` and what follows by a closure.
    private func attempts(
        path: String = "/large.bin", etag: String? = "\"v1\"", lastModified: String? = nil,
        date: String? = nil, then answer: @escaping @Sendable (Request) -> Response
    ) -> Attempts {
        let body = body
        origin.route(path) { request in
            guard request.number == 1 else { return answer(request) }
            var first = request.serve(body, etag: etag, lastModified: lastModified)
            if let date { first = first.with("Date", date) }
            return first.cut(after: 8_000)
        }
        return Attempts(fetcher, url: origin.url(path), key: "o/large.bin")
    }

    private func ranges() -> [String?] { origin.requests.map { $0.headers["range"] } }

    @Test("an interrupted body is resumed, and hashed as one")
    func resumes() async throws {
        let body = body
        var attempts = attempts { $0.serve(body, etag: "\"v1\"") }
        #expect(try await attempts.run().code == "origin.truncated")
        let second = try await attempts.run { $0.expected.sha256 = sha256(body) }
        #expect(second.bytes == body && second.startedFrom == 8_000 && second.isVerified)
        #expect(ranges() == [nil, "bytes=8000-"])
        #expect(origin.requests.last?.headers["if-range"] == "\"v1\"")
        #expect(try fetcher.directory.files() == ["o/large.bin"])
    }

    @Test("a worker that was killed loses what it had not noted, and no more")
    func killed() async throws {
        let body = body
        let gate = Gate()
        var attempts = attempts { request in
            let whole = request.serve(body, etag: "\"v1\"")
            return request.number == 2 ? whole.held(after: 6_000, at: gate) : whole
        }
        #expect(try await attempts.run(.killed, noteBytes: 3_000).code == "origin.truncated")
        gate.open()
        let second = try await attempts.run()
        let from = try #require(second.startedFrom)
        #expect((3_000...8_000).contains(from))
        #expect(second.bytes == body)
        #expect(ranges() == [nil, "bytes=\(from)-"])
        #expect(try fetcher.directory.files() == ["o/large.bin"])
    }

    @Test("a long one's use of space is found early", arguments: [true, false])
    func killedEarly(isLong: Bool) async throws {
        let body = body
        var attempts = attempts { $0.serve(body, etag: "\"v1\"") }
        _ = try await attempts.run(
            .killed, minimumBytes: 2_000, noteBytes: 1_000_000, longBytes: isLong ? 20_000 : 20_001)
        let second = try await attempts.run()
        #expect((second.startedFrom != nil) == isLong && second.bytes == body)
        #expect(try fetcher.temporaries().count == (isLong ? 0 : 1))
    }

    @Test("two workers take over from one frozen: each has its own bytes")
    func frozen() async throws {
        let body = body
        var attempts = attempts { $0.serve(body, etag: "\"v1\"") }
        // Frozen, not dead: its file is open, and it will write there again.
        _ = try await attempts.run(.killed, noteBytes: 3_000)
        let files = try fetcher.temporaries()
        #expect(files.count == 1)
        var other = attempts
        other.asset = AssetID(2)
        let results = [try await other.run(), try await attempts.run()]
        for result in results { #expect(result.bytes == body && result.startedFrom != nil) }
        #expect(try fetcher.directory.files() == ["o/large.bin"])
    }

    @Test("who was frozen takes nothing from who came later", arguments: [true, false])
    func zombie(isKilled: Bool) async throws {
        let body = body
        var attempts = attempts { request in
            let whole = request.serve(body, etag: "\"v1\"")
            return request.number == 2 ? whole.cut(after: 4_000) : whole
        }
        _ = try await attempts.run(.killed, noteBytes: 3_000)
        // Frozen with an older partial body, it continues after another got further.
        let left = try fetcher.storage.partials()
        let identity = PartialIdentity(
            url: attempts.url, key: attempts.key, cluster: attempts.cluster)
        let zombie = ObjectAttempt(lease: "zombie", job: JobID(1), asset: AssetID(1))
        _ = try await attempts.run(isKilled ? .killed : .orderly)
        let files = try fetcher.directory.files()
        for index in [left, try fetcher.storage.partials()] {
            let taken = try fetcher.storage.takePartial(
                identity, of: index, for: zombie, location: .key(attempts.key))
            #expect(taken == nil)
        }
        #expect(try fetcher.directory.files() == files)
        let third = try await attempts.run()
        let from = try #require(third.startedFrom)
        #expect(third.bytes == body && from > 8_000)
        #expect(try fetcher.directory.files() == ["o/large.bin"])
    }

    @Test("another cluster's numbers are not one's own", arguments: [true, false])
    func clusters(isOnly: Bool) async throws {
        let body = body
        var attempts = attempts { $0.serve(body, etag: "\"v1\"") }
        attempts.isOnly = isOnly
        _ = try await attempts.run()
        let files = try fetcher.directory.files()
        var other = attempts
        other.cluster = "two"
        let result = try await other.run()
        #expect(result.bytes == body && result.startedFrom == nil)
        #expect(try fetcher.directory.files() == (files + ["o/large.bin"]).sorted())
        #expect(try await attempts.run().startedFrom == 8_000)
        #expect(try fetcher.directory.files() == ["o/large.bin"])
    }

    @Test("a URL with a fresh signature is resumed by a strong ETag")
    func freshSignature() async throws {
        let (body, new) = (body, sampleBytes(15_000, seed: 7))
        let old = "Sun, 06 Nov 1994 08:49:37 GMT"
        let now = "Mon, 07 Nov 1994 08:49:37 GMT"
        let cases: [(name: String, etag: String?, date: String?, isOnly: Bool, isNew: Bool)] = [
            ("same", "\"v1\"", nil, true, false), ("changed", "\"v1\"", nil, true, true),
            ("dated", nil, old, true, false), ("ofSeveral", "\"v1\"", nil, false, false),
        ]
        for (name, etag, date, isOnly, isNew) in cases {
            let path = "/\(name).bin"
            origin.route(path) { request in
                guard request.target.hasSuffix("?sig=2") else {
                    return request.serve(body, etag: etag, lastModified: date).with("Date", now)
                        .cut(after: 8_000)
                }
                return isNew
                    ? request.serve(new, etag: "\"v2\"")
                    : request.serve(body, etag: etag, lastModified: date).with("Date", now)
            }
            var attempts = Attempts(fetcher, url: origin.url(path + "?sig=1"), key: "o/\(name)?1")
            attempts.isOnly = isOnly
            _ = try await attempts.run()
            (attempts.url, attempts.key) = (origin.url(path + "?sig=2"), "o/\(name)?2")
            let result = try await attempts.run()
            #expect(result.bytes == (isNew ? new : body), "\(name)")
            let goesOn = etag != nil && isOnly
            #expect(result.startedFrom == (goesOn ? 8_000 : nil), "\(name)")
            let last = origin.requests(for: path).last
            #expect(last?.headers["if-range"] == (goesOn ? etag : nil))
            // An unresumable body is removed; that of another object stays.
            let left = try fetcher.directory.files().filter { $0.hasPrefix(".dray/") }
            #expect(left.count == (isOnly ? 0 : 2), "\(name)")
        }
    }

    @Test("little is not worth keeping")
    func minimum() async throws {
        let body = body
        var attempts = attempts { $0.serve(body, etag: "\"v1\"") }
        _ = try await attempts.run(minimumBytes: 8_001)
        #expect(try fetcher.directory.files().isEmpty)
        #expect(try await attempts.run().startedFrom == nil)
    }

    @Test("a changed object starts over")
    func changed() async throws {
        let new = sampleBytes(15_000, seed: 7)
        var attempts = attempts { $0.serve(new, etag: "\"v2\"") }
        _ = try await attempts.run()
        #expect(try await attempts.run().bytes == new)
        #expect(ranges() == [nil, "bytes=8000-"], "the 200 is taken as it comes")
        #expect(try fetcher.directory.files() == ["o/large.bin"])
    }

    @Test("no 206 but the rest of what lies there is taken")
    func wrongRests() async throws {
        let body = body
        let changes: [@Sendable (Response) -> Response] = [
            { $0.with("Content-Range", "bytes 8001-19999/20000") },
            { $0.with("Content-Range", "bytes 0-11999/20000") },
            { $0.with("Content-Range", "bytes 8000-19998/20000") },
            { $0.with("Content-Range", "bytes 8000-19999/20001") },
            { $0.with("Content-Range", "bytes 8000-19999/*") },
            { $0.without("Content-Range") }, { $0.with("ETag", "\"v2\"") },
            { $0.with("ETag", "W/\"v1\"") }, { $0.without("ETag") },
            { $0.with("Repr-Digest", "md5=:\(base64([UInt8](repeating: 0, count: 16))):") },
        ]
        for (index, change) in changes.enumerated() {
            let path = "/\(index)"
            origin.route(path) { request in
                let answer = request.serve(body, etag: "\"v1\"")
                    .with("Repr-Digest", "md5=:\(base64(md5(body))):")
                if request.number == 1 { return answer.cut(after: 8_000) }
                return request.headers["range"] == nil ? answer : change(answer)
            }
            var attempts = Attempts(fetcher, url: origin.url(path), key: "o/\(index)")
            _ = try await attempts.run()
            let second = try await attempts.run()
            #expect(second.bytes == body, "change \(index): \(second)")
            let asked = origin.requests(for: path).map { $0.headers["range"] }
            #expect(asked == [nil, "bytes=8000-", nil], "change \(index)")
        }
    }

    @Test("an origin that drops ranges with a condition is asked without one, and compared")
    func droppedCondition() async throws {
        let body = body
        var attempts = attempts { request in
            if request.headers["if-range"] != nil {
                return Response(headers: [("ETag", "\"v1\"")], body: body)
            }
            return request.serve(body, etag: "\"v1\"")
        }
        _ = try await attempts.run()
        #expect(try await attempts.run().bytes == body)
        #expect(ranges() == [nil, "bytes=8000-", "bytes=8000-"])
        #expect(origin.requests.map { $0.headers["if-range"] } == [nil, "\"v1\"", nil])
    }

    @Test("an origin without ranges starts over, in one answer more")
    func withoutRanges() async throws {
        let body = body
        var attempts = attempts { _ in Response(headers: [("ETag", "\"v1\"")], body: body) }
        _ = try await attempts.run()
        #expect(try await attempts.run().bytes == body)
        #expect(origin.requests.count == 3)
    }

    @Test("an object that is shorter now starts over")
    func notSatisfiable() async throws {
        let short = sampleBytes(5_000, seed: 3)
        var attempts = attempts { request in
            request.headers["range"] == nil
                ? request.serve(short, etag: "\"v2\"")
                : Response(416, headers: [("Content-Range", "bytes */5000")])
        }
        _ = try await attempts.run()
        #expect(try await attempts.run().bytes == short)
    }

    @Test(
        "weak validators are never used",
        arguments: [
            ("W/\"v1\"", nil, nil), (nil, nil, nil),
            // In the second of the answer: it may change once more in it.
            (nil, "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT"),
            (nil, "Sun, 06 Nov 1994 08:49:37 GMT", nil),
        ] as [(String?, String?, String?)])
    func weak(etag: String?, lastModified: String?, date: String?) async throws {
        let body = body
        var attempts = attempts(etag: etag, lastModified: lastModified, date: date) {
            $0.serve(body, etag: etag, lastModified: lastModified)
        }
        _ = try await attempts.run()
        #expect(try fetcher.directory.files().isEmpty)
        #expect(try await attempts.run().bytes == body)
        #expect(ranges() == [nil, nil])
    }

    @Test("a date that is old enough will do")
    func lastModified() async throws {
        let body = body
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        var attempts = attempts(
            etag: nil, lastModified: date, date: "Sun, 06 Nov 1994 08:49:38 GMT"
        ) { $0.serve(body, lastModified: date) }
        _ = try await attempts.run()
        #expect(try await attempts.run().bytes == body)
        #expect(ranges() == [nil, "bytes=8000-"])
        #expect(origin.requests.last?.headers["if-range"] == date)
    }

    @Test("another URL's validator is no proof")
    func otherSource() async throws {
        let (body, other) = (body, sampleBytes(20_000, seed: 9))
        origin.route(
            "/start",
            inTurn: [.redirect(to: "/one"), .redirect(to: "/two"), .redirect(to: "/two")])
        origin.route("/one") { $0.serve(body, etag: "\"v1\"").cut(after: 8_000) }
        origin.serve("/two", other, etag: "\"v1\"")
        var attempts = Attempts(fetcher, url: origin.url("/start"), key: "o/x")
        _ = try await attempts.run()
        #expect(try await attempts.run().bytes == other)
    }

    @Test("with a digest of the list's the rest may come from elsewhere", arguments: [true, false])
    func guarded(isSame: Bool) async throws {
        let (body, other) = (body, sampleBytes(20_000, seed: 9))
        let wanted = isSame ? body : other
        origin.route(
            "/start",
            inTurn: [.redirect(to: "/one"), .redirect(to: "/two"), .redirect(to: "/three")])
        origin.route("/one") { $0.serve(body, etag: "\"v1\"").cut(after: 8_000) }
        origin.route("/two") { $0.serve(wanted, etag: "\"v2\"").cut(after: 4_000) }
        origin.serve("/three", wanted, etag: "\"v3\"")
        var attempts = Attempts(fetcher, url: origin.url("/start"), key: "o/x")
        for _ in 1...2 { _ = try await attempts.run { $0.expected.sha256 = sha256(wanted) } }
        let last = try await attempts.run { $0.expected.sha256 = sha256(wanted) }
        #expect(last.bytes == wanted && last.isVerified)
        let asked = ["/one", "/two", "/three"].map { path in
            origin.requests(for: path).map { $0.headers["range"] }
        }
        // A body that does not match starts over, at once and at the last URL.
        #expect(
            asked == [
                [nil], ["bytes=8000-"], isSame ? ["bytes=12000-"] : ["bytes=12000-", nil],
            ])
        #expect(origin.requests.allSatisfy { $0.headers["if-range"] == nil })
        #expect(try fetcher.directory.files() == ["o/x"])
    }

    @Test("without one, a body from several URLs is never resumed")
    func unguarded() async throws {
        let body = body
        origin.route("/start", inTurn: [.redirect(to: "/one"), .redirect(to: "/two")])
        origin.route("/one") { request in
            let answer = request.serve(body, etag: "\"v1\"")
            return request.number == 1 ? answer.cut(after: 8_000) : answer
        }
        origin.route("/two") { $0.serve(body, etag: "\"v1\"").cut(after: 4_000) }
        var attempts = Attempts(fetcher, url: origin.url("/start"), key: "o/x")
        for _ in 1...2 { _ = try await attempts.run { $0.expected.sha256 = sha256(body) } }
        origin.route("/start", .redirect(to: "/one"))
        let last = try await attempts.run()
        #expect(last.bytes == body && last.startedFrom == 12_000)
        #expect(origin.requests.last?.headers["range"] == nil)
    }

    @Test("bytes that a disk has lost are fetched again")
    func lostBytes() async throws {
        let body = body
        var attempts = attempts { $0.serve(body, etag: "\"v1\"") }
        _ = try await attempts.run()
        let name = try #require(try fetcher.temporaries().first)
        var lost = try fetcher.directory.read(name)
        lost.replaceSubrange(4_000..<6_000, with: repeatElement(0, count: 2_000))
        try fetcher.directory.write(lost, to: name)
        #expect(try await attempts.run().bytes == body)
        #expect(ranges() == [nil, nil])
        #expect(try fetcher.directory.files() == ["o/large.bin"])
    }

    @Test(
        "records that make no sense are ignored", arguments: ["", "x", "dray partial 1\nend\n"])
    func brokenRecord(text: String) async throws {
        let body = body
        var attempts = attempts { $0.serve(body, etag: "\"v1\"") }
        _ = try await attempts.run()
        let name = try #require(
            try fetcher.directory.files().first { $0.hasPrefix(".dray/partial/") })
        try fetcher.directory.write(text, to: name)
        #expect(try await attempts.run().bytes == body)
        #expect(ranges() == [nil, nil])
    }

    @Test("an answer that fails keeps what lies there", arguments: [503, 429, 500])
    func failuresKeep(status: Int) async throws {
        let body = body
        var attempts = attempts { request in
            request.number == 2 ? Response(status) : request.serve(body, etag: "\"v1\"")
        }
        _ = try await attempts.run()
        #expect(try await attempts.run().code == FailureCode("origin.http.\(status)"))
        let third = try await attempts.run()
        #expect(third.bytes == body && third.startedFrom == 8_000)
    }

    @Test("what is wrong is not kept")
    func wrongIsDropped() async throws {
        let body = body
        var attempts = attempts { $0.serve(body, etag: "\"v1\"") }
        _ = try await attempts.run()
        let second = try await attempts.run { $0.expected.sha256 = sha256([1]) }
        #expect(second.code == "integrity.digestMismatch")
        #expect(try fetcher.directory.files().isEmpty)
    }
}

func md5(_ bytes: [UInt8]) -> [UInt8] { digest(.md5, bytes)?.bytes ?? [] }
