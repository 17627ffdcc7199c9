import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Titles that may lack renditions are resolved again when files of them are lost.
@Suite struct OptionalRenditionTests {
    typealias F = QueueFixture
    typealias R = RenewalTests

    private static let mayLack = {
        var options = TitleOptions()
        options.mayLack = [.audio]
        return options
    }()

    private static func submit(
        _ fixture: QueueFixture, _ options: TitleOptions? = mayLack,
        sidecars: [SidecarSubmission]? = nil
    ) async throws -> CatalogID {
        var submission = CatalogSubmission(name: "movies", storageURL: F.site)
        submission.titles = options
        let submissions = fixture.queue.catalogs.submissions
        let handle = try await submissions.open(submission)
        var title = F.title("t")
        title.sidecars = sidecars
        try await submissions.add([title], to: handle.id, generation: handle.generation)
        try await submissions.start(handle.id, generation: handle.generation)
        return handle.id
    }

    /// Reads the manifest, which lists these segments, and reports all of them; some with a failure.
    private static func fetch(
        _ fixture: QueueFixture, _ segments: [ResolvedSegment],
        lost: [String: FailureCode] = [:], leftOut: [LeftOutRendition]? = nil,
        isLastTry: Bool = false, leased: LeaseGrant? = nil
    ) async throws {
        var given = leased
        if given == nil { given = try await fixture.lease() }
        let grant = try #require(given)
        try #require(grant.jobs.map(\.kind) == [.resolve])
        var batch = TitleTests.batch(fixture, grant, segments)
        batch.leftOut = leftOut
        #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
        var done = F.done(grant.jobs[0], grant)
        done.segments = segments.count
        #expect(try await fixture.report([done]) == [.accepted])
        if isLastTry {
            try await fixture.pool.query("UPDATE job SET attempt = 7 WHERE kind = 'fetch'")
        }
        let files = try await fixture.lease()
        _ = try await fixture.report(
            files.jobs.map { job in
                lost[job.key].map { F.failed(job, files, $0) } ?? F.done(job, files)
            })
    }

    private static func source(_ job: Job) -> AssetSource? {
        if case .resolve(let source) = job.task { source } else { nil }
    }

    private static func numbered(_ segments: [ResolvedSegment]) -> [ResolvedSegment] {
        segments.enumerated().map { index, segment in
            var segment = segment
            segment.ordinal = index
            return segment
        }
    }

    private static let segments = TitleTests.segments(4)
    private static let gone = [segments[1].key: FailureCode.originHTTP404]

    @Test func aTitleIsResolvedAgainWithoutItsLostFile() async throws {
        try await F.with { fixture in
            let catalog = try await Self.submit(fixture)
            try await Self.fetch(fixture, Self.segments, lost: Self.gone)
            let waiting = try await fixture.assets(of: catalog)[0]
            #expect(waiting.state == .inProgress && waiting.segmentsDone == 3)
            #expect(try await fixture.lease().lease == nil)
            #expect(try await fixture.queue.jobs.optionalRenditions.leaveOut() == 1)
            #expect(try await fixture.queue.jobs.optionalRenditions.leaveOut() == 0)
            try await fixture.fold()

            let resolve = try await fixture.lease()
            let source = try #require(resolve.jobs.first.flatMap(Self.source))
            let lost = try #require(source.leftOut?.first)
            #expect(source.leftOut?.count == 1 && lost.key == Self.segments[1].key)
            #expect(lost.code == .originHTTP404 && lost.kind == nil)
            let again = try await fixture.assets(of: catalog)[0]
            #expect(again.state == .resolving && again.leftOut == nil && again.failure == nil)

            let left = lost.reason(for: .audio, name: "de", attributes: "de 64 kbit/s")
            let rest = Self.numbered([Self.segments[0], Self.segments[2], Self.segments[3]])
            try await Self.fetch(fixture, rest, leftOut: [left], leased: resolve)
            let ended = try await fixture.assets(of: catalog)[0]
            #expect(ended.state == .completed && ended.leftOut == [left])
            try await fixture.drain()
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .completed && status.totals.segments == 3)
            #expect(status.totals.segmentsDone == 3 && status.totals.completed == 1)
            #expect(try await Self.recovery(fixture)?.withoutRendition == 1)
            try await fixture.queue.figures.metFailures.fold()
            try await fixture.queue.figures.daily.fold()
            let recovery = try #require(try await Self.recovery(fixture))
            #expect(recovery.assets == 1 && recovery.completed == 1 && recovery.lost == 0)
            #expect(recovery.withoutRendition == 1)
        }
    }

    private static func recovery(_ fixture: QueueFixture) async throws -> DailyReport.Recovery? {
        var query = DailyReportQuery()
        query.grouping = .code
        return try await fixture.queue.figures.daily.report(query).groups.first {
            $0.name == FailureCode.originHTTP404.rawValue
        }?.recovery
    }

    @Test func withoutTheOptionATitleFails() async throws {
        try await F.with { fixture in
            let catalog = try await Self.submit(fixture, nil)
            try await Self.fetch(fixture, Self.segments, lost: Self.gone)
            #expect(try await fixture.assets(of: catalog)[0].state == .failed)
            #expect(try await fixture.queue.jobs.optionalRenditions.leaveOut() == 0)
            #expect(try await Self.recovery(fixture)?.lost == 1)
        }
    }

    /// No origin is the reason.
    @Test(arguments: [FailureCode.storagePathRefused, .manifestChanged])
    func anotherFailureEndsTheTitle(code: FailureCode) async throws {
        try await F.with { fixture in
            let catalog = try await Self.submit(fixture)
            try await Self.fetch(
                fixture, Self.segments, lost: [Self.segments[1].key: code], isLastTry: true)
            #expect(try await fixture.assets(of: catalog)[0].state == .inProgress)
            #expect(try await fixture.queue.jobs.optionalRenditions.leaveOut() == 0)
            try await fixture.fold()
            let asset = try await fixture.assets(of: catalog)[0]
            #expect(asset.state == .failed && asset.failure?.code == code)
            try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .failed)
        }
    }

    @Test func aFileThatIsLostAgainEndsTheTitle() async throws {
        try await F.with { fixture in
            let catalog = try await Self.submit(fixture)
            try await Self.fetch(fixture, Self.segments, lost: Self.gone)
            #expect(try await fixture.queue.jobs.optionalRenditions.leaveOut() == 1)
            // A worker that lists it all the same.
            let file = LeftOutRendition(
                .audio, name: "de", key: Self.segments[1].key, Failure(.originHTTP404, ""))
            try await Self.fetch(fixture, Self.segments, lost: Self.gone, leftOut: [file])
            #expect(try await fixture.queue.jobs.optionalRenditions.leaveOut() == 0)
            try await fixture.fold()
            let asset = try await fixture.assets(of: catalog)[0]
            #expect(asset.state == .failed && asset.failure?.code == .originHTTP404)
            #expect(try await Self.recovery(fixture)?.lost == 1)
        }
    }

    @Test func aResolutionThatCannotDoWithoutItEndsTheTitle() async throws {
        try await F.with { fixture in
            let catalog = try await Self.submit(fixture)
            try await Self.fetch(fixture, Self.segments, lost: Self.gone)
            #expect(try await fixture.queue.jobs.optionalRenditions.leaveOut() == 1)
            let grant = try await fixture.lease()
            _ = try await fixture.report([F.failed(grant.jobs[0], grant, .originHTTP404)])
            let asset = try await fixture.assets(of: catalog)[0]
            #expect(asset.state == .failed && asset.failure?.code == .originHTTP404)
            #expect(try await Self.recovery(fixture)?.lost == 1)
            // The next start reads the manifest for all renditions.
            _ = try await Self.submit(fixture)
            let again = try await fixture.lease()
            #expect(try #require(again.jobs.first.flatMap(Self.source)).leftOut == nil)
        }
    }

    @Test func aRequiredSidecarIsNoRendition() async throws {
        try await F.with { fixture in
            let key = "origin.test/p.jpg"
            let catalog = try await Self.submit(
                fixture,
                sidecars: [
                    SidecarSubmission(
                        url: "http://\(key)", key: key, role: .image, required: true)
                ])
            try await Self.fetch(fixture, Self.segments, lost: [key: .originHTTP404])
            #expect(try await fixture.queue.jobs.optionalRenditions.leaveOut() == 0)
            try await fixture.fold()
            #expect(try await fixture.assets(of: catalog)[0].failure?.code == .originHTTP404)
            #expect(try await fixture.assets(of: catalog)[0].state == .failed)
        }
    }
}
