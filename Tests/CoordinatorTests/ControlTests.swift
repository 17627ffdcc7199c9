import API
import CoordinatorClient
import Model
import TestSupport
import Testing

@testable import Coordinator

/// Control through the API: rejections and effects.
@Suite struct ControlTests {
    private typealias Case = RejectionTests.Case

    private static func selection(_ fields: String, code: String = "input.field") -> Case {
        Case(target: "/v1/selections", body: "{\(fields)}", code: code)
    }

    private static func limits(_ fields: String) -> Case {
        Case(target: "/v1/origins/limits", body: "{\(fields)}")
    }

    private static func site(_ fields: String) -> Case {
        Case(target: "/v1/sites/settings", body: #"{"site":"srv-edge",\#(fields)}"#)
    }

    private static let id = "6f1f2a9e-6d9c-4c44-9c07-3f7f9f0b8f11"

    private static let tooManyMarks = Array(repeating: "\"\(id)\"", count: 101)
        .joined(separator: ",")

    private static func volume(
        _ fields: String, status: Int = 400, code: String = "input.field"
    ) -> Case {
        Case(
            target: "/v1/sites/volumes", body: #"{"worker":"\#(id)",\#(fields)}"#, status: status,
            code: code)
    }

    private static func browse(_ query: String) -> Case {
        Case(method: "GET", target: "/v1/assets\(query)")
    }

    private static let refused: [Case] = [
        Case(
            target: "/v1/queues/srv-edge/control", body: #"{"action":"stop"}"#,
            code: "input.malformed"),
        Case(target: "/v1/queues/srv-edge/control", body: "{}", code: "input.malformed"),
        Case(
            target: "/v1/queues/nowhere/control", body: #"{"action":"pause"}"#, status: 404,
            code: "input.notFound"),
        Case(
            target: "/v1/queues//control", body: #"{"action":"pause"}"#, status: 404,
            code: "input.notFound"),
        Case(target: "/v1/queues/a%0Ab/control", body: #"{"action":"pause"}"#),
        selection(#""action":"delete""#, code: "input.malformed"), selection(#""action":"cancel""#),
        selection(#""action":"cancel","catalog":{}"#),
        selection(#""action":"cancel","catalog":{"id":0}"#),
        selection(#""action":"cancel","catalog":{"id":1,"name":"movies"}"#),
        selection(#""action":"cancel","catalog":{"id":1,"storageURL":"s3://x"}"#),
        selection(#""action":"cancel","catalog":{"name":""}"#),
        selection(#""action":"cancel","catalog":{"name":"movies","storageURL":"s3://x"}"#),
        selection(#""action":"cancel","asset":"a","failureCode":"origin.http.404""#),
        selection(#""action":"cancel","catalog":{"id":1},"asset":"""#),
        selection(#""action":"cancel","catalog":{"id":1},"priority":5"#),
        selection(#""action":"retry","failureCode":"origin.http.999""#),
        selection(#""action":"retry","failureCode":"' OR 1=1 --""#),
        selection(#""action":"reprioritise","catalog":{"id":1}"#),
        selection(#""action":"cancel","catalog":{"id":1},"deadline":5"#),
        selection(#""action":"reschedule","catalog":{"id":1}"#),
        selection(#""action":"reschedule","catalog":{"id":1},"deadline":-1"#),
        selection(#""action":"reschedule","catalog":{"id":1},"notBefore":2,"deadline":2"#),
        selection(#""action":"reschedule","catalog":{"id":1},"asset":"a","deadline":2"#),
        selection(#""action":"reschedule","failureCode":"origin.http.404","deadline":2"#),
        selection(#""action":"reschedule","catalog":{"id":1},"deadline":2,"priority":1"#),
        selection(#""action":"reprioritise","catalog":{"id":1},"priority":10"#),
        selection(#""action":"reprioritise","catalog":{"id":1},"priority":-1"#),
        selection(
            #""action":"reprioritise","catalog":{"id":1},"priority":1.5"#, code: "input.malformed"),
        browse(""), browse("?catalog=0"), browse("?catalog=1&site=s3://x"),
        browse("?catalog=movies&site=s3://x"), browse("?catalog=1&state=done"),
        browse("?catalog=1&kind=mp4"), browse("?catalog=1&sort=size"),
        browse("?catalog=1&descending=yes"), browse("?catalog=1&limit=0"),
        browse("?catalog=1&minimumBytes=-1"), browse("?catalog=1&maximumBytes=1GB"),
        browse("?catalog=1&name="), browse("?catalog=1&search=a%0Ab"),
        browse("?catalog=1&status=new"),
        Case(method: "GET", target: "/v1/catalogs/1?active=no"),
        Case(
            method: "GET", target: "/v1/assets?catalog=99", status: 404, code: "input.notFound"),
        Case(
            method: "GET", target: "/v1/assets?catalog=1&site=nowhere", status: 404,
            code: "input.notFound"),
        Case(
            target: "/v1/selections",
            body: #"{"action":"cancel","catalog":{"id":1,"storageURL":"nowhere"}}"#, status: 404,
            code: "input.notFound"),
        Case(
            target: "/v1/selections", body: #"{"action":"cancel","catalog":{"id":99}}"#,
            status: 404,
            code: "input.notFound"),
        Case(
            target: "/v1/selections",
            body: #"{"action":"cancel","catalog":{"id":1},"asset":"zz"}"#, status: 404,
            code: "input.notFound"),
        limits(#""origin":"cdn.example","limits":null"#),
        limits(#""origin":"https://cdn.example/","limits":null"#),
        limits(#""origin":"https://CDN.example","limits":null"#),
        limits(#""origin":"https://user:geheim@cdn.example","limits":null"#),
        limits(#""origin":"ftp://cdn.example","limits":null"#),
        limits(#""limits":{"connections":0}"#), limits(#""limits":{"connections":1000001}"#),
        limits(#""limits":{"requestsPerSecond":0}"#), limits(#""limits":{"requestsPerSecond":-1}"#),
        limits(#""limits":{"requestsPerSecond":1e300}"#),
        limits(#""limits":{"bytesPerSecond":999}"#),
        limits(#""limits":{"bytesPerSecond":9223372036854775807}"#),
        Case(
            target: "/v1/origins/limits", body: #"{"origin":"https://cdn.example","limits":null}"#,
            status: 404,
            code: "input.notFound"),
        Case(target: "/v1/sites/settings", body: #"{"site":"srv-edge"}"#),
        Case(target: "/v1/sites/settings", body: #"{"site":"","schedule":"off"}"#),
        site(#""schedule":"Mo off""#), site(#""schedule":"off in Nowhere/City""#),
        site(#""schedule":"off in ../../etc/passwd""#), site(#""maximumBytesPerSecond":-1"#),
        site(#""maximumBytesPerSecond":1"#),
        site(#""schedule":"\#(String(repeating: "off,", count: 500))""#),
        Case(
            target: "/v1/sites/settings", body: #"{"site":"nowhere","schedule":"off"}"#,
            status: 404,
            code: "input.notFound"),
        site(#""notBefore":-1"#), site(#""expiresAt":1e300"#),
        Case(
            target: "/v1/sites/settings",
            body: #"{"site":"srv-edge","notBefore":1e9,"expiresAt":1e9}"#, code: "input.rights"),
        site(#""serves":"ftp://edge""#), site(#""serves":"edge.example""#),
        site(#""serves":"https://name:word@edge.example""#),
        site(#""serves":"https://edge.example/?a=b""#),
        site(#""serves":"https://edge.example/a b""#),
        site(#""serves":"http://h/\#(String(repeating: "a", count: 2_048))""#),
        site(#""adds":true"#),
        site(#""name":"edge-1","schedule":"off""#),
        // A volume is recorded under a lease with jobs of the site.
        volume(#""site":1,"volume":"\#(id)""#),
        volume(#""site":1,"lease":"\#(id)","volume":"/srv""#),
        volume(#""site":1,"fileSystem":"ef53:1""#),
        volume(#""site":1,"marks":["/srv"]"#), volume(#""site":1,"marks":[\#(tooManyMarks)]"#),
        volume(#""site":1,"lease":"\#(id)","volume":"\#(id)","fileSystem":"""#),
        volume(#""site":1,"lease":"\#(id)","volume":"\#(id)","fileSystem":"/dev/sda1""#),
        volume(#""site":99"#, status: 404, code: "input.notFound"),
        volume(
            #""site":1,"lease":"\#(id)","volume":"\#(id)""#, status: 409,
            code: "worker.leaseLost"),
        Case(method: "GET", target: "/v1/origins?limit=0"),
    ]

    @Test func badControlIsRefusedAndChangesNothing() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a", "b"])
            let before = try await fixture.tables()
            for one in Self.refused {
                let answer = try await fixture.send(one.method, one.target, one.body)
                #expect(answer.status == one.status, "\(one): \(answer)")
                #expect(answer.code == one.code, "\(one): \(answer)")
                #expect(!answer.body.contains("geheim"), "\(one)")
            }
            #expect(try await fixture.tables() == before)
        }
    }

    @Test func aResumedQueueWakesThoseWhoWait() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a"])
            let name = try #require(try await fixture.client.queues().queues.first?.name)
            let paused = try await fixture.client.control(queue: name, QueueControl(.pause))
            #expect(paused.state == .paused && paused.waiting == 1)
            let poll = Task { try await fixture.lease(waitMilliseconds: 30_000) }
            try await waitUntil(deadlineSeconds: 60, "the poll") {
                fixture.coordinator.waitingRequests > 0
            }
            let resumed = try await fixture.client.control(queue: name, QueueControl(.resume))
            #expect(resumed.state == .active)
            #expect(try await poll.value.jobs.count == 1)
            _ = try await fixture.client.control(queue: name, QueueControl(.drain))
            let refused = await #expect(throws: Failure.self) {
                try await fixture.submit(["b"], catalog: "later")
            }
            #expect(refused?.code == "input.draining")
        }
    }

    @Test func aCancelledCatalogEndsByItself() async throws {
        try await Fixture.with { fixture in
            let catalog = try await fixture.submit(["a", "b"])
            let grant = try await fixture.lease(1)
            let lease = try #require(grant.lease)
            let action = SelectionAction(.cancel, catalog: CatalogReference(name: "movies"))
            #expect(try await fixture.client.apply(action) == SelectionAnswer(assets: 2, jobs: 2))
            let answer = try await fixture.client.heartbeat(
                Heartbeat(
                    worker: Fixture.worker, leases: [lease], progress: [:], name: "n",
                    activeTransfers: 0))
            #expect(answer.cancelled == grant.jobs.map(\.id))
            // It waits for nothing more.
            #expect(try await fixture.client.status(of: catalog).state == .cancelled)
            let failures = try await fixture.client.assets(of: catalog).assets.map(\.failure?.code)
            #expect(failures == ["worker.cancelled", "worker.cancelled"])
        }
    }

    /// A schedule is put in force by a coordinator, when its time has come.
    @Test func aSiteOpensBySchedule() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a"])
            let site = try await fixture.client.configure(
                SiteSettings(site: Fixture.storageURL, schedule: "off"))
            #expect(site.isClosed)
            let poll = Task { try await fixture.lease(waitMilliseconds: 30_000) }
            try await waitUntil(deadlineSeconds: 60, "the poll") {
                fixture.coordinator.waitingRequests > 0
            }
            _ = try await fixture.execute(
                "UPDATE site SET schedule = '8Mbit/s', next_change = now()")
            #expect(try await poll.value.jobs.count == 1)
            let after = try #require(try await fixture.client.sites().sites.first)
            #expect(!after.isClosed && after.bytesPerSecond == 1_000_000)
        }
    }

    @Test func originsAreListedWithTheirLimits() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a"])
            let limits = OriginLimits(connections: 2, requestsPerSecond: 0.5)
            try await fixture.client.setLimits(
                OriginLimitsChange(origin: "http://origin.test", limits: limits))
            let page = try await fixture.client.origins()
            #expect(page.origins.map(\.limits) == [limits] && page.defaults == OriginLimits())
            let after = try #require(PageCursor.sealed("http://z", of: "origins"))
            let one = try await fixture.send("GET", "/v1/origins?after=\(after)")
            #expect(one.status == 200 && one.body.contains(#""origins":[]"#))
        }
    }
}
