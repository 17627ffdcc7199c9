import API
import Model
import Storage
import TestSupport
import Testing

@testable import Worker

/// A worker that a coordinator asks to probe a site of which it has no jobs.
@Suite(.timeLimit(.minutes(2))) struct SiteProberTests {
    private static func site(
        _ number: Int64, _ path: String, floorBytes: Int64 = 0
    ) -> LeasedSite {
        LeasedSite(
            id: SiteID(number), storageURL: "file://\(path)",
            space: SiteSpace(floorBytes: floorBytes, quotaLeftBytes: nil, isTried: true))
    }

    private static func sound(_ coordinator: ScriptedCoordinator) -> [SiteID] {
        coordinator.heartbeats.flatMap { $0.sites ?? [] }.filter(\.isSound).map(\.site)
    }

    @Test func theNextHeartbeatReportsASiteThatWorks() async throws {
        let other = try TemporaryDirectory("other")
        try await ScriptedCoordinator.with(roots: .anySite) { coordinator in
            let path = coordinator.edge.path
            // One without space is not reported, nor does it keep others from their probes.
            coordinator.probe(Self.site(1, path, floorBytes: 1 << 60))
            coordinator.probe(Self.site(2, other.path))
            try await waitUntil(deadlineSeconds: 30, "the report") {
                Self.sound(coordinator) == [SiteID(2)]
            }
            // A request during a probe of the same site changes nothing.
            try await waitUntil(deadlineSeconds: 30, "the report of the first") {
                coordinator.probe(Self.site(1, path))
                return Self.sound(coordinator).contains(SiteID(1))
            }
        }
    }

    /// Whatever a coordinator requests.
    @Test func aSiteOutsideTheRootsIsNotTouched() async throws {
        let outside = try TemporaryDirectory("outside")
        try await ScriptedCoordinator.with { coordinator in
            coordinator.probe(Self.site(1, outside.path))
            try await waitUntil(deadlineSeconds: 30, "a heartbeat that excludes it") {
                coordinator.heartbeats.last?.refusedSites == [SiteID(1)]
            }
            #expect(try outside.files().isEmpty)
            #expect(Self.sound(coordinator).isEmpty)
        }
    }

    @Test func aCacheIsNotProbed() async throws {
        try await ScriptedCoordinator.with(roots: .anySite) { coordinator in
            coordinator.probe(
                LeasedSite(id: SiteID(1), storageURL: "cache:http://edge.test?pop=127.0.0.1:1"))
            coordinator.probe(Self.site(2, coordinator.edge.path))
            try await waitUntil(deadlineSeconds: 30, "the report of another site") {
                Self.sound(coordinator) == [SiteID(2)]
            }
        }
    }
}
