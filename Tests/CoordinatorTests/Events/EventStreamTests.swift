import API
import ClusterTestSupport
import CoordinatorClient
import Foundation
import JobQueue
import Model
import TestSupport
import Testing

@testable import Coordinator

/// Events as a stream: what its readers get, and when it ends.
@Suite struct EventStreamTests {
    /// Short times, and few slots.
    private static func configure(_ configuration: inout Coordinator.Configuration) {
        configuration.events.period = .milliseconds(20)
        configuration.events.streams = 3
    }

    /// Reads events after a cursor until one of that kind.
    private static func events(
        _ client: CoordinatorClient, _ query: EventQuery = EventQuery(), after cursor: String,
        until kind: String
    ) async throws -> [ClusterEvent] {
        var all: [ClusterEvent] = []
        for try await update in client.events(query, after: cursor) {
            guard case .event(let event) = update else { continue }
            all.append(event)
            if event.kind.rawValue == kind { break }
        }
        return all
    }

    private static func now(_ fixture: Fixture) async throws -> String {
        try await fixture.client.eventPage(EventQuery(), after: "now").next
    }

    private static func insert(
        _ fixture: Fixture, _ count: Int, kind: String = "worker.lost", characters: Int = 1
    ) async throws {
        _ = try await fixture.execute(
            """
            INSERT INTO dray.event (kind, message)
            SELECT '\(kind)', repeat('x', \(characters)) FROM generate_series(1, \(count))
            """)
    }

    private static func waitForStreams(_ fixture: Fixture, _ count: Int) async throws {
        try await waitUntil(deadlineSeconds: 60, "\(count) streams") {
            fixture.coordinator.eventStreams == count
        }
    }

    @Test func aReaderGetsEventsAsTheyComeAndContinuesWhereItWas() async throws {
        try await Fixture.with(configure: Self.configure) { fixture in
            let start = try await Self.now(fixture)
            async let followed = Self.events(
                fixture.client, after: start, until: "catalog.running")
            try await Self.waitForStreams(fixture, 1)
            try await fixture.submit(["a", "b"])
            let events = try await followed
            #expect(
                events.map(\.kind.rawValue) == [
                    "catalog.open", "asset.ready", "asset.ready", "catalog.running",
                ])
            #expect(Set(events.compactMap(\.name)) == ["a", "b"])
            try await Self.waitForStreams(fixture, 0)
            for index in events.indices.dropLast() {
                let rest = try await Self.events(
                    fixture.client, after: events[index].id, until: "catalog.running")
                #expect(rest == Array(events[(index + 1)...]))
            }
            var query = EventQuery()
            query.kinds = ["catalog"]
            let ofCatalogs = try await Self.events(
                fixture.client, query, after: start, until: "catalog.running")
            #expect(ofCatalogs == events.filter { $0.kind.subject == "catalog" })
        }
    }

    @Test func theLastEventIDOfABrowserCounts() async throws {
        try await Fixture.with(configure: Self.configure) { fixture in
            let start = try await Self.now(fixture)
            try await fixture.submit(["a"])
            try await fixture.settleEvents()
            let page = try await fixture.client.eventPage(EventQuery(), after: start)
            let stream = try RawStream(
                port: fixture.port, "/v1/events?after=\(start)",
                headers: ["Last-Event-ID": page.events[1].id])
            let text = try await stream.read(until: "catalog.running")
            #expect(stream.head.contains("Content-Type: text/event-stream\r\n"))
            #expect(text.contains("retry: ") && text.contains("id: \(page.events[2].id)\n"))
            #expect(!text.contains("event: catalog.open\n"))
            stream.leave()
            let wrong = try await fixture.send(
                "GET", "/v1/events",
                headers: ["Last-Event-ID": "yesterday", "Accept": "text/event-stream"])
            #expect(wrong.status == 400 && wrong.body.contains("Last-Event-ID"))
        }
    }

    @Test func eventsOfOtherCoordinatorsArrive() async throws {
        try await Fixture.with(configure: Self.configure) { one in
            let two = try await Fixture(
                one.server, databaseURL: one.databaseURL, configure: Self.configure)
            do {
                let start = try await Self.now(one)
                async let followed = Self.events(one.client, after: start, until: "catalog.running")
                try await Self.waitForStreams(one, 1)
                try await two.submit(["a"])
                #expect(try await followed.first?.kind.rawValue == "catalog.open")
            } catch {
                await two.close()
                throw error
            }
            await two.close()
        }
    }

    @Test func streamsAreBoundedAndOneThatWasLeftFreesItsSlot() async throws {
        try await Fixture.with(configure: Self.configure) { fixture in
            var streams: [RawStream] = []
            for _ in 0..<3 {
                let stream = try RawStream(port: fixture.port, "/v1/events")
                _ = try await stream.read(until: "retry: ")
                streams.append(stream)
            }
            #expect(fixture.coordinator.eventStreams == 3)
            let refused = try await fixture.send(
                "GET", "/v1/events", headers: ["Accept": "text/event-stream"])
            #expect(refused.status == 503 && refused.code == "cluster.tooManyStreams")
            #expect(refused.headers["retry-after"] == "5")
            // Pages need no slot.
            #expect(try await fixture.send("GET", "/v1/events").status == 200)
            streams[1].leave()
            try await Self.waitForStreams(fixture, 2)
            let again = try RawStream(port: fixture.port, "/v1/events")
            _ = try await again.read(until: "retry: ")
            for stream in streams + [again] { stream.leave() }
            try await Self.waitForStreams(fixture, 0)
            // HEAD keeps none.
            let head = try await fixture.send(
                "HEAD", "/v1/events", headers: ["Accept": "text/event-stream"])
            #expect(head.status == 200)
            try await Self.waitForStreams(fixture, 0)
        }
    }

    @Test func oneTokenHasSomeOfTheStreams() async throws {
        try await Fixture.with(configure: { configuration in
            Self.configure(&configuration)
            configuration.events.streamsOfToken = 1
        }) { fixture in
            let token = try await fixture.token(.reader, name: "watcher")
            let headers = Fixture.bearer(token.secret)
            let stream = try RawStream(port: fixture.port, "/v1/events", headers: headers)
            _ = try await stream.read(until: "retry: ")
            let refused = try await fixture.send(
                "GET", "/v1/events",
                headers: headers.merging(["Accept": "text/event-stream"]) { $1 })
            #expect(refused.status == 503 && refused.code == "cluster.tooManyStreams")
            #expect(refused.headers["retry-after"] == "5")
            #expect(refused.body.contains("1 are the maximum of one token"))
            // Others are not concerned, nor is the environment's token.
            var others: [RawStream] = []
            for _ in 0..<2 {
                let other = try RawStream(port: fixture.port, "/v1/events")
                _ = try await other.read(until: "retry: ")
                others.append(other)
            }
            for other in others { other.leave() }
            stream.leave()
            try await Self.waitForStreams(fixture, 0)
            let again = try RawStream(port: fixture.port, "/v1/events", headers: headers)
            _ = try await again.read(until: "retry: ")
            again.leave()
        }
    }

    @Test func lateReadersGetTheirPagesInTurn() async throws {
        try await Fixture.with(configure: { configuration in
            Self.configure(&configuration)
            configuration.events.lateStreams = 1
            configuration.events.lateEvents = 10
        }) { fixture in
            let start = try await Self.now(fixture)
            try await Self.insert(fixture, 100)
            try await Self.insert(fixture, 1, kind: "worker.returned")
            async let one = Self.events(fixture.client, after: start, until: "worker.returned")
            async let two = Self.events(fixture.client, after: start, until: "worker.returned")
            let (first, second) = try await (one, two)
            #expect(first.count == 101 && first == second)
        }
    }

    @Test func theAcceptedTypeChoosesTheAnswer() async throws {
        for accepted in [
            "text/event-stream", "application/json;q=0.5, Text/Event-Stream; q=0.1",
            "text/event-stream;charset=utf-8",
        ] {
            #expect(EventRoutes.acceptsStream(accepted), "\(accepted)")
        }
        for other in [
            "", "*/*", "application/json", "text/event-stream;q=0", "text/event-stream ; q=0.000",
            "text/event-streams",
        ] {
            #expect(!EventRoutes.acceptsStream(other), "\(other)")
        }
        try await Fixture.with(configure: Self.configure) { fixture in
            let page = try await fixture.send("GET", "/v1/events")
            #expect(page.headers["vary"]?.contains("Accept") == true)
            let stream = try RawStream(port: fixture.port, "/v1/events")
            _ = try await stream.read(until: "retry: ")
            #expect(stream.head.contains("Vary: Accept\r\n"))
            stream.leave()
        }
    }

    @Test func aSlowReaderGetsEventsAtItsPace() async throws {
        try await Fixture.with(configure: { configuration in
            Self.configure(&configuration)
            configuration.events.unsentBytes = 64 << 10
        }) { fixture in
            let start = try await Self.now(fixture)
            let stream = try RawStream(port: fixture.port, "/v1/events?after=\(start)")
            try await Self.insert(fixture, 1, kind: "worker.joined")
            _ = try await stream.read(until: "worker.joined")
            // More than the kernel buffers.
            try await Self.insert(fixture, 20_000, characters: 500)
            try await Self.insert(fixture, 1, kind: "worker.returned")
            // Another one is not held up. The slow one takes some now and then: a peer that takes
            // nothing for long is disconnected.
            var received = 0
            for try await update in fixture.client.events(EventQuery(), after: start) {
                guard case .event(let event) = update else { continue }
                received += 1
                if event.kind.rawValue == "worker.returned" { break }
                if received.isMultiple(of: 250) { try await stream.readBlock() }
            }
            #expect(received == 20_002)
            let text = try await stream.read(until: "worker.returned")
            #expect(!text.contains("event: failure\n"))
            let ids = text.split(separator: "\n").filter { $0.hasPrefix("id: ") }
            #expect(Set(ids).count >= 20_002)
            #expect(text.split(separator: "event: worker.lost\n").count == 20_001)
        }
    }

    @Test func aStreamEndsWithItsToken() async throws {
        try await Fixture.with(configure: Self.configure) { fixture in
            let token = try await fixture.token(.reader, name: "watcher")
            let start = try await Self.now(fixture)
            try await fixture.asking(with: token) { client in
                async let ending = code {
                    try await Self.events(client, after: start, until: "never")
                }
                try await Self.waitForStreams(fixture, 1)
                _ = try await fixture.client.revokeToken("watcher")
                #expect(try await ending == .clusterUnauthorized)
            }
            try await Self.waitForStreams(fixture, 0)
        }
    }

    @Test func keepAlivesHaveThePosition() async throws {
        try await Fixture.with(configure: { configuration in
            Self.configure(&configuration)
            configuration.events.keepAlive = .milliseconds(30)
        }) { fixture in
            let start = try await Self.now(fixture)
            try await Self.insert(fixture, 3)
            try await fixture.settleEvents()
            let last = try await fixture.client.eventPage(EventQuery(), after: start).next
            let stream = try RawStream(
                port: fixture.port, "/v1/events?kind=catalog&after=\(start)")
            let text = try await stream.read(until: ": keep-alive\nid: \(last)\n\n")
            #expect(!text.contains("event: "))
        }
    }

    @Test func stoppingEndsTheStreams() async throws {
        let server = try await PostgresServer.shared()
        let fixture = try await Fixture(
            server, databaseURL: try await server.databaseURL("coordinator", copying: .cluster),
            configure: Self.configure)
        let stream = try RawStream(port: fixture.port, "/v1/events")
        _ = try await stream.read(until: "retry: ")
        await fixture.close()
        _ = try await stream.readAll()
        #expect(stream.isComplete)
        try await server.drop(databaseAt: fixture.databaseURL)
    }
}
