import API
import Foundation
import Model
import Storage
import TestSupport
import Testing

@testable import Worker

/// A worker whose coordinator hands it what lies outside of its roots.
@Suite(.timeLimit(.minutes(1))) struct RootsTests {
    /// A site outside, in the place of one that a test has within.
    private static func elsewhere(
        _ body: (ScriptedCoordinator, TemporaryDirectory) async throws -> Void
    ) async throws {
        let root = try TemporaryDirectory("root")
        try await ScriptedCoordinator.with(roots: try SiteRoots(existing: [root.path])) {
            try await body($0, root)
        }
    }

    @Test func itsJobsGoBackOnceAndFailWhenTheyComeAgain() async throws {
        let origin = try FaultOrigin()
        try await Self.elsewhere { coordinator, root in
            let first = coordinator.grant([origin.url("/a"), origin.url("/b")])
            try await waitUntil(deadlineSeconds: 30, "the jobs of the first grant") {
                coordinator.jobs(.returned) == first
            }
            // It requests no more jobs of the site, and reports that with its heartbeats too.
            try await waitUntil(deadlineSeconds: 30, "a heartbeat that says so") {
                coordinator.heartbeats.last?.refusedSites == [SiteID(1)]
            }
            #expect(coordinator.heartbeats.last?.roots == ["file://\(root.path)"])
            try await waitUntil(deadlineSeconds: 30, "a request that says so") {
                coordinator.requests.last?.refusedSites == [SiteID(1)]
            }
            #expect(coordinator.requests.last?.roots == ["file://\(root.path)"])
            // A coordinator that does not care is not to keep it busy for ever.
            let second = coordinator.grant([origin.url("/c")])
            try await waitUntil(deadlineSeconds: 30, "the end of the second grant") {
                coordinator.jobs(.failed) == second
            }
            #expect(
                coordinator.reports.compactMap(\.failure?.code) == ["storage.outsideRoots"])
            #expect(coordinator.jobs(.done).isEmpty)
            #expect(origin.requests.isEmpty)
            #expect(try coordinator.edge.files().isEmpty && root.files().isEmpty)
        }
    }

    /// The site lies within by its name alone.
    @Test func aSymlinkThatLeadsOutsideIsNoWayOut() async throws {
        let origin = try FaultOrigin()
        let root = try TemporaryDirectory("root")
        let outside = try TemporaryDirectory("outside")
        try FileManager.default.createSymbolicLink(
            atPath: root.path("site"), withDestinationPath: outside.path)
        try await ScriptedCoordinator.with(roots: try SiteRoots(existing: [root.path])) {
            coordinator in
            let jobs = coordinator.grant([origin.url("/a")], site: "file://\(root.path("site"))")
            try await waitUntil(deadlineSeconds: 30, "the job's return") {
                coordinator.jobs(.returned) == jobs
            }
            #expect(try outside.files().isEmpty)
            #expect(origin.requests.isEmpty)
        }
    }

    @Test func aRejectionIsForgottenAfterAMinute() {
        var refused = RefusedSites()
        let start = HeldWork.Instant.now
        func current(_ seconds: Int) -> [SiteID]? {
            refused.current(now: start + .seconds(seconds))
        }
        func refuse(_ site: Int64, _ seconds: Int) -> Bool {
            refused.refuse(SiteID(site), now: start + .seconds(seconds))
        }
        let isNew = [refuse(2, 0), refuse(2, 59), refuse(1, 59)]
        #expect(isNew == [true, false, true])
        let named = [current(59), current(60)]
        #expect(named == [[SiteID(1), SiteID(2)], [SiteID(1)]])
        let isNewAgain = refuse(2, 61)
        #expect(isNewAgain)
        // A coordinator that invents sites fills no memory.
        for number in 0..<Int64(2 * WireLimits.refusedSites) { _ = refuse(number, 62) }
        let count = current(62)?.count
        #expect(count == WireLimits.refusedSites)
    }
}
