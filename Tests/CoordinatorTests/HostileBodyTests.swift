import API
import CoordinatorClient
import Model
import TestSupport
import Testing

/// Bodies that are made to be misread, or to cost: each is rejected with a code, and nothing in the
/// database changes.
@Suite struct HostileBodyTests {
    private static let worker = Fixture.worker
    private static let lease = Fixture.unknown
    private static let asset = #"{"name":"a","kind":"file","key":"h/a","url":"http://h/a"}"#
    private static let catalog = #""storageURL":"file:///x","priority":5"#

    private static func times(_ text: String, _ count: Int) -> String {
        String(repeating: text, count: count)
    }

    private static func list(_ count: Int, _ element: (Int) -> String) -> String {
        (0..<count).map(element).joined(separator: ",")
    }

    private static func report(_ fields: String) -> String {
        #"{"worker":"\#(worker)",\#(fields)}"#
    }

    /// A report in rows: names of columns, and its lines.
    private static func rows(_ names: String, _ lines: String) -> String {
        "worker\n\(worker)\n\(names)\n\(lines)"
    }

    private struct Case {
        var target: String
        var body: [UInt8]
        var isRows = false
        var status = 400
        var code = "input.malformed"

        init(
            _ target: String, _ body: String, _ status: Int = 400,
            _ code: String = "input.malformed"
        ) {
            self.init(target, Array(body.utf8), status, code)
        }

        init(
            _ target: String, rows: String, _ status: Int = 400,
            _ code: String = "input.malformed"
        ) {
            self.init(target, Array(rows.utf8), status, code)
            isRows = true
        }

        init(
            _ target: String, _ body: [UInt8], _ status: Int = 400,
            _ code: String = "input.malformed"
        ) {
            self.target = target
            self.body = body
            self.status = status
            self.code = code
        }
    }

    private static func expectRefused(_ cases: [Case]) async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a", "b"])
            let before = try await fixture.tables()
            for one in cases {
                var headers = Fixture.authorization
                if one.isRows { headers["Content-Type"] = "application/vnd.dray.rows" }
                let answer = try await Wire.exchange(
                    port: fixture.port, "POST", one.target, headers: headers, body: one.body)
                let shown = "\(one.target) \(String(decoding: one.body.prefix(120), as: UTF8.self))"
                #expect(answer.status == one.status, "\(shown): \(answer)")
                #expect(answer.code == one.code, "\(shown): \(answer)")
                // The answer does not grow with the request.
                #expect(answer.body.utf8.count < 4_000, "\(shown)")
            }
            #expect(try await fixture.tables() == before)
            #expect(try await fixture.send("GET", "/readyz").status == 200)
        }
    }

    // MARK: JSON

    @Test func whatIsNoJSONIsRefused() async throws {
        let target = "/v1/catalogs"
        try await Self.expectRefused([
            Case(target, #"{"name":"a",\#(Self.catalog),}"#), Case(target, "{'name':'a'}"),
            Case(target, #"{"name":"a" \#(Self.catalog)}"#), Case(target, #"{name:"a"}"#),
            Case(target, #"{"name":"a",\#(Self.catalog)}x"#),
            Case(target, #"{"name":"a",\#(Self.catalog)}{}"#),
            Case(target, #"{"name":"a",\#(Self.catalog)]"#), Case(target, #"{"name""a"}"#),
            Case(target, #"{"name":"a",\#(Self.catalog)"#), Case(target, #"{"name":"a"#),
            Case(target, #"{"name":"a\"}"#), Case(target, "[1,,2]"), Case(target, "[1 2]"),
            Case(target, "}"), Case(target, "]"), Case(target, ","), Case(target, ":"),
            Case(target, "{]"), Case(target, "[}"), Case(target, "   "), Case(target, "\u{0}"),
            Case(target, #"// a comment\#n{"name":"a",\#(Self.catalog)}"#),
            Case(target, #"{"name":NaN,\#(Self.catalog)}"#),
            Case(target, #"{"name":"\x",\#(Self.catalog)}"#),
            Case(target, #"{"name":"\ud800",\#(Self.catalog)}"#),
            Case(target, "{\"name\":\"a\nb\",\(Self.catalog)}"),
            // Other encodings, and a byte order mark.
            Case(
                target, Array(#"{"name":"a",\#(Self.catalog)}"#.utf16).flatMap { [UInt8($0), 0] }),
            Case(target, [0xFE, 0xFF] + #"{"#.utf16.flatMap { [0, UInt8($0)] }),
            Case(target, [0xEF, 0xBB, 0xBF] + Array(#"{"name":"a",\#(Self.catalog)}"#.utf8)),
        ])
    }

    @Test func textThatIsNoUTF8IsRefused() async throws {
        let sequences: [[UInt8]] = [
            [0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0x80],
            [0xE2, 0x82],
        ]
        try await Self.expectRefused(
            sequences.flatMap { bytes in
                [
                    Case(
                        "/v1/catalogs",
                        Array(#"{"name":"a"#.utf8) + bytes + Array(#"",\#(Self.catalog)}"#.utf8)),
                    Case(
                        "/v1/catalogs/1/assets",
                        Array(
                            #"{"generation":1,"assets":[{"name":"a","kind":"file","key":"h/"#.utf8)
                            + bytes + Array(#"","url":"http://h/a"}]}"#.utf8)),
                    Case("/v1/leases", Array(#"{""#.utf8) + bytes + Array(#"":1}"#.utf8)),
                ]
            })
    }

    /// One reader takes the first, another the last.
    @Test func aNameThatStandsTwiceIsRefused() async throws {
        try await Self.expectRefused([
            Case("/v1/catalogs", #"{"name":"a","name":"b",\#(Self.catalog)}"#),
            Case("/v1/catalogs", #"{"name":"a","name":"a",\#(Self.catalog)}"#),
            Case("/v1/catalogs", #"{"name":"a","\u006eame":"b",\#(Self.catalog)}"#),
            Case("/v1/catalogs", #"{"":1,"":2,"name":"a",\#(Self.catalog)}"#),
            Case(
                "/v1/catalogs/1/assets",
                #"{"generation":1,"assets":[{"name":"a","kind":"file","key":"h/a","#
                    + #""url":"http://h/a","url":"http://h/b"}]}"#),
            Case(
                "/v1/heartbeats",
                #"{"worker":"\#(Self.worker)","leases":[],"progress":{"1":{"receivedBytes":1,"#
                    + #""expectedBytes":2,"transfers":1},"1":{"receivedBytes":2,"#
                    + #""expectedBytes":2,"transfers":1}},"name":"n","activeTransfers":0}"#),
        ])
    }

    @Test func valuesOfOtherTypesAreRefused() async throws {
        let whole = [
            "null", "true", #""5""#, "[]", "{}", "5.5", "1e99", "1e999", "9223372036854775808",
            "-9223372036854775809", Self.times("9", 1 << 20), "05", "+5", "5.", ".5", "0x5", "--5",
            "Infinity",
        ]
        let texts = ["null", "true", "5", "[]", "{}"]
        let lists = ["null", "true", "5", #""a""#, "{}", "[5]", "[null]", "[[]]", #"["a"]"#]
        try await Self.expectRefused(
            whole.map { Case("/v1/catalogs/1/start", #"{"generation":\#($0)}"#) }
                + whole.map {
                    Case(
                        "/v1/catalogs", #"{"name":"a","storageURL":"file:///x","priority":\#($0)}"#)
                }
                + texts.map { Case("/v1/catalogs", #"{"name":\#($0),\#(Self.catalog)}"#) }
                + lists.map { Case("/v1/reports", Self.report(#""results":\#($0)"#)) }
                + lists.map {
                    Case("/v1/catalogs/1/assets", #"{"generation":1,"assets":\#($0)}"#)
                }
                + ["null", "true", "5", #""a""#, "[]"].map {
                    Case(
                        "/v1/heartbeats",
                        #"{"worker":"\#(Self.worker)","leases":[],"progress":\#($0),"name":"n","#
                            + #""activeTransfers":0}"#)
                })
    }

    // MARK: Size

    @Test func nestingAndNumberOfValuesAreBounded() async throws {
        let deep = 10 << 20
        try await Self.expectRefused(
            [
                Case("/v1/reports", Self.times("[", deep)),
                Case("/v1/reports", Self.times("{\"a\":", deep / 5)),
                Case("/v1/reports", Self.times("[", deep / 2) + Self.times("]", deep / 2)),
                Case("/v1/reports", Self.report(#""results":"# + Self.times("[", deep))),
                Case(
                    "/v1/reports",
                    Self.report(#""results":[],"x":"# + Self.times("[{\"a\":", deep / 6))),
                Case(
                    "/v1/heartbeats", Self.report(#""progress":"# + Self.times("{\"1\":", deep / 5))
                ),
                Case("/v1/catalogs/1/interrupt", Self.times("[", deep)),
                Case(
                    "/v1/reports", Self.report(#""results":[\#(Self.times("0,", 5 << 20))0]"#), 413,
                    "input.tooLarge"),
                Case(
                    "/v1/reports", Self.report(#""results":[\#(Self.times("{},", 3 << 20)){}]"#),
                    413,
                    "input.tooLarge"),
                Case(
                    "/v1/reports",
                    rows: Self.rows("job\tlease", Self.times("1\t\(Self.lease)\n", 100_000)), 413,
                    "input.tooLarge"),
                Case(
                    "/v1/leases",
                    rows: "worker\tmaxJobs\twaitMilliseconds\troots\n\(Self.worker)\t1\t0\t"
                        + Self.times("\\n", 1 << 20) + "\n", 413, "input.tooLarge"),
                Case(
                    "/v1/reports",
                    rows: Self.rows(
                        "job\tlease\torigins",
                        "1\t\(Self.lease)\t" + Self.times("[", 1 << 20) + "\n")),
                Case("/v1/reports", rows: Self.times("worker\t", 1 << 20) + "\n"),
                Case("/v1/reports", rows: Self.times("\t", 15 << 20) + "\n"),
                Case(
                    "/v1/heartbeats",
                    Self.report(#""progress":{\#(Self.list(200_000) { #""\#($0)":1"# })}"#), 413,
                    "input.tooLarge"),
                Case("/v1/reports", Self.report(#""results":\#(Self.times("1", deep))"#)),
                Case(
                    "/v1/reports",
                    #"{"worker":"\#(Self.times("\\\\", deep / 2))","results":[{}]}"#, 400,
                    "input.field"),
                Case("/v1/reports", Self.times(" ", deep)),
                Case("/v1/reports", Self.report(#""\#(Self.times("n", deep))":1"#)),
            ])
    }

    @Test func batchesBeyondTheirBoundsAreRefused() async throws {
        let result = #"{"job":1,"lease":"\#(Self.lease)","outcome":"returned"}"#
        let segment = { (number: Int) in
            #"{"ordinal":\#(number),"url":"http://h/a","key":"h/\#(number)","role":"media"}"#
        }
        let heartbeat = { (leases: String, progress: String) in
            Self.report(
                #""leases":[\#(leases)],"progress":{\#(progress)},"name":"n","activeTransfers":0"#)
        }
        try await Self.expectRefused([
            Case(
                "/v1/reports", Self.report(#""results":[\#(Self.list(1_001) { _ in result })]"#),
                400,
                "input.field"),
            Case(
                "/v1/reports",
                rows: Self.rows("job\tlease", Self.times("1\t\(Self.lease)\n", 1_001)), 400,
                "input.field"),
            Case(
                "/v1/segments",
                Self.report(
                    #""job":1,"lease":"\#(Self.lease)","segments":[\#(Self.list(5_001, segment))]"#),
                400, "input.field"),
            Case(
                "/v1/heartbeats", heartbeat(Self.list(1_001) { _ in "\"\(Self.lease)\"" }, ""), 400,
                "input.field"),
            Case(
                "/v1/heartbeats",
                heartbeat(
                    "",
                    Self.list(10_001) {
                        #""\#($0 + 1)":{"receivedBytes":1,"expectedBytes":1,"transfers":1}"#
                    }), 400, "input.field"),
            Case(
                "/v1/leases",
                Self.report(
                    #""queues":[\#(Self.list(1_001) { "\"q\($0)\"" })],"maxJobs":1,"#
                        + #""waitMilliseconds":0"#), 400, "input.field"),
            Case(
                "/v1/catalogs/1/assets",
                #"{"generation":1,"assets":[\#(Self.list(5_001) { _ in Self.asset })]}"#, 400,
                "input.field"),
        ])
    }

    /// What looks like one character can be of any length.
    @Test func anyTextIsBounded() async throws {
        let marks = Self.times("\u{301}", 1 << 20)
        try await Self.expectRefused([
            Case("/v1/catalogs", #"{"name":"a\#(marks)",\#(Self.catalog)}"#, 400, "input.field"),
            Case(
                "/v1/leases",
                Self.report(#""queues":["a\#(marks)"],"maxJobs":1,"waitMilliseconds":0"#), 400,
                "input.field"),
            Case(
                "/v1/reports",
                Self.report(#""results":[{"job":1,"lease":"a\#(marks)","outcome":"done"}]"#), 400,
                "input.field"),
            Case(
                "/v1/reports",
                Self.report(
                    #""results":[{"job":1,"lease":"\#(Self.lease)","outcome":"a\#(marks)"}]"#)),
            Case("/v1/catalogs", #"{"a\#(marks)":1,"a\#(marks)":1}"#),
        ])
        try await Fixture.with { fixture in
            try await fixture.submit(["a"])
            let grant = try await fixture.lease(1)
            let lease = try #require(grant.lease)
            let answer = try await fixture.send(
                "POST", "/v1/reports",
                Self.report(
                    #""results":[{"job":\#(grant.jobs[0].id),"lease":"\#(lease)","outcome":"failed","#
                        + #""failureCode":"origin.http.404","failureMessage":"\u0000\u001ba\#(marks)"}]"#
                ))
            #expect(answer.status == 200)
            let length = try await fixture.execute(
                "SELECT length(failure_message) <= 500 AND failure_message LIKE '  a%' FROM result")
            #expect(length == "t\n")
        }
    }
}
