import CoordinatorClient
import Foundation
import Model
import TestSupport
import Testing

/// What a coordinator is asked for and must not do: each gets its answer with a code, and nothing in
/// the database changes.
@Suite struct RejectionTests {
    struct Case: Sendable, CustomStringConvertible {
        var method = "POST"
        var target: String
        var body: String?
        var headers: [String: String] = [:]
        var status = 400
        var code = "input.field"

        var description: String { "\(method) \(target) \((body ?? "").prefix(90))" }
    }

    static let worker = Fixture.worker
    static let lease = Fixture.unknown
    private static let zeros = String(repeating: "0", count: 64)

    /// 3,000 bytes in 750 characters, with nothing in them that could be compressed.
    private static let longName = String(
        String.UnicodeScalarView((0..<750).compactMap { Unicode.Scalar(0x20000 + $0 * 53) }))

    static func catalog(_ fields: String) -> Case { Case(target: "/v1/catalogs", body: fields) }

    static func asset(_ fields: String, code: String = "input.field") -> Case {
        Case(
            target: "/v1/catalogs/1/assets", body: #"{"generation":1,"assets":[{\#(fields)}]}"#,
            code: code)
    }

    static func asset(url: String) -> Case {
        asset(#""name":"a","kind":"file","key":"h/a","url":"\#(url)""#)
    }

    static func asset(key: String) -> Case {
        asset(#""name":"a","kind":"file","url":"http://h/a","key":"\#(key)""#)
    }

    /// Of an asset at `h/a`; two of these files would lie in one place.
    static func sidecars(_ keys: [String]) -> Case {
        let all = keys.enumerated().map { index, key in
            #"{"url":"http://h/\#(index)","key":"\#(key)","role":"image","required":true}"#
        }
        return asset(
            #""name":"a","kind":"file","key":"h/a","url":"http://h/a","#
                + #""sidecars":[\#(all.joined(separator: ","))]"#, code: "input.duplicate")
    }

    static func segment(_ fields: String) -> Case {
        Case(
            target: "/v1/segments",
            body: #"{"worker":"\#(worker)","job":1,"lease":"\#(lease)","segments":[{\#(fields)}]}"#)
    }

    static func refreshed(
        _ fields: String = #""validator":"v""#, key: String = "h/a", ordinal: Int = 0,
        sha256: String = zeros
    ) -> Case {
        Case(
            target: "/v1/refreshes",
            body: #"{"worker":"\#(worker)","job":1,"lease":"\#(lease)","files":[{"segment":"#
                + #"{"ordinal":\#(ordinal),"url":"http://h/a","key":"\#(key)","role":"media"},"#
                + #""stored":{"bytes":1,"sha256":"\#(sha256)"},\#(fields)}]}"#)
    }

    static func split(total: String, part: String, validator: String = "x") -> Case {
        Case(
            target: "/v1/splits",
            body: #"{"worker":"\#(worker)","job":1,"lease":"\#(lease)","multipart":"\#(lease)","#
                + #""totalBytes":\#(total),"partBytes":\#(part),"validator":"\#(validator)"}"#)
    }

    static func leases(_ fields: String, code: String = "input.field") -> Case {
        Case(target: "/v1/leases", body: "{\(fields)}", code: code)
    }

    static func slow(_ fields: String) -> Case {
        leases(
            #""worker":"\#(worker)","queues":[],"maxJobs":1,"waitMilliseconds":0,\#(fields)"#
        )
    }

    static func report(_ fields: String, code: String = "input.field") -> Case {
        Case(
            target: "/v1/reports", body: #"{"worker":"\#(worker)","results":[{\#(fields)}]}"#,
            code: code)
    }

    static func missing(_ method: String, _ target: String) -> Case {
        Case(method: method, target: target, status: 404, code: "input.notFound")
    }

    static let malformed: [Case] = [
        Case(target: "/v1/catalogs", body: "", code: "input.malformed"),
        Case(target: "/v1/catalogs", body: "{", code: "input.malformed"),
        Case(target: "/v1/catalogs", body: "null", code: "input.malformed"),
        Case(target: "/v1/catalogs", body: "[]", code: "input.malformed"),
        Case(target: "/v1/catalogs", body: "{\"name\":\"\u{1}\"}", code: "input.malformed"),
        Case(target: "/v1/catalogs", body: #"{"name":"a"}"#, code: "input.malformed"),
        Case(
            target: "/v1/catalogs", body: #"{"name":1,"storageURL":"file:///x","priority":5}"#,
            code: "input.malformed"),
        Case(
            target: "/v1/catalogs", body: #"{"name":"a","storageURL":null,"priority":5}"#,
            code: "input.malformed"),
        Case(
            target: "/v1/catalogs", body: #"{"name":"a","storageURL":"file:///x","priority":5.5}"#,
            code: "input.malformed"),
        Case(
            target: "/v1/catalogs", body: #"{"name":"a","storageURL":"file:///x","priority":1e99}"#,
            code: "input.malformed"),
        asset(#""name":"a","kind":"tape","key":"h/a","url":"http://h/a""#, code: "input.malformed"),
        asset(
            #""name":"a","kind":"file","key":"h/a","url":"http://h/a","bytes":99999999999999999999"#,
            code: "input.malformed"),
        report(#""job":1,"lease":"\#(lease)","outcome":"perhaps""#, code: "input.malformed"),
        leases(
            #""worker":"\#(worker)","queues":"all","maxJobs":1,"waitMilliseconds":0"#,
            code: "input.malformed"),
        Case(
            target: "/v1/catalogs", body: #"{"name":"a"}"#, headers: ["Content-Type": "text/plain"]),
        Case(
            target: "/v1/catalogs", body: #"{"name":"a"}"#,
            headers: ["Content-Type": "application/x-www-form-urlencoded"]),
        Case(target: "/v1/catalogs", body: #"{"name":"a"}"#, headers: ["Content-Type": ""]),
        // What a form of any web page can send.
        Case(
            target: "/v1/catalogs/1/interrupt", body: "a=b",
            headers: ["Content-Type": "application/x-www-form-urlencoded"]),
        Case(target: "/v1/catalogs/%zz", body: "{}", code: "input.malformed"),
        Case(method: "GET", target: "/v1/catalogs/1/files?after=%00", code: "input.malformed"),
    ]

    static let routes: [Case] = [
        missing("GET", "/"), missing("GET", "/v1"), missing("GET", "/v2/status"),
        missing("GET", "/v1/nothing"), missing("OPTIONS", "*"), missing("GET", "/healthz/x"),
        missing("GET", "/v1/catalogs/1/assets/2"), missing("GET", "/v1/status/x"),
        missing("POST", "/v1/catalogs/1/nothing"), missing("GET", "/v1/catalogs/999"),
        missing("GET", "/v1/../v1/status"), missing("GET", "/v1%2Fstatus"),
        Case(
            target: "/v1/catalogs/999/start", body: #"{"generation":1}"#, status: 404,
            code: "input.notFound"),
        Case(
            target: "/v1/catalogs/999/interrupt", body: "{}", status: 404, code: "input.notFound"),
        Case(
            target: "/v1/catalogs/999/assets",
            body:
                #"{"generation":1,"assets":[{"name":"a","kind":"file","key":"h/a","url":"http://h/a"}]}"#,
            status: 404, code: "input.notFound"),
        Case(method: "GET", target: "/v1/catalogs/0"),
        Case(method: "GET", target: "/v1/catalogs/-1"),
        Case(method: "GET", target: "/v1/catalogs/1e3"),
        Case(method: "GET", target: "/v1/catalogs/99999999999999999999"),
        Case(method: "GET", target: "/v1/catalogs/1/assets?limit=0"),
        Case(method: "GET", target: "/v1/catalogs/1/assets?limit=5001"),
        Case(method: "GET", target: "/v1/catalogs/1/assets?limit=x"),
        Case(method: "GET", target: "/v1/catalogs/1/assets?after=x"),
        Case(method: "GET", target: "/v1/catalogs/1/assets?state=odd"),
        Case(method: "GET", target: "/v1/catalogs/1/files?after=1"),
        Case(method: "GET", target: "/v1/catalogs/1/files?after=1.x"),
        Case(method: "GET", target: "/v1/catalogs/1/files?after=1.2147483648"),
        Case(method: "GET", target: "/v1/checksums?site=1&directory=h&after=1.1.-99999999999"),
        Case(method: "GET", target: "/v1/checksums?site=0&directory=h"),
        Case(method: "GET", target: "/v1/checksums?directory=h"),
    ]

    static let catalogs: [Case] = [
        catalog(#"{"name":"","storageURL":"file:///x","priority":5}"#),
        catalog(#"{"name":"a\u0000b","storageURL":"file:///x","priority":5}"#),
        catalog(#"{"name":"a\nb","storageURL":"file:///x","priority":5}"#),
        catalog(
            #"{"name":"\#(String(repeating: "n", count: 201))","storageURL":"file:///x","priority":5}"#
        ),
        catalog(#"{"name":"a","storageURL":"file:///x","priority":10}"#),
        catalog(#"{"name":"a","storageURL":"file:///x","priority":-1}"#),
        catalog(#"{"name":"a","storageURL":"file:///x","priority":5,"notBefore":0}"#),
        catalog(#"{"name":"a","storageURL":"file:///x","priority":5,"deadline":1e300}"#),
        catalog(
            #"{"name":"a","storageURL":"file:///x","priority":5,"notBefore":9,"deadline":9}"#),
        catalog(#"{"name":"a","storageURL":"/x","priority":5}"#),
        catalog(#"{"name":"a","storageURL":"file://host/x","priority":5}"#),
        catalog(#"{"name":"a","storageURL":"file:///x/../y","priority":5}"#),
        catalog(#"{"name":"a","storageURL":"file:///x/%2e%2E/y","priority":5}"#),
        catalog(#"{"name":"a","storageURL":"file:///x\u0000","priority":5}"#),
        catalog(#"{"name":"a","storageURL":"gopher:///x","priority":5}"#),
        // A submission that a later one has overtaken, or that was never opened.
        Case(target: "/v1/catalogs/1/start", body: #"{"generation":0}"#),
        Case(target: "/v1/catalogs/1/start", body: #"{"generation":9223372036854775807}"#),
        Case(target: "/v1/catalogs/1/assets", body: #"{"generation":1,"assets":[]}"#),
        asset(url: "ftp://h/a"), asset(url: "file:///etc/passwd"), asset(url: "h/a"),
        asset(url: ""), asset(url: "http://h/a b"), asset(url: "http://h/a\\u0000"),
        asset(url: "http://h/a\\r\\nX: y"), asset(url: "javascript:alert(1)"),
        asset(url: "http://h/" + String(repeating: "a", count: 8_192)),
        Case(
            target: "/v1/catalogs/1/assets",
            body: #"{"generation":1,"assets":[{"name":"a","kind":"file","key":"h/a","#
                + #""url":"http://user:geheim@h/a"}]}"#, code: "input.url"),
        asset(key: ""), asset(key: "/etc/passwd"), asset(key: "../a"), asset(key: "h/../a"),
        asset(key: "h//a"), asset(key: "h/./a"), asset(key: "h/"), asset(key: ".dray/tmp/a"),
        // A slash with a combining mark behind it is one character, but still a slash.
        asset(key: "h/../\\u0301x"),
        asset(key: ".dray"), asset(key: "h/a\\u0000"), asset(key: "h/a\\n"), asset(key: ".."),
        asset(key: String(repeating: "a", count: 2_049)),
        asset(#""name":"","kind":"file","key":"h/a","url":"http://h/a""#),
        asset(#""name":"\#(longName)","kind":"file","key":"h/a","url":"http://h/a""#),
        Case(
            target: "/v1/catalogs/1/assets",
            body: #"{"generation":1,"assets":[{"name":"a","kind":"file","key":"h/a","#
                + #""url":"http://\#(longName)/a"}]}"#, code: "input.url"),
        catalog(#"{"name":"a","storageURL":"file:///\#(longName)","priority":5}"#),
        asset(#""name":"a\u0007","kind":"file","key":"h/a","url":"http://h/a""#),
        asset(#""name":"a","kind":"file","key":"h/a","url":"http://h/a","bytes":-1"#),
        asset(
            #""name":"a","kind":"file","key":"h/a","url":"http://h/a","bytes":9223372036854775807"#),
        asset(#""name":"a","kind":"file","key":"h/a","url":"http://h/a","sha256":"abc""#),
        asset(#""name":"a","kind":"file","key":"h/a","url":"http://h/a","mirrors":[]"#),
        asset(#""name":"a","kind":"file","key":"h/a","url":"http://h/a","mirrors":["m/a"]"#),
        asset(
            #""name":"a","kind":"file","key":"h/a","url":"http://h/a","mirrors":["http://m/\na"]"#),
        asset(
            #""name":"a","kind":"file","key":"h/a","url":"http://h/a","mirrors":["http://u:p@m/"]"#),
        asset(
            #""name":"a","kind":"file","key":"h/a","url":"http://h/a","mirrors":["a","a","a","a","#
                + #""a","a","a","a"]"#),
        asset(#""name":"a","kind":"hls","key":"h/a","url":"http://h/a","mirrors":["http://m/"]"#),
        asset(
            #""name":"a","kind":"file","key":"h/a","url":"http://h/a","sha256":"\#(zeros.dropLast())G""#
        ),
        asset(
            #""name":"a","kind":"file","key":"h/a","url":"http://h/a"},{"name":"a","kind":"file","#
                + #""key":"h/b","url":"http://h/b""#, code: "input.duplicate"),
        sidecars(["h/a"]), sidecars(["h/p", "h/q", "h/p"]),
    ]

    private static func roots(_ roots: String) -> Case {
        leases(
            #""worker":"\#(worker)","queues":[],"maxJobs":1,"waitMilliseconds":0,"roots":\#(roots)"#
        )
    }

    static let work: [Case] = [
        leases(#""worker":"junk","queues":[],"maxJobs":1,"waitMilliseconds":0"#),
        leases(
            #""worker":"\#(worker.description.uppercased().replacing("1", with: "A"))","queues":[],"#
                + #""maxJobs":1,"waitMilliseconds":0"#),
        leases(
            #""worker":"' OR 1=1 --","queues":[],"maxJobs":1,"waitMilliseconds":0"#),
        leases(#""worker":"\#(worker)","queues":[],"maxJobs":0,"waitMilliseconds":0"#),
        leases(#""worker":"\#(worker)","queues":[],"maxJobs":1001,"waitMilliseconds":0"#),
        leases(#""worker":"\#(worker)","queues":[],"maxJobs":-1,"waitMilliseconds":0"#),
        leases(#""worker":"\#(worker)","queues":[],"maxJobs":1,"waitMilliseconds":50001"#),
        leases(#""worker":"\#(worker)","queues":[],"maxJobs":1,"waitMilliseconds":-1"#),
        leases(#""worker":"\#(worker)","queues":["a\u0000"],"maxJobs":1,"waitMilliseconds":0"#),
        leases(#""worker":"\#(worker)","queues":[""],"maxJobs":1,"waitMilliseconds":0"#),
        slow(#""slowOrigins":[],"slowMaxJobs":1"#),
        slow(#""slowOrigins":["http://a"],"slowMaxJobs":-1"#),
        slow(#""slowOrigins":["http://a"],"slowMaxJobs":1001"#),
        slow(#""slowOrigins":[""],"slowMaxJobs":1"#),
        slow(
            #""slowOrigins":[\#(Array(repeating: #""http://a""#, count: 257).joined(separator: ","))],"slowMaxJobs":1"#
        ),
        roots("[]"), roots(#"["/srv/edge"]"#), roots(#"["file:///"]"#),
        roots(#"["file:///srv/"]"#), roots(#"["file:///srv/%2e%2e/etc"]"#),
        roots(#"["file:///srv/a b"]"#), roots(#"["s3://Bucket/x"]"#),
        roots("[" + Array(repeating: #""file:///a""#, count: 65).joined(separator: ",") + "]"),
        Case(target: "/v1/reports", body: #"{"worker":"\#(worker)","results":[]}"#),
        report(#""job":1,"lease":"junk","outcome":"done""#),
        report(
            #""job":1,"lease":"\#(lease)","outcome":"failed","failureCode":"","failureMessage":"m""#
        ),
        report(#""job":1,"lease":"\#(lease)","outcome":"done","validator":"" "#),
        report(#""job":1,"lease":"\#(lease)","outcome":"done","validator":"\u0001""#),
        refreshed(key: "../a"), refreshed(ordinal: -1), refreshed(ordinal: 1_000_050),
        refreshed(sha256: "x"), refreshed(#""validator":"" "#),
        Case(
            target: "/v1/refreshes",
            body: #"{"worker":"\#(worker)","job":1,"lease":"\#(lease)","files":[]}"#),
        Case(
            target: "/v1/refreshes/files",
            body: #"{"worker":"\#(worker)","job":1,"lease":"\#(lease)","after":-1}"#),
        Case(
            target: "/v1/refreshes/files",
            body: #"{"worker":"\#(worker)","job":1,"lease":"junk"}"#),
        segment(#""ordinal":-1,"url":"http://h/a","key":"h/a","role":"media""#),
        segment(#""ordinal":1000000,"url":"http://h/a","key":"h/a","role":"media""#),
        segment(#""ordinal":0,"url":"file:///a","key":"h/a","role":"media""#),
        segment(#""ordinal":0,"url":"http://h/a","key":"../a","role":"media""#),
        segment(#""ordinal":0,"url":"http://h/a","key":"h/a","role":"media","bytes":-1"#),
        segment(#""ordinal":0,"url":"http://h/a","key":"h/a","role":"media","sha256":"x""#),
        Case(
            target: "/v1/segments",
            body: #"{"worker":"\#(worker)","job":1,"lease":"\#(lease)","segments":["#
                + #"{"ordinal":0,"url":"http://h/a","key":"h/a","role":"media"},"#
                + #"{"ordinal":0,"url":"http://h/b","key":"h/b","role":"media"}]}"#,
            code: "input.duplicate"),
        Case(
            target: "/v1/heartbeats",
            body: #"{"worker":"\#(worker)","leases":[],"progress":{"1":{"receivedBytes":1,"#
                + #""expectedBytes":9223372036854775807,"transfers":1}},"name":"n","#
                + #""activeTransfers":0}"#),
        split(total: "2097152", part: "1048575"), split(total: "1048576", part: "1048576"),
        split(total: "9223372036854775807", part: "9223372036854775806"),
        split(total: "17592186044416", part: "1048576"), split(total: "-1", part: "1048576"),
        split(total: "2097152", part: "1048576", validator: ""),
        split(total: "2097152", part: "1048576", validator: #"v","digests":"md5=xyz"#),
        split(total: "2097152", part: "1048576", validator: #"a\r\nb"#),
        Case(
            target: "/v1/heartbeats",
            body: #"{"worker":"\#(worker)","leases":["x"],"progress":{},"name":"n","#
                + #""activeTransfers":0}"#),
        Case(
            target: "/v1/heartbeats",
            body:
                #"{"worker":"\#(worker)","leases":[],"progress":{"1}, {2":{"receivedBytes":1,"expectedBytes":2,"transfers":1}},"#
                + #""name":"n","activeTransfers":0}"#),
        Case(
            target: "/v1/heartbeats",
            body:
                #"{"worker":"\#(worker)","leases":[],"progress":{"1":{"receivedBytes":-1,"expectedBytes":0,"transfers":1}},"name":"n","#
                + #""activeTransfers":0}"#),
        Case(
            target: "/v1/heartbeats",
            body: #"{"worker":"\#(worker)","leases":[],"progress":{},"name":"","#
                + #""activeTransfers":0}"#),
        Case(
            target: "/v1/heartbeats",
            body: #"{"worker":"\#(worker)","leases":[],"progress":{},"name":"n","#
                + #""activeTransfers":-1}"#),
    ]

    @Test func eachHasItsAnswerAndChangesNothing() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a", "b"])
            let before = try await fixture.tables()
            let catalogs =
                Self.catalogs + Self.keyQueries + Self.neighbours + Self.recordings
                + Self.renditions
            for one in Self.malformed + Self.routes + catalogs + Self.work + Self.refreshTimes {
                let answer = try await fixture.send(
                    one.method, one.target, one.body, headers: one.headers)
                #expect(answer.status == one.status, "\(one): \(answer)")
                #expect(answer.code == one.code, "\(one): \(answer)")
                #expect(!answer.body.contains("geheim"), "\(one)")
            }
            #expect(try await fixture.tables() == before)
        }
    }

    @Test func whatIsTooLargeIsRefused() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a"])
            let before = try await fixture.tables()
            func asset(_ number: Int) -> String {
                #"{"name":"n\#(number)","kind":"file","key":"h/\#(number)","url":"http://h/a"}"#
            }
            let many = (0...WireLimits.assetsPerRequest).map(asset).joined(separator: ",")
            let bodies: [(String, Int, String)] = [
                (#"{"generation":1,"assets":[\#(many)]}"#, 400, "input.field"),
                (String(repeating: "[", count: 10 << 20), 400, "input.malformed"),
                (String(repeating: #"{"a":"#, count: 1 << 20), 400, "input.malformed"),
                (String(repeating: " ", count: WireLimits.bodyBytes + 1), 413, "input.tooLarge"),
            ]
            for (body, status, code) in bodies {
                let answer = try await fixture.send("POST", "/v1/catalogs/1/assets", body)
                #expect(answer.status == status && answer.code == code, "\(answer)")
            }
            // Announced only.
            let announced = try await fixture.send(
                "POST", "/v1/catalogs/1/assets", "{}",
                headers: ["Content-Length": "99999999999"])
            #expect(announced.status == 413 && announced.code == "input.tooLarge")
            #expect(try await fixture.tables() == before)
            #expect(try await fixture.send("GET", "/readyz").status == 200)
        }
    }

    @Test func noSecretOfARequestComesBack() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a"])
            for url in [
                "ftp://user:geheim@h/a", "ftp://h/a?sig=geheim", "http://user:geheim@h/a?x=geheim",
                "http://h/a b?sig=geheim",
            ] {
                let one = Self.asset(url: url)
                let answer = try await fixture.send("POST", one.target, one.body)
                #expect(answer.status == 400)
                #expect(!answer.body.contains("geheim"), "\(answer)")
            }
        }
    }
}
