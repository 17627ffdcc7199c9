import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Assets that met a failure code are counted once they have ended, by what saved them.
@Suite(.timeLimit(.minutes(2))) struct RecoveryFigureTests {
    typealias F = QueueFixture
    typealias R = RenewalTests

    private static func recoveries(
        _ fixture: QueueFixture, of origin: String? = nil
    ) async throws -> [String: DailyReport.Recovery] {
        var query = DailyReportQuery()
        query.grouping = .code
        query.origin = origin
        let groups = try await fixture.queue.figures.daily.report(query).groups
        return Dictionary(
            uniqueKeysWithValues: groups.compactMap { group in
                group.recovery.map { (group.name, $0) }
            })
    }

    /// Expects the same before and after rows are moved, in pages of a few, and moved again.
    private static func expect(
        _ expected: [String: DailyReport.Recovery], _ fixture: QueueFixture
    ) async throws {
        for _ in 0..<3 {
            #expect(try await recoveries(fixture) == expected)
            try await fixture.queue.figures.metFailures.fold(pageRows: 2)
            try await fixture.queue.figures.daily.fold()
        }
    }

    /// Reports all jobs: those with a code fail with it, others are done.
    private static func work(
        _ fixture: QueueFixture, _ codes: [String: FailureCode],
        mirrored: String = ""
    ) async throws {
        let grant = try await fixture.lease()
        let results = grant.jobs.map { job in
            let name = String(job.key.split(separator: "/").last ?? "")
            if let code = codes[name] { return F.failed(job, grant, code) }
            var done = F.done(job, grant)
            if name == mirrored {
                done.origins = [
                    OriginOutcome(origin: "http://origin.test", code: .originHTTP503),
                    OriginOutcome(origin: "http://mirror.test"),
                ]
            }
            return done
        }
        let verdicts = try await fixture.report(results)
        #expect(verdicts.allSatisfy { $0 == .accepted })
        try await fixture.skipDelays()
    }

    @Test func assetsCountByWhatSavedThem() async throws {
        try await F.with { fixture in
            var bare = F.file("bare")
            bare.sidecars = [
                SidecarSubmission(
                    url: "http://origin.test/p.jpg", key: "origin.test/p.jpg", role: .image,
                    required: false)
            ]
            let names = ["retried", "mirrored", "lost", "both", "late", "well"]
            try await fixture.submit(names.map { F.file($0) } + [bare])
            try await Self.work(
                fixture,
                [
                    "retried": .originHTTP503, "both": .originHTTP503, "late": .originHTTP503,
                    "lost": .originHTTP404, "p.jpg": .originHTTP404,
                ], mirrored: "mirrored")
            // What has not ended does not count yet; a repeated failure is one asset's.
            try await Self.work(fixture, ["both": .originHTTP404, "late": .originHTTP503])
            var expected: [String: DailyReport.Recovery] = [
                "origin.http.503": .init(
                    attempts: 5, assets: 3, completed: 2, byRetry: 1, byMirror: 1),
                "origin.http.404": .init(
                    attempts: 3, assets: 3, completed: 1, withoutOptional: 1, lost: 2),
            ]
            try await Self.expect(expected, fixture)
            #expect(try await fixture.count("asset_failure") == 1)
            try await fixture.drain()
            expected["origin.http.503"] = .init(
                attempts: 5, assets: 4, completed: 3, byRetry: 2, byMirror: 1)
            try await Self.expect(expected, fixture)
            #expect(try await fixture.count("asset_failure") == 0)
            #expect(
                try await Self.recoveries(fixture, of: "http://origin.test") == expected)
        }
    }

    /// A poster that stays stored when its check fails was not left out; one that is outdated was.
    @Test(arguments: [FailureCode.originHTTP503, .originHTTP404])
    func aSidecarThatStaysWasNotLeftOut(code: FailureCode) async throws {
        try await F.with { fixture in
            var asset = F.file("a")
            asset.sidecars = [
                SidecarSubmission(
                    url: "http://origin.test/p.jpg", key: "origin.test/p.jpg", role: .image,
                    required: false)
            ]
            try await fixture.submit([asset])
            try await fixture.drain()
            try await fixture.submit([asset])
            // The last try.
            try await fixture.pool.query("UPDATE job SET attempt = 7 WHERE kind = 'fetch'")
            try await Self.work(fixture, ["p.jpg": code])
            try await fixture.drain()
            let stays = code == .originHTTP503
            try await Self.expect(
                [
                    code.rawValue: .init(
                        attempts: 1, assets: 1, completed: 1, withoutOptional: stays ? 0 : 1)
                ], fixture)
        }
    }

    /// Before housekeeping has looked.
    @Test func aLostAssetThatIsStartedAgainAtOnceIsLost() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a"), F.file("b")])
            try await Self.work(fixture, ["a": .originHTTP404, "b": .originHTTP410])
            try await fixture.submit([F.file("a"), F.file("b")])
            try await Self.work(fixture, ["b": .originHTTP410])
            var retry = SelectionAction(.retry)
            retry.failureCode = .originHTTP410
            _ = try await fixture.queue.catalogs.selections.apply(retry)
            try await fixture.drain()
            try await Self.expect(
                [
                    "origin.http.404": .init(attempts: 1, assets: 1, completed: 0, lost: 1),
                    "origin.http.410": .init(attempts: 2, assets: 2, completed: 0, lost: 2),
                ], fixture)
        }
    }

    @Test func assetsThatRightsRefuseAreLost() async throws {
        try await F.with { fixture in
            var often = F.file("often")
            often.maxFetches = FetchLimit(count: 1, periodSeconds: 3_600)
            var late = F.file("late")
            late.expiresAt = 1
            for _ in 0..<2 {
                let catalog = try await fixture.submit([often, late])
                try await fixture.drain()
                _ = try await fixture.queue.catalogs.selections.apply(
                    SelectionAction(
                        .remove, catalog: CatalogReference(catalog), asset: "often"))
                try await RemovalTests.purge(fixture)
            }
            let catalog = try await fixture.submit([often, late])
            try await Self.expect(
                [
                    "rights.maxFetches": .init(attempts: 0, assets: 1, completed: 0, lost: 1),
                    "input.expired": .init(attempts: 0, assets: 3, completed: 0, lost: 3),
                ], fixture)
            // A retry says why it starts nothing.
            let answer = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(.retry, catalog: CatalogReference(catalog)))
            #expect(answer.assets == 0 && answer.refused?.assets == 2, "\(answer)")
            #expect(answer.refused?.reason.isEmpty == false)
        }
    }

    @Test func aFreshURLSavesATitle() async throws {
        try await F.with { fixture in
            let (_, grant) = try await R.begin(fixture, 3)
            _ = try await fixture.report([
                R.refused(grant.jobs[0], grant), R.refused(grant.jobs[1], grant),
                F.done(grant.jobs[2], grant),
            ])
            try await R.read(
                fixture, try await fixture.lease(), R.segments(3, signature: "new"))
            try await fixture.drain()
            try await Self.expect(
                ["origin.http.403": .init(attempts: 2, assets: 1, completed: 1, byFreshURL: 1)],
                fixture)
        }
    }

    /// The code with which the title fails loses it; it met the other one too.
    @Test(arguments: [FailureCode.originHTTP404, .originHTTP403])
    func aTitleWithoutFreshURLsIsLost(code: FailureCode) async throws {
        try await F.with { fixture in
            let (_, grant) = try await R.begin(fixture, 2)
            _ = try await fixture.report(grant.jobs.map { R.refused($0, grant) })
            let read = try await fixture.lease()
            try #require(read.jobs.map(\.kind) == [.resolve])
            _ = try await fixture.report([F.failed(read.jobs[0], read, code)])
            let found = try await Self.recoveries(fixture)
            #expect(found[code.rawValue]?.lost == 1 && found[code.rawValue]?.completed == 0)
            #expect(found["origin.http.403"]?.assets == 1)
            #expect(found.values.map(\.lost).reduce(0, +) == 1)
            try await Self.expect(found, fixture)
        }
    }

    @Test func manyCoordinatorsCountOnce() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a")])
            try await fixture.drain()
            try await fixture.submit([F.file("b")], catalog: "later")
            try await fixture.pool.query(
                """
                INSERT INTO asset_failure (asset_id, code, origin_id, remedy, is_final)
                SELECT a.id, 'c' || n, a.origin_id, 1, false
                FROM asset a, generate_series(1, 500) AS g(n)
                UNION ALL SELECT 1000000, 'gone' || n, 1, 1, false FROM generate_series(1, 50) AS g(n)
                """)
            for _ in 0..<10 {
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<4 {
                        group.addTask {
                            try? await fixture.queue.figures.metFailures.fold(pageRows: 70)
                            _ = try? await fixture.queue.figures.daily.fold()
                        }
                    }
                }
            }
            #expect(
                try await Self.recoveries(fixture)
                    == ["other": .init(attempts: 0, assets: 500, completed: 500, byRetry: 500)])
            // The other asset has not ended.
            #expect(try await fixture.count("asset_failure") == 500)
        }
    }
}
