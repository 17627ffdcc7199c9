import API
import CoordinatorClient
import Model
import TestSupport
import Testing

/// A field that there is not is rejected by name, and what is left out takes nothing away.
@Suite struct UnknownFieldTests {
    private static let worker = Fixture.worker
    private static let lease = Fixture.unknown
    private static let held = #""worker":"\#(worker)","job":1,"lease":"\#(lease)""#
    private static let zeros = String(repeating: "0", count: 64)

    /// A request that would be taken, with a field of its own at one place, and that place.
    private static let bodies: [(target: String, body: String, field: String)] = [
        (
            "/v1/catalogs", #"{"name":"a","storageURL":"file:///x","priority":5,"odd":1}"#, "odd"
        ),
        (
            "/v1/catalogs", #"{"name":"a","storageURL":"file:///x","priority":5,"notbefore":9}"#,
            "notbefore"
        ),
        (
            "/v1/catalogs",
            #"{"name":"a","storageURL":"file:///x","priority":5,"titles":{"tracks":{"odd":1}}}"#,
            "titles.tracks.odd"
        ),
        (
            "/v1/catalogs",
            #"{"name":"a","storageURL":"file:///x","priority":5,"titles":{"tracks":{},"#
                + #""keyQueries":[{"keep":[],"leave":[]}]}}"#, "titles.keyQueries[0].leave"
        ),
        (
            "/v1/catalogs/1/assets",
            #"{"generation":1,"assets":[{"name":"a","kind":"file","key":"h/a","url":"http://h/a"},"#
                + #"{"name":"b","kind":"file","key":"h/b","url":"http://h/b","size":1}]}"#,
            "assets[1].size"
        ),
        (
            "/v1/catalogs/1/assets",
            #"{"generation":1,"assets":[{"name":"a","kind":"file","key":"h/a","url":"http://h/a","#
                + #""sidecars":[{"url":"http://h/p","key":"h/p","role":"image","required":true,"#
                + #""odd":{}}]}]}"#, "assets[0].sidecars[0].odd"
        ),
        ("/v1/catalogs/1/start", #"{"generation":1,"odd":null}"#, "odd"),
        ("/v1/catalogs/1/interrupt", #"{"odd":"a"}"#, "odd"),
        ("/v1/queues/srv-edge/control", #"{"action":"pause","reason":"x"}"#, "reason"),
        (
            "/v1/selections", #"{"action":"cancel","catalog":{"id":1,"odd":1}}"#, "catalog.odd"
        ),
        ("/v1/selections", #"{"action":"cancel","catalog":{"id":1},"assets":"a"}"#, "assets"),
        (
            "/v1/origins/limits", #"{"limits":{"connections":1,"conections":2}}"#,
            "limits.conections"
        ),
        ("/v1/origins/limits", #"{"limits":null,"odd":1}"#, "odd"),
        ("/v1/sites/settings", #"{"site":"srv-edge","resumes":true,"odd":1}"#, "odd"),
        (
            "/v1/leases",
            #"{"worker":"\#(worker)","queues":[],"maxJobs":1,"waitMilliseconds":0,"odd":1}"#, "odd"
        ),
        (
            "/v1/reports",
            #"{"worker":"\#(worker)","results":[{"job":1,"lease":"\#(lease)","outcome":"done","#
                + #""bytes":1,"sha256":"\#(zeros)","odd":1}]}"#, "results[0].odd"
        ),
        (
            "/v1/heartbeats",
            #"{"worker":"\#(worker)","leases":[],"progress":{"1":{"receivedBytes":1,"#
                + #""expectedBytes":2,"transfers":1,"odd":1}},"name":"n","activeTransfers":0}"#,
            "progress[1].odd"
        ),
        (
            "/v1/segments",
            #"{\#(held),"segments":[{"ordinal":0,"url":"http://h/a","key":"h/a","role":"media","#
                + #""odd":1}]}"#, "segments[0].odd"
        ),
        (
            "/v1/splits",
            #"{\#(held),"multipart":"\#(lease)","totalBytes":4194304,"partBytes":1048576,"#
                + #""validator":"v","odd":1}"#, "odd"
        ),
        (
            "/v1/purges", #"{\#(held),"results":[{"file":1,"deleted":true,"odd":1}]}"#,
            "results[0].odd"
        ),
        (
            "/v1/sites/volumes", #"{"worker":"\#(worker)","site":1,"odd":1}"#, "odd"
        ),
        (
            "/v1/checksums/turns",
            #"{"worker":"\#(worker)","lease":"\#(lease)","jobs":[1],"odd":1}"#,
            "odd"
        ),
        ("/v1/releases", #"{"worker":"\#(worker)","lease":"\#(lease)","odd":1}"#, "odd"),
        ("/v1/load-tests/\(lease)/stop", #"{"odd":1}"#, "odd"),
        ("/v1/load-tests/\(lease)/load", #"{"level":1,"odd":1}"#, "odd"),
        (
            "/v1/load-tests/\(lease)/data", #"{"parts":[{"number":0,"data":"a","odd":1}]}"#,
            "parts[0].odd"
        ),
    ]

    @Test func itIsRefusedByName() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a", "b"])
            let before = try await fixture.tables()
            for (target, body, field) in Self.bodies {
                let answer = try await fixture.send("POST", target, body)
                #expect(answer.status == 400, "\(target) \(body): \(answer)")
                #expect(answer.code == "input.malformed", "\(target) \(body): \(answer)")
                #expect(
                    answer.body.contains(" \(field): there is no such field."),
                    "\(target) \(body): \(answer)")
            }
            #expect(try await fixture.tables() == before)
        }
    }

    @Test func aLongNameDoesNotComeBackWhole() async throws {
        try await Fixture.with { fixture in
            let name = String(repeating: "n", count: 1 << 20)
            let answer = try await fixture.send("POST", "/v1/catalogs", #"{"\#(name)":1}"#)
            #expect(answer.status == 400 && answer.body.utf8.count < 1_000)
        }
    }

    @Test func whatIsLeftOutTakesNoLimitAway() async throws {
        try await Fixture.with { fixture in
            let limits = OriginLimits(connections: 7, requestsPerSecond: 3)
            let origin = "http://origin.test"
            for name in [nil, origin] {
                try await fixture.client.setLimits(OriginLimitsChange(origin: name, limits: limits))
            }
            let before = try await fixture.tables()
            for body in [
                "{}", #"{"origin":null}"#, #"{"origin":"\#(origin)"}"#, #"{"limits":{}}"#,
                #"{"origin":"\#(origin)","limits":{}}"#,
            ] {
                let answer = try await fixture.send("POST", "/v1/origins/limits", body)
                #expect(answer.status == 400 && answer.code == "input.malformed", "\(answer)")
                #expect(answer.body.contains("limits"), "\(answer)")
            }
            #expect(try await fixture.tables() == before)
            // Both can be requested by name.
            for change in [
                OriginLimitsChange(origin: origin, limits: OriginLimits()),
                OriginLimitsChange(origin: origin, limits: nil),
                OriginLimitsChange(origin: nil, limits: nil),
            ] {
                try await fixture.client.setLimits(change)
                #expect(try await fixture.tables() != before)
            }
        }
    }
}
