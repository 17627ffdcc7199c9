import API
import JobQueue
import Model
import TestSupport
import Testing

/// Manifests that lie at the edge otherwise than they were served, and what is wanted of titles.
@Suite struct RewrittenManifestTests {
    typealias F = QueueFixture

    private func submit(_ fixture: QueueFixture, _ titles: TitleOptions?) async throws -> CatalogID
    {
        var submission = CatalogSubmission(name: "movies", storageURL: F.site)
        submission.titles = titles
        let handle = try await fixture.queue.catalogs.submissions.open(submission)
        try await fixture.queue.catalogs.submissions.add(
            [F.title("t"), F.file("f")], to: handle.id, generation: handle.generation)
        try await fixture.queue.catalogs.submissions.start(handle.id, generation: handle.generation)
        return handle.id
    }

    private func resolved(
        _ fixture: QueueFixture, contents: [String?], warnings: ManifestWarnings? = nil
    ) async throws -> (grant: LeaseGrant, verdicts: [ReportAnswer.Verdict]) {
        let grant = try await fixture.lease()
        let job = try #require(grant.jobs.first { $0.kind == .resolve })
        let lease = try #require(grant.lease)
        let segments = contents.enumerated().map { ordinal, content in
            var segment = ResolvedSegment(
                ordinal: ordinal, url: "http://origin.test/t/\(ordinal)",
                key: "origin.test/t/\(ordinal)",
                role: content == nil ? .media : .playlist)
            segment.content = content
            if content != nil { segment.sha256 = String(repeating: "a", count: 64) }
            return segment
        }
        var batch = SegmentBatch(
            worker: fixture.worker, job: job.id, lease: lease, segments: segments)
        batch.warnings = warnings
        #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
        var report = JobReport(job: job.id, lease: lease, outcome: .done())
        report.segments = segments.count
        let verdicts = try await fixture.queue.jobs.reports.record(
            ReportRequest(worker: fixture.worker, results: [report]))
        return (grant, verdicts)
    }

    @Test func aRewrittenManifestGoesToWhoHoldsItsJob() async throws {
        try await F.with { fixture in
            _ = try await submit(fixture, nil)
            let first = try await resolved(fixture, contents: [nil, "#EXTM3U\n\"ä\"\n"])
            #expect(first.verdicts == [.accepted])
            let grant = try await fixture.lease()
            let job = try #require(grant.jobs.first { $0.isRewritten })
            #expect(
                grant.jobs.filter { $0.isRewritten }.count == 1 && job.url.hasSuffix("/t/1"))
            let lease = try #require(grant.lease)
            let request = RewrittenManifestRequest(
                worker: fixture.worker, job: job.id, lease: lease)
            #expect(
                try await fixture.queue.jobs.segments.rewrittenManifest(request).content
                    == "#EXTM3U\n\"ä\"\n")
            let stranger = RewrittenManifestRequest(
                worker: WorkerID.random(), job: job.id, lease: lease)
            #expect(
                try await fixture.queue.jobs.segments.rewrittenManifest(stranger).content == nil)
        }
    }

    @Test func otherOptionsResolveTheTitlesAgain() async throws {
        try await F.with { fixture in
            var options = TitleOptions()
            options.tracks.maximumHeight = 720
            let catalog = try await submit(fixture, options)
            let first = try await fixture.lease()
            #expect(first.jobs.first { $0.kind == .resolve }?.titles == options)
            #expect(first.jobs.first { $0.kind == .fetch }?.titles == nil)
            try await fixture.expireLeases()
            _ = try await resolved(fixture, contents: [nil, "one"])
            // As before: what is known stays.
            _ = try await submit(fixture, options)
            #expect(
                try await fixture.assets(of: catalog).first { $0.name == "t" }?.state != .resolving)
            // Another choice, and none.
            options.tracks.audio = []
            for titles in [options, nil] {
                _ = try await submit(fixture, titles)
                #expect(
                    try await fixture.assets(of: catalog).first { $0.name == "t" }?.state
                        == .resolving)
                let again = try await resolved(fixture, contents: [nil, nil])
                #expect(again.grant.jobs.first { $0.kind == .resolve }?.titles == titles)
            }
            try await fixture.queue.housekeeping.tables.delete()
            #expect(try await fixture.count("rewritten_manifest") == 0)
        }
    }

    /// Warnings about a title's manifests stay until it is resolved again.
    @Test func warningsStayWithTheTitle() async throws {
        try await F.with { fixture in
            var warnings = ManifestWarnings()
            warnings.add(.hlsDuration, in: "http://h/t", line: 3) { "EXTINF has \"no\" duration" }
            let catalog = try await submit(fixture, nil)
            _ = try await resolved(fixture, contents: [nil, nil], warnings: warnings)
            func known() async throws -> [String: ManifestWarnings] {
                let assets = try await fixture.assets(of: catalog)
                let listing = try await fixture.queue.catalogs.listings.browse(
                    AssetQuery(CatalogReference(catalog)))
                #expect(
                    Set(listing.assets.map(\.warnings)) == Set(assets.map(\.warnings)))
                return Dictionary(
                    uniqueKeysWithValues: assets.compactMap { asset in
                        asset.warnings.map { (asset.name, $0) }
                    })
            }
            #expect(try await known() == ["t": warnings])
            // Submitted again as it was, nothing is resolved.
            _ = try await submit(fixture, nil)
            #expect(try await known() == ["t": warnings])
            var strict = TitleOptions()
            strict.isStrict = true
            _ = try await submit(fixture, strict)
            #expect(try await known() == [:])
            let again = try await resolved(fixture, contents: [nil])
            #expect(again.grant.jobs.first { $0.kind == .resolve }?.titles?.isStrict == true)
            #expect(try await known() == [:])
        }
    }
}
