import API
import JobQueue
import Model
import TestSupport
import Testing

/// Jobs have mirrors, those of the last list.
@Suite struct MirrorTests {
    typealias F = QueueFixture

    private func file(_ name: String, mirrors: [String]?) -> AssetSubmission {
        var asset = F.file(name)
        asset.mirrors = mirrors
        return asset
    }

    @Test func theyAreHandedOutWithTheirFileAlone() async throws {
        try await F.with { fixture in
            let urls = ["https://one.test/a?x=1", "http://two.test/a"]
            let catalog = try await fixture.submit([file("a", mirrors: urls), F.file("b")])
            let grant = try await fixture.lease()
            let mirrors = Dictionary(
                uniqueKeysWithValues: grant.jobs.map { ($0.key, $0.mirrors) })
            #expect(mirrors["origin.test/files/a"] == urls)
            #expect(mirrors["origin.test/files/b"] == .some(nil))
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
            try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }

    @Test func aTitlesSegmentsHaveTheirOwn() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.title("t")])
            let grant = try await fixture.lease()
            let urls = [
                ["http://one.test/s", "http://two.test/s?a=b"], ["http://two.test/s"], nil,
            ]
            // What was sent last counts.
            for turn in 0..<2 {
                var segments = TitleTests.segments(3)
                for index in 0..<3 { segments[index].mirrors = urls[(index + turn) % 3] }
                let batch = TitleTests.batch(fixture, grant, segments)
                #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
            }
            var done = F.done(grant.jobs[0], grant)
            done.segments = 3
            #expect(try await fixture.report([done]) == [.accepted])
            let work = try await fixture.lease()
            #expect(work.jobs.map(\.mirrors) == [urls[1], urls[2], urls[0]])
        }
    }

    @Test func anotherListReplacesThemAndFetchesNothingAgain() async throws {
        try await F.with { fixture in
            try await fixture.submit([file("a", mirrors: ["http://one.test/a"])])
            try await fixture.drain()
            for mirrors in [["http://two.test/a"], nil] {
                try await fixture.submit([file("a", mirrors: mirrors)])
                let grant = try await fixture.lease()
                #expect(grant.jobs.map(\.mirrors) == [mirrors])
                #expect(grant.jobs.allSatisfy { $0.previous != nil })
                _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
                try await fixture.drain()
            }
            #expect(try await fixture.count("mirror") == 0)
        }
    }
}
