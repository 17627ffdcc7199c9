import API
import JobQueue
import Model
import Postgres
import Schedule
import TestSupport
import Testing

/// A clock walks over the boundaries of rights that lists state in several zones, over both changes of daylight saving.
@Suite struct RightsClockTests: SelectionSuite {
    /// Times of a list in their order; equal ones are one instant.
    private struct Walk: CustomTestStringConvertible {
        var testDescription: String
        var instants: [[String]]
    }

    private static let walks = [
        Walk(
            testDescription: "the hour that Berlin has twice",
            instants: [
                ["2026-10-25T01:30:00+02:00", "2026-10-24T23:30:00Z"],
                ["2026-10-25T02:30:00+02:00", "2026-10-25T00:30Z"],
                // An hour later on the clock that shows the same.
                ["2026-10-25T02:30:00+01:00", "2026-10-25T03:30:00+02:00"],
                ["2026-10-25T03:30:00+01:00", "2026-10-25T08:00+05:30"],
            ]),
        Walk(
            testDescription: "the hour that Berlin and New York have not",
            instants: [
                ["2026-03-08T01:30:00-05:00", "2026-03-08T06:30Z"],
                // Half past two, which no clock there shows.
                ["2026-03-08T02:30:00-05:00", "2026-03-08T03:30:00-04:00"],
                ["2026-03-29T01:30:00+01:00", "2026-03-29T00:30Z"],
                ["2026-03-29T02:30:00+01:00", "2026-03-29T03:30:00+02:00"],
            ]),
    ]

    private static func name(_ key: String) -> String {
        String(key.split(separator: "/").last ?? "")
    }

    /// At each instant what starts there may be leased and what ends there is deleted; a second before,
    /// neither, and nothing more a second later.
    @Test(arguments: walks.indices)
    func eachBoundaryIsMet(walk: Int) async throws {
        let instants = Self.walks[walk].instants
        let times = try instants.map { texts in
            let seconds = texts.map { pointInTime($0, now: 0) }
            #expect(Set(seconds).count == 1, "\(texts)")
            return try #require(seconds[0])
        }
        #expect(times == times.sorted() && Set(times).count == times.count)
        try await F.with { fixture in
            let clock = try await QueueClock(fixture, at: times[0] - 3_600)
            func set(_ seconds: Double) async throws {
                try await clock.set(seconds)
                try await fixture.queue.files.purges.applyRights()
            }
            var ending: [AssetSubmission] = []
            var starting: [AssetSubmission] = []
            for (index, texts) in instants.enumerated() {
                for position in texts.indices {
                    var end = F.file("end\(index)\(position)")
                    end.expiresAt = times[index]
                    ending.append(end)
                    // In a directory of its own, whose list of digests waits for no other catalog.
                    var start = F.file("start\(index)\(position)")
                    start.key = "origin.test/starts/\(start.name)"
                    start.notBefore = times[index]
                    starting.append(start)
                }
            }
            try await fixture.submit(ending, catalog: "ending")
            try await fixture.drain()
            try await fixture.submit(starting, catalog: "starting")
            #expect(try await fixture.lease().jobs.isEmpty)
            for (index, time) in times.enumerated() {
                try await set(time - 1)
                #expect(try await fixture.lease().jobs.isEmpty, "before \(instants[index])")
                try await set(time)
                let expected = instants[index].indices.map { "start\(index)\($0)" }
                let ended = instants[index].indices.map { "end\(index)\($0)" }
                let grant = try await fixture.lease()
                let begun = grant.jobs.filter { $0.kind == .fetch }
                #expect(Set(begun.map { Self.name($0.key) }) == Set(expected))
                var gone: [String] = []
                for job in grant.jobs {
                    if job.kind == .purge {
                        gone += try await RemovalTests.deleteAll(
                            of: job, grant.lease ?? "", fixture)
                    }
                    _ = try await fixture.report([F.done(job, grant)])
                }
                #expect(Set(gone.map(Self.name)) == Set(ended))
                try await fixture.drain()
                try await set(time + 1)
                #expect(try await fixture.lease().jobs.isEmpty, "after \(instants[index])")
            }
            for (state, count) in [("expired", ending.count), ("completed", starting.count)] {
                #expect(
                    try await fixture.count("asset WHERE state = '\(state)'") == Int64(count))
            }
        }
    }
}
