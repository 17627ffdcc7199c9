import API
import Model
import TestSupport
import Testing

@testable import Worker

/// Abandoned multipart files release their space.
@Suite(.timeLimit(.minutes(5))) struct AbandonedMultipartTests {
    private static let part: Int64 = 1 << 20
    private static let body = sampleBytes(3 << 20)

    /// True if the first part ends; true if the coordinator reports why it makes no parts.
    @Test(arguments: [true, false], [VerdictAnswer(verdict: .stale), nil])
    func anUnacceptedSplitLeavesNothing(isWhole: Bool, answer: VerdictAnswer?) async throws {
        let origin = try FaultOrigin()
        origin.route("/large") { request in
            let whole = request.serve(Self.body, etag: "\"v\"")
            return isWhole ? whole : whole.cut(after: 700_000)
        }
        try await ScriptedCoordinator.with(partBytes: Self.part) { coordinator in
            if let answer { coordinator.answerSplits(answer) }
            coordinator.grant([origin.url("/large")])
            try await waitUntil(deadlineSeconds: 60, "its end") {
                !coordinator.reports.isEmpty && coordinator.holdsNothing
            }
            #expect(try coordinator.edge.files().isEmpty)
        }
    }

    @Test func whatALeaseNamesAsAbandonedIsRemoved() async throws {
        let origin = try FaultOrigin()
        origin.serve("/next", [1])
        try await ScriptedCoordinator.with { coordinator in
            let (abandoned, other) = (MultipartID.random(), MultipartID.random())
            coordinator.edge.makePrivateDirectories()
            for name in [abandoned, other] {
                try coordinator.edge.write([1, 2, 3], to: ".dray/multipart/\(name)")
            }
            var space = SiteSpace(
                floorBytes: 0, quotaLeftBytes: nil, isTried: false)
            // A file that is gone does no harm.
            space.abandoned = [abandoned, abandoned]
            let jobs = coordinator.grant([origin.url("/next")], space: space)
            try await waitUntil(deadlineSeconds: 60, "its end") {
                coordinator.jobs(.done) == jobs
            }
            #expect(try coordinator.edge.files() == [".dray/multipart/\(other)", "h/1"])
        }
    }
}
