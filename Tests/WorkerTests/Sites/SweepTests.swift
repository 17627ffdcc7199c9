import API
import Foundation
import Model
import TestSupport
import Testing

@testable import Worker

@Suite struct SweepTests {
    @Test func aSiteHasItsTurnAgainAndAgain() {
        let start = HeldWork.Instant.now
        var turns = SweepTurns()
        #expect(turns.due(at: start).isEmpty)
        turns.swept("a", at: start)
        turns.swept("b", at: start + .seconds(1))
        #expect(turns.due(at: start + .seconds(59)).isEmpty)
        #expect(turns.due(at: start + .seconds(60)) == ["a"])
        // Under way, however long it takes.
        #expect(turns.due(at: start + .seconds(3_000)) == ["b"])
        turns.swept("a", at: start + .seconds(3_000))
        #expect(turns.due(at: start + .seconds(3_060)) == ["a"])
    }

    @Test func aWorkerRemovesWhatWasLeftBehindSinceItStarted() async throws {
        let origin = try FaultOrigin()
        origin.serve("/a", [1, 2, 3])
        try await ScriptedCoordinator.with { coordinator in
            coordinator.grant([origin.url("/a")])
            try await waitUntil(deadlineSeconds: 60, "the site's first use") {
                coordinator.jobs(.done).count == 1
            }
            let old = [".dray/multipart/x", ".dray/partial/x", ".dray/tmp/x-1"]
            for name in old + [".dray/tmp/y-2"] {
                let path = try coordinator.edge.write([1], to: name)
                guard name != ".dray/tmp/y-2" else { continue }
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSinceNow: -8 * 86_400)],
                    ofItemAtPath: path)
            }
            for sweep in coordinator.worker.sites.storages.sweepDue() { await sweep.value }
            #expect(try coordinator.edge.files() == old + [".dray/tmp/y-2", "h/1"])
            let later = HeldWork.Instant.now + .seconds(3_600)
            for sweep in coordinator.worker.sites.storages.sweepDue(now: later) {
                await sweep.value
            }
            #expect(try coordinator.edge.files() == [".dray/tmp/y-2", "h/1"])
        }
    }
}
