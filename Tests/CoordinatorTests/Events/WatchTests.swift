import API
import Client
import CommandLine
import Coordinator
import CoordinatorClient
import Foundation
import Model
import Synchronization
import TestSupport
import Testing

/// Watching a cluster, as `dray watch` does.
@Suite struct WatchTests {
    /// The lines that a session prints.
    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])

        var all: [String] { lines.withLock(\.self) }

        func write(_ text: String) { lines.withLock { $0.append(text) } }

        func contain(_ text: String) -> Bool { all.contains { $0.contains(text) } }
    }

    private static func session(
        _ endpoints: String, _ lines: Lines, _ change: (inout WatchSession.Plan) -> Void = { _ in }
    ) -> WatchSession {
        var plan = WatchSession.Plan()
        plan.query.catalog = CatalogReference(name: "movies")
        change(&plan)
        return WatchSession(plan, write: lines.write) {
            try CoordinatorClient(endpoints: endpoints, token: .test)
        }
    }

    private static func url(_ fixture: Fixture) -> String { "http://127.0.0.1:\(fixture.port)" }

    /// Does all jobs until the catalog has ended; those of `failing` fail.
    private static func work(
        _ fixture: Fixture, _ catalog: CatalogID, failing: Set<String> = []
    ) async throws {
        try await waitUntil(deadlineSeconds: 30, "the end of the catalog") {
            let grant = try await fixture.lease()
            let results = grant.jobs.map { job in
                var report = JobReport(job: job.id, lease: grant.lease ?? "", outcome: .done())
                if failing.contains(where: { job.key.hasSuffix("/\($0)") }) {
                    report.outcome = .failed(
                        JobReport.Failed(Failure(.originHTTP404, "it is not there")))
                } else if job.kind == .fetch {
                    report.stored = StoredObject(
                        bytes: 1, sha256: String(repeating: "0", count: 64))
                }
                return report
            }
            if !results.isEmpty {
                _ = try await fixture.client.report(
                    ReportRequest(worker: Fixture.worker, results: results))
            }
            return try await fixture.client.status(of: catalog).state.isTerminal
        }
    }

    @Test func watchingACatalogEndsWithIt() async throws {
        try await Fixture.with { fixture in
            let catalog = try await fixture.submit(["a", "b"])
            try await fixture.settleEvents()
            let lines = Lines()
            let session = Self.session(Self.url(fixture), lines)
            async let watched: Void = session.run()
            try await waitUntil(deadlineSeconds: 60, "the stream") {
                fixture.coordinator.eventStreams == 1
            }
            try await Self.work(fixture, catalog, failing: ["b"])
            try await watched
            #expect(session.exitCode == .someFailed)
            let all = lines.all
            #expect(all.count == 3, "\(all)")
            #expect(lines.contain("movies: a"))
            #expect(lines.contain("(origin.http.404: it is not there)"))
            #expect(all.last?.hasSuffix("movies (2 assets, 1 failed)\n") == true)

            // What has ended is shown from the beginning, as far as it is asked for.
            for kinds in [[], ["asset.failed"]] {
                let past = Lines()
                let again = Self.session(Self.url(fixture), past) { plan in
                    plan.query.since = 1
                    plan.query.kinds = kinds
                    plan.printsJSON = true
                }
                try await again.run()
                #expect(again.exitCode == .someFailed)
                #expect(past.all.count == (kinds.isEmpty ? 7 : 1), "\(past.all)")
                for line in past.all {
                    let event = try JSONDecoder().decode(ClusterEvent.self, from: Data(line.utf8))
                    #expect(event.catalog == catalog)
                }
            }
        }
    }

    @Test func aLostCoordinatorCostsNoEvent() async throws {
        try await Fixture.with { two in
            let one = try await Fixture(two.server, databaseURL: two.databaseURL)
            let lines = Lines()
            let session = Self.session("\(Self.url(one)),\(Self.url(two))", lines) { plan in
                plan.printsJSON = true
            }
            let catalog = try await two.submit(["a", "b", "c"])
            try await two.settleEvents()
            async let watched: Void = session.run()
            do {
                try await waitUntil(deadlineSeconds: 60, "the stream") {
                    one.coordinator.eventStreams == 1
                }
            } catch {
                await one.close()
                throw error
            }
            await one.close()
            try await Self.work(two, catalog)
            try await watched
            #expect(session.exitCode == .success)
            let kinds = try lines.all.map {
                try JSONDecoder().decode(ClusterEvent.self, from: Data($0.utf8)).kind.rawValue
            }
            #expect(
                kinds == Array(repeating: "asset.completed", count: 3) + ["catalog.completed"])
        }
    }

    @Test func anEndlessWatchEndsWithItsSignal() async throws {
        try await Fixture.with { fixture in
            let lines = Lines()
            let session = Self.session(Self.url(fixture), lines) { plan in
                plan.query = EventQuery()
            }
            async let watched: Void = session.run()
            try await waitUntil(deadlineSeconds: 60, "the stream") {
                fixture.coordinator.eventStreams == 1
            }
            try await fixture.submit(["a"])
            try await waitUntil(deadlineSeconds: 60, "the events") {
                lines.contain("catalog.running")
            }
            await session.drain()
            try await watched
            #expect(session.exitCode == nil)
            try await waitUntil(deadlineSeconds: 60, "the end of the stream") {
                fixture.coordinator.eventStreams == 0
            }
        }
    }
}
