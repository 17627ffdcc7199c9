import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Recordings of live titles, as the queue keeps them.
@Suite struct RecordingTests {
    typealias F = QueueFixture

    @discardableResult
    static func submit(
        _ fixture: F, until: Double? = nil
    ) async throws -> CatalogID {
        var submission = CatalogSubmission(name: "live", storageURL: F.site)
        submission.titles = TitleOptions()
        submission.titles?.records = true
        submission.titles?.recordsUntilSeconds = until
        let handle = try await fixture.queue.catalogs.submissions.open(submission)
        try await fixture.queue.catalogs.submissions.add(
            [F.title("t")], to: handle.id, generation: handle.generation)
        try await fixture.queue.catalogs.submissions.start(handle.id, generation: handle.generation)
        return handle.id
    }

    /// Leases the resolve job of the title, which has to be due.
    static func reload(_ fixture: F) async throws -> (LeaseGrant, RecordingPosition?) {
        try await fixture.skipDelays()
        // Due jobs of a report enter their lanes with a claim.
        let grant = try await fixture.lease(1)
        try #require(grant.jobs.map(\.kind) == [.resolve])
        guard case .resolve(let source) = grant.jobs[0].task else { return (grant, nil) }
        return (grant, source.recording)
    }

    /// What a worker sends that found segments of these numbers.
    static func batch(
        _ fixture: F, _ grant: LeaseGrant, _ numbers: [Int64], hasEnded: Bool = false
    ) -> SegmentBatch {
        let key = F.title("t").key
        var playlist = RecordingCursor.Playlist(
            url: F.title("t").url, named: nil, key: key, rendition: 0)
        playlist.targetSeconds = 4
        playlist.next = (numbers.last ?? 0) + 1
        playlist.hasEnded = hasEnded
        var cursor = RecordingCursor()
        cursor.playlists = [playlist]
        cursor.entries = 100
        let segments = numbers.enumerated().map { index, number in
            ResolvedSegment(
                ordinal: index, url: "http://origin.test/t/\(number).ts",
                key: "origin.test/t/\(number).ts", role: .media)
        }
        let entries = numbers.enumerated().map { index, number in
            var entry = RecordedEntry(
                playlist: 0, sequence: number, seconds: 4, setup: nil, tags: "#EXTINF:4,\n",
                uri: "\(number).ts")
            entry.object = index
            return entry
        }
        var batch = SegmentBatch(
            worker: fixture.worker, job: grant.jobs[0].id, lease: grant.lease ?? "",
            segments: segments)
        batch.recording = RecordingUpdate(cursor: cursor, entries: entries, reloadSeconds: 4)
        return batch
    }

    /// Reports the reload done.
    static func end(_ fixture: F, _ grant: LeaseGrant) async throws {
        var done = F.done(grant.jobs[0], grant)
        done.segments = 100
        #expect(try await fixture.report([done]) == [.accepted])
    }

    /// A whole reload.
    private static func found(
        _ fixture: F, _ numbers: [Int64], hasEnded: Bool = false
    ) async throws {
        let (grant, _) = try await reload(fixture)
        let batch = batch(fixture, grant, numbers, hasEnded: hasEnded)
        #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
        try await end(fixture, grant)
    }

    /// Fetches all segments that wait, but does not run the resolve job.
    static func fetch(_ fixture: F, failing: Set<String> = []) async throws -> [String] {
        var keys: [String] = []
        while true {
            let grant = try await fixture.lease()
            guard grant.lease != nil else { return keys }
            try #require(!grant.jobs.contains { $0.kind == .resolve })
            keys += grant.jobs.filter { $0.kind == .fetch }.map(\.key)
            _ = try await fixture.report(
                grant.jobs.map { job in
                    failing.contains(job.key)
                        ? F.failed(job, grant, "origin.http.404") : F.done(job, grant)
                })
        }
    }

    @Test func aReloadThatIsRepeatedAddsNothingTwice() async throws {
        try await F.with { fixture in
            let catalog = try await Self.submit(fixture)
            let (lost, none) = try await Self.reload(fixture)
            #expect(none == nil)
            for _ in 0..<2 {
                let batch = Self.batch(fixture, lost, [5, 6])
                #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
            }
            // Its worker dies before it reports: the next one continues behind these segments.
            try await fixture.expireLeases()
            let (grant, position) = try await Self.reload(fixture)
            #expect(position?.cursor.playlists.first?.next == 7 && position?.isOver == false)
            let stale = Self.batch(fixture, lost, [7])
            #expect(try await fixture.queue.jobs.segments.add(stale) == .stale)
            let batch = Self.batch(fixture, grant, [6, 7])
            #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
            try await Self.end(fixture, grant)
            let asset = try await fixture.assets(of: catalog)[0]
            // The playlist is outstanding.
            #expect(asset.state == .ready && asset.segments == 4)
            #expect(asset.recording?.segments == 3 && asset.recording?.behindSeconds == 12)
            #expect(
                try await Self.fetch(fixture)
                    == [5, 6, 7].map { "origin.test/t/\($0).ts" })
            let under = try await fixture.assets(of: catalog)[0]
            #expect(under.state == .inProgress && under.segmentsDone == 3)
            #expect(under.recording?.behindSeconds == 0)
        }
    }

    /// Of a file that grows: a failure has nothing to do with other ranges of it.
    @Test func aByteRangeIsAFileOfItsOwn() async throws {
        try await F.with { fixture in
            try await Self.submit(fixture)
            let (grant, _) = try await Self.reload(fixture)
            var batch = Self.batch(fixture, grant, [1, 2])
            for (index, offset) in [0, 800].enumerated() {
                batch.segments[index].url = "http://origin.test/t/all.ts"
                batch.segments[index].objectOffset = Int64(offset)
                batch.segments[index].bytes = 800
            }
            #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
            try await Self.end(fixture, grant)
            let bodies: [Fetch.Body] = [
                .range(offset: 0, length: 800), .range(offset: 800, length: 800),
            ]
            let first = try await fixture.lease()
            #expect(first.jobs.compactMap(\.fetch?.body) == bodies)
            #expect(first.jobs.map(\.length) == [800, 800])
            _ = try await fixture.report([
                F.done(first.jobs[0], first), F.failed(first.jobs[1], first, "origin.http.416"),
            ])
            try await fixture.skipDelays()
            // The next reload is due as well.
            var again: Job?
            for _ in 0..<3 where again == nil {
                again = try await fixture.lease().jobs.first { $0.kind == .fetch }
            }
            #expect(again?.fetch?.body == bodies[1] && again?.attempt == 2)
        }
    }

    @Test func thePlaylistIsWrittenAfterTheLastSegment() async throws {
        try await F.with { fixture in
            let catalog = try await Self.submit(fixture)
            try await Self.found(fixture, [1, 2])
            try await Self.found(fixture, [3], hasEnded: true)
            // Segments are under way: there is nothing to list yet.
            let waiting = try await fixture.lease(3)
            #expect(waiting.jobs.map(\.kind) == [.fetch, .fetch, .fetch])
            let (early, position) = try await Self.reload(fixture)
            #expect(position?.isOver == true)
            try await Self.end(fixture, early)
            #expect(try await fixture.count("segment WHERE role = 'playlist'") == 0)
            let results = waiting.jobs.map { job in
                job.key.hasSuffix("2.ts")
                    ? F.failed(job, waiting, "origin.http.404") : F.done(job, waiting)
            }
            _ = try await fixture.report(results)
            let (last, _) = try await Self.reload(fixture)
            try await Self.end(fixture, last)
            #expect(try await Self.fetch(fixture) == [F.title("t").key])
            let asset = try await fixture.assets(of: catalog)[0]
            #expect(asset.state == .completed && asset.failure == nil, "\(asset)")
            #expect(asset.segments == 3 && asset.segmentsDone == 3)
            #expect(asset.recording?.gaps == 1 && asset.recording?.end == .ended)
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .completed && status.recording?.recording == 0)
            #expect(status.totals.segments == 3 && status.totals.segmentsFailed == 0)
            let text = try await fixture.pool.query("SELECT content FROM rewritten_manifest")
                .firstRow?
                .string(0)
            #expect(
                text == """
                    #EXTM3U
                    #EXT-X-TARGETDURATION:4
                    #EXT-X-MEDIA-SEQUENCE:1
                    #EXT-X-PLAYLIST-TYPE:VOD
                    #EXTINF:4,
                    1.ts
                    #EXTINF:4,
                    #EXT-X-GAP
                    2.ts
                    #EXTINF:4,
                    3.ts
                    #EXT-X-ENDLIST

                    """)
            #expect(try await fixture.count("recorded_segment") == 0)
        }
    }

    /// What a worker sends that found segments of these times in the first track of an MPD.
    private static func mpdBatch(
        _ fixture: F, _ grant: LeaseGrant, _ times: [Int64], periods: [RecordedPeriod]? = nil,
        hasEnded: Bool = false
    ) -> SegmentBatch {
        var batch = batch(fixture, grant, times)
        var mpd = RecordingCursor.MPD()
        var period = RecordingCursor.MPD.Period(id: "p", start: 0, previousEnd: nil)
        period.tracks = [RecordingCursor.MPD.Track(id: "v", number: 0, name: "n")]
        mpd.periods = [period]
        mpd.periodCount = 1
        mpd.trackCount = 1
        mpd.hasEnded = hasEnded
        var cursor = RecordingCursor()
        cursor.mpd = mpd
        cursor.entries = 100
        let entries = times.enumerated().map { index, time in
            var entry = RecordedEntry(
                playlist: 0, sequence: time, seconds: 4, setup: nil,
                tags: RecordedTimes(time: time, duration: 4).text, uri: "")
            entry.object = index
            return entry
        }
        var update = RecordingUpdate(cursor: cursor, entries: entries, reloadSeconds: 4)
        update.periods = periods
        if periods != nil {
            update.root = [
                RecordedPiece(text: "<MPD>", value: .periods), RecordedPiece(text: "</MPD>"),
            ]
        }
        batch.recording = update
        return batch
    }

    @Test func anMPDIsWrittenAfterTheLastSegment() async throws {
        try await F.with { fixture in
            let catalog = try await Self.submit(fixture)
            let track = RecordedPeriod.Track(
                number: 0, timescale: 1, offset: 0, isNumbered: false)
            let period = RecordedPeriod(
                number: 0, start: 0, prefix: "", tracks: [track],
                pieces: [
                    RecordedPiece(text: "<S>", set: 0, track: 0, value: .timeline),
                    RecordedPiece(text: "</S>", set: 0, track: 0),
                ])
            let (first, _) = try await Self.reload(fixture)
            // The answer to the first request was lost.
            for _ in 0..<2 {
                let batch = Self.mpdBatch(fixture, first, [0, 4], periods: [period])
                #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
            }
            try await Self.end(fixture, first)
            let (second, position) = try await Self.reload(fixture)
            #expect(position?.cursor.mpd?.periodCount == 1)
            // 4 again, and a name that the title has already.
            var batch = Self.mpdBatch(fixture, second, [4, 8, 12], hasEnded: true)
            batch.segments[2].key = batch.segments[0].key
            #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
            try await Self.end(fixture, second)
            #expect(
                try await Self.fetch(fixture, failing: ["origin.test/t/0.ts"])
                    == [0, 4, 8].map { "origin.test/t/\($0).ts" })
            let (last, _) = try await Self.reload(fixture)
            try await Self.end(fixture, last)
            #expect(try await Self.fetch(fixture) == [F.title("t").key])
            let asset = try await fixture.assets(of: catalog)[0]
            #expect(asset.state == .completed, "\(asset)")
            #expect(asset.recording?.end == .ended && asset.recording?.gaps == 2, "\(asset)")
            let text = try await fixture.pool.query("SELECT content FROM rewritten_manifest")
                .firstRow?.string(0)
            #expect(text == "<MPD><S><S t=\"4\" d=\"4\" r=\"1\"/></S></MPD>")
            #expect(try await fixture.count("recorded_segment") == 0)
            #expect(try await fixture.count("recording WHERE lost = 2") == 1)
        }
    }

    /// Each divides a run of the timeline.
    @Test func lostSegmentsFillAnMPD() async throws {
        try await F.with { fixture in
            let catalog = try await Self.submit(fixture)
            for (times, lost) in [([0, 4], 30_000), ([8], 40_000), ([12], 40_000)] {
                let (grant, _) = try await Self.reload(fixture)
                #expect(try await fixture.assets(of: catalog)[0].recording?.end == nil)
                let batch = Self.mpdBatch(
                    fixture, grant, times.map { Int64($0) }, periods: times[0] == 0 ? [] : nil)
                #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
                try await fixture.pool.query("UPDATE recording SET lost = \(lost)")
                try await Self.end(fixture, grant)
                if lost == 40_000 { break }
            }
            #expect(try await fixture.assets(of: catalog)[0].recording?.end == .full)
        }
    }

    @Test func aTitleThatBringsNothingNewEnds() async throws {
        try await F.with { fixture in
            let catalog = try await Self.submit(fixture)
            try await Self.found(fixture, [1])
            #expect(try await Self.fetch(fixture).count == 1)
            for reload in 1...20 {
                let recording = try await fixture.assets(of: catalog)[0].recording
                #expect(recording?.end == nil, "\(reload)")
                let (grant, _) = try await Self.reload(fixture)
                var batch = Self.batch(fixture, grant, [])
                batch.recording?.cursor.playlists[0].next = 2
                #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
                try await Self.end(fixture, grant)
            }
            #expect(try await fixture.assets(of: catalog)[0].recording?.end == .unchanged)
            #expect(try await Self.fetch(fixture) == [F.title("t").key])
            #expect(try await fixture.assets(of: catalog)[0].state == .completed)
        }
    }

    @Test func whatJoinsIsNamedOnce() async throws {
        try await F.with { fixture in
            let catalog = try await Self.submit(fixture)
            for (number, names) in [["two", "one"], ["one", "three"], [], ["two"]].enumerated() {
                let (grant, _) = try await Self.reload(fixture)
                // The answer to the first request was lost.
                for _ in 0..<2 {
                    var batch = Self.batch(fixture, grant, [Int64(number)])
                    batch.recording?.name(joined: names)
                    #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
                }
                try await Self.end(fixture, grant)
            }
            let asset = try await fixture.assets(of: catalog)[0]
            #expect(asset.recording?.unrecorded == ["two", "one", "three"], "\(asset)")
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.recording?.unrecorded == 3)
            #expect(try await fixture.count("event WHERE kind = 'asset.unrecorded'") == 3)
            // There is no end of those that a title may gain.
            let (grant, _) = try await Self.reload(fixture)
            var batch = Self.batch(fixture, grant, [9])
            batch.recording?.name(joined: (0..<200).map { "rendition \($0)" })
            #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
            let names = try await fixture.assets(of: catalog)[0].recording?.unrecorded
            #expect(names?.count == RecordingUpdate.maxJoined)
        }
    }

    @Test func anotherTimeDoesNotBeginItAgain() async throws {
        try await F.with { fixture in
            let catalog = try await Self.submit(fixture, until: 4_000_000_000)
            try await Self.found(fixture, [1])
            #expect(try await Self.submit(fixture, until: 5_000_000_000) == catalog)
            try await Self.found(fixture, [2])
            #expect(try await fixture.assets(of: catalog)[0].recording?.segments == 2)
            // One that has passed ends it.
            try await Self.submit(fixture, until: 1_000_000_000)
            try await Self.found(fixture, [3])
            #expect(try await fixture.assets(of: catalog)[0].recording?.end == .until)
            #expect(try await Self.fetch(fixture).count == 3)
            let (last, _) = try await Self.reload(fixture)
            try await Self.end(fixture, last)
            _ = try await Self.fetch(fixture)
            #expect(try await fixture.assets(of: catalog)[0].state == .completed)
        }
    }

    @Test func whatIsRemovedIsForgotten() async throws {
        try await F.with { fixture in
            let catalog = try await Self.submit(fixture)
            try await Self.found(fixture, [1, 2])
            _ = try await Self.fetch(fixture)
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(.remove, catalog: CatalogReference(catalog)))
            #expect(try await fixture.count("recording") == 0)
            #expect(try await fixture.count("recorded_segment") == 0)
            #expect(try await fixture.count("unneeded_file WHERE key LIKE '%.ts'") == 2)
        }
    }
}
