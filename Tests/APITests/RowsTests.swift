import API
import Foundation
import Model
import TestSupport
import Testing

@Suite struct RowsTests {
    // MARK: Every field, in both formats

    private static let file: MultipartFile = {
        var file = MultipartFile(id: "m", totalBytes: 30, validator: "\"v\"")
        file.parts = [.init(offset: 0, length: 30, sha256: "p")]
        return file
    }()

    private static let tasks: [JobTask] = {
        func fetch(_ change: (inout Fetch) -> Void) -> JobTask {
            var fetch = Fetch(url: "http://h/a", key: "h/a", role: .media)
            change(&fetch)
            return .fetch(fetch)
        }
        var withoutParts = file
        withoutParts.parts = []
        var verification = Verification(key: "h/v", multipart: file)
        verification.stated = "crc32c=1"
        verification.sha256 = "s"
        verification.digests = "md5=0"
        var titles = TitleOptions()
        titles.tracks.codecs = ["avc1"]
        return [
            fetch { _ in },
            fetch { $0.key = "elsewhere\t\n\\" },
            fetch { ($0.url, $0.adopts) = ("https://h/a", true) },
            fetch { $0.previous = PreviousObject(StoredObject(bytes: 1, sha256: "b")) },
            fetch {
                $0.previous = PreviousObject(
                    StoredObject(bytes: 1, sha256: "b"), validator: "W/\"v\"")
                $0.previous?.isVerified = true
            },
            fetch {
                $0.length = 7
                $0.sha256 = "d"
                $0.digests = "crc32c=01234567"
                $0.mirrors = ["http://m/a", "http://n/é"]
                $0.mirrorOrigin = "http://m"
            },
            fetch {
                $0.mirrorOrigin = "http://n"
                $0.previous = PreviousObject(
                    StoredObject(bytes: 1, sha256: "b"), validator: "\"v\"")
                $0.previous?.isVerified = true
                $0.neighbour = NeighbourFile(
                    serves: "http://n/base", StoredObject(bytes: 1, sha256: "b"),
                    validator: "\"v\"", isVerified: true)
            },
            fetch { $0.body = .whole(isDivisible: false, abandoned: "old") },
            fetch { ($0.body, $0.length) = (.part(withoutParts, offset: 8, length: 9), 9) },
            fetch {
                ($0.body, $0.length) = (.range(offset: 0, length: 9), 9)
                $0.previous = PreviousObject(StoredObject(bytes: 9, sha256: "b"), validator: "v")
            },
            fetch { ($0.role, $0.body) = (.playlist, .rewrittenManifest) },
            .resolve(AssetSource(url: "http://h/m", key: "h/m", kind: .hls, titles: titles)),
            .refresh(AssetSource(url: "http://h/f", key: "h/f", kind: .file)),
            .publish(AssetSource(url: "http://h/d", key: "h/d", kind: .dash)),
            .verify(verification), .checksums(directory: "h/é"), .checksums(directory: ""),
        ]
    }()

    @Test func aGrantKeepsEveryFieldOfEveryTask() throws {
        let jobs = Self.tasks.enumerated().map { index, task in
            Job(
                id: JobID(Int64.max - Int64(index)), asset: AssetID(5), attempt: index + 1,
                task: task)
        }
        var space = SiteSpace(floorBytes: 1, quotaLeftBytes: 2, isTried: true)
        space.abandoned = ["old"]
        var grant = LeaseGrant(
            lease: "l", seconds: 30,
            site: LeasedSite(id: SiteID(1), storageURL: "file:///é", volume: "v", space: space),
            jobs: jobs)
        grant.waitedSeconds = 1.5
        grant.cluster = "c"
        grant.isAlone = true
        grant.shares = [
            OriginQuota(
                origin: "http://h", connections: 2, requestsPerSecond: 0.5, bytesPerSecond: 1_000,
                seconds: 10)
        ]
        grant.cooldowns = [OriginCooldown(origin: "http://i", seconds: 2.5)]
        grant.siteShares = [SiteQuota(site: SiteID(1), number: 7, bytesPerSecond: 0, seconds: 30)]
        grant.loadTest = LoadTestCall(id: "t", queue: nil)
        grant.probe = LeasedSite(id: SiteID(2), storageURL: "file:///p", space: space)
        grant.traces = [LeasedTrace(traceparent: "00-a\t\"b", jobs: [JobID(1), JobID(2)])]
        for format in [WireFormat.rows, .json] {
            let back = try format.decode(LeaseGrant.self, from: try format.encode(grant))
            #expect(back.jobs == jobs)
            #expect(back.lease == "l" && back.seconds == 30 && back.waitedSeconds == 1.5)
            #expect(back.site == grant.site && back.cluster == "c")
            #expect(back.isAlone == true && back.shares == grant.shares)
            #expect(back.cooldowns == grant.cooldowns && back.siteShares == grant.siteShares)
            #expect(back.loadTest == grant.loadTest && back.probe == grant.probe)
            #expect(back.traces == grant.traces)
        }
    }

    @Test(arguments: [WireFormat.rows, .json])
    func aReportKeepsEveryField(format: WireFormat) throws {
        var done = JobReport(job: JobID(1), lease: "l", outcome: .done())
        done.stored = StoredObject(bytes: 0, sha256: "a")
        done.isReused = true
        done.isVerified = true
        done.validator = "W/\"é\\\""
        done.milliseconds = 38
        (done.digests, done.cache, done.freshSeconds) = ("crc32c=1", "hit", 60)
        done.origins = [OriginOutcome(origin: "http://h")]
        var resolved = JobReport(job: JobID(2), lease: "m", outcome: .done())
        resolved.segments = 12
        resolved.refreshed = .changed
        let failed = JobReport(
            job: JobID(3), lease: "m",
            outcome: .failed(
                JobReport.Failed(
                    Failure("origin.http.404", "gone:\n\ttext"), refused: "d",
                    retryAfterSeconds: 0.1 + 0.2)))
        let returned = JobReport(
            job: JobID(4), lease: "m", outcome: .returned(afterSeconds: 1.5))
        let results = [done, resolved, failed, returned]
        let back = try format.decodeStrictly(
            ReportRequest.self,
            from: try format.encode(ReportRequest(worker: "w", results: results)))
        #expect(back.worker == "w" && back.results == results)
    }

    @Test(arguments: [WireFormat.rows, .json])
    func verdictsKeepTheirOrder(format: WireFormat) throws {
        for verdicts in [[], [.accepted], [.stale], [.accepted, .stale, .rejected, .accepted]]
            as [[ReportAnswer.Verdict]]
        {
            var answer = ReportAnswer(answers: verdicts)
            answer.cooldowns = [OriginCooldown(origin: "http://h", seconds: 1)]
            let back = try format.decode(ReportAnswer.self, from: try format.encode(answer))
            #expect(back.answers == verdicts && back.cooldowns == answer.cooldowns)
        }
    }

    @Test(arguments: [
        #"{"accepted":1,"stale":[2]}"#, #"{"accepted":1,"stale":[0],"rejected":[0]}"#,
        #"{"accepted":-1,"stale":[0]}"#, #"{"accepted":9000000000000000000}"#,
        #"{"accepted":1,"stale":[-1]}"#,
    ])
    func indicesThatFitNoResultAreRefused(answer: String) {
        #expect(throws: DecodingError.self) {
            try WireJSON.decode(ReportAnswer.self, from: Array(answer.utf8))
        }
    }

    @Test(arguments: [WireFormat.rows, .json])
    func aRequestForJobsKeepsEveryField(format: WireFormat) throws {
        var request = LeaseRequest(
            worker: "w", queues: ["a \"b\"", "é"], maxJobs: 100, waitMilliseconds: 20_000,
            lease: "l")
        request.pastLoadTests = ["t", "u"]
        request.pastAudits = [SiteAuditID(1)]
        request.takesSources = true
        request.roots = ["file:///a"]
        request.refusedSites = [SiteID(1), SiteID(9)]
        request.slow = SlowOrigins(origins: ["http://a.test", "https://b.test:8443"], maxJobs: 0)
        request.wantsTraces = true
        let back = try format.decodeStrictly(
            LeaseRequest.self, from: try format.encode(request))
        #expect(back.worker == "w" && back.queues == request.queues && back.maxJobs == 100)
        #expect(back.waitMilliseconds == 20_000 && back.lease == "l")
        #expect(back.pastLoadTests == ["t", "u"] && back.roots == ["file:///a"])
        #expect(back.refusedSites == request.refusedSites && back.wantsTraces)
        #expect(back.slow?.origins == request.slow?.origins && back.slow?.maxJobs == 0)
    }

    /// A request that was captured in one form can be written in the other.
    @Test func aRequestForJobsHasTheSameFieldsInBothForms() throws {
        var request = LeaseRequest(
            worker: "w", queues: ["a"], maxJobs: 1, waitMilliseconds: 0, lease: "l")
        request.pastLoadTests = ["t"]
        request.pastAudits = [SiteAuditID(1)]
        request.takesSources = true
        request.roots = ["file:///a"]
        request.refusedSites = [SiteID(1)]
        request.slow = SlowOrigins(origins: ["http://a.test"], maxJobs: 2)
        request.wantsTraces = true
        let object = try JSONSerialization.jsonObject(with: Data(WireJSON.encode(request)))
        let names = try #require(object as? [String: Any]).keys.sorted()
        let header = try WireFormat.rows.encode(request).prefix { $0 != UInt8(ascii: "\n") }
        let columns = String(decoding: header, as: UTF8.self).split(separator: "\t").map(
            String.init)
        #expect(names == columns.sorted())
    }

    /// Slow origins without a number of jobs would be no limit.
    @Test(arguments: [
        #"{"worker":"W","maxJobs":1,"waitMilliseconds":0,"slowOrigins":["http://a"]}"#,
        #"{"worker":"W","maxJobs":1,"waitMilliseconds":0,"slowMaxJobs":1}"#,
        #"{"worker":"W","maxJobs":1,"waitMilliseconds":0,"slow":{"origins":[],"maxJobs":1}}"#,
    ])
    func halfALimitOfSlowOriginsIsRefused(text: String) {
        let text = text.replacing("W", with: Self.worker.description)
        #expect(throws: DecodingError.self) {
            try WireJSON.decodeStrictly(LeaseRequest.self, from: Array(text.utf8))
        }
    }

    @Test(arguments: [WireFormat.rows, .json])
    func listsKeepEveryField(format: WireFormat) throws {
        var assets = AssetBatch(
            generation: 3,
            assets: [
                AssetSubmission(
                    name: "a \"é\"\n\t\\N", url: "http://h/a", kind: .file, key: "h/a"),
                AssetSubmission(
                    name: "b", url: "http://h/b", kind: .hls, key: "h/b", bytes: 12,
                    sha256: "abc"),
                AssetSubmission(name: "\\N", url: "", kind: .dash, key: "h/c"),
            ])
        assets.assets[1].mirrors = ["http://m/b", "http://n/b?\\"]
        assets.assets[0].digests = "crc32c=01234567"
        (assets.assets[2].notBefore, assets.assets[2].expiresAt) = (1_795_370_400, 1_795_370_400.5)
        assets.assets[2].keepSeconds = 172_800
        assets.assets[0].refreshByOrigin = true
        assets.assets[1].refreshSeconds = 3_600
        assets.assets[2].title = "L"
        assets.assets[2].maxFetches = FetchLimit(count: 3, periodSeconds: 60)
        (assets.assets[2].maxSites, assets.assets[2].adopts) = (2, true)
        assets.assets[1].sidecars = [
            SidecarSubmission(url: "http://i/\\", key: "i/\"", role: .image, required: false),
            SidecarSubmission(
                url: "http://h/m", key: "h/m", role: .data, bytes: 3, sha256: "x",
                digests: "md5=0"),
        ]
        let batch = try format.decodeStrictly(AssetBatch.self, from: try format.encode(assets))
        #expect(batch.generation == 3 && batch.assets == assets.assets)

        var written = ResolvedSegment(
            ordinal: 2, url: "http://h/2", key: "h/2", role: .playlist, bytes: 4, sha256: "e")
        written.content = "#EXTM3U\r\n\té\n"
        written.servedSHA256 = "f"
        written.mirrors = ["http://m/2"]
        var range = ResolvedSegment(
            ordinal: 1, url: "http://h/1", key: "h/1~b0-3", role: .media, bytes: 4)
        range.objectOffset = 0
        var segments = SegmentBatch(
            worker: "w", job: JobID(7), lease: "l",
            segments: [
                ResolvedSegment(ordinal: 0, url: "http://h/0", key: "h/0", role: .media), range,
                written,
            ])
        var warnings = ManifestWarnings()
        warnings.add(.dashOrder, in: "http://h/m.mpd", line: nil) { "é \"\\" }
        segments.warnings = warnings
        let back = try format.decodeStrictly(
            SegmentBatch.self, from: try format.encode(segments))
        #expect(back.worker == "w" && back.job == JobID(7) && back.lease == "l")
        #expect(back.segments == segments.segments && back.warnings == warnings)

        let page = ChecksumPage(
            entries: [ChecksumPage.Entry(key: "h/é", sha256: "a", recordedSeconds: 12_345.678)],
            next: nil)
        let checksums = try format.decode(ChecksumPage.self, from: try format.encode(page))
        #expect(checksums.entries == page.entries && checksums.next == nil)
    }

    @Test(arguments: [30, 0.000_01, 1.5, 12_345.678, 1e300, 0.1 + 0.2])
    func secondsOfEverySizeAreExact(seconds: Double) throws {
        let grant = LeaseGrant(lease: nil, seconds: seconds)
        let bytes = try WireFormat.rows.encode(grant)
        let back = try WireFormat.rows.decode(LeaseGrant.self, from: bytes)
        #expect(back.lease == nil && back.jobs.isEmpty && back.seconds == seconds)
    }

    // MARK: The format

    /// The page's example: what is written, to the byte.
    @Test func aReportIsTwoTables() throws {
        var report = JobReport(job: JobID(9), lease: Self.lease, outcome: .done())
        report.stored = StoredObject(bytes: 5, sha256: "a")
        let returned = JobReport(job: JobID(10), lease: Self.lease, outcome: .returned())
        let bytes = try WireFormat.rows.encode(
            ReportRequest(worker: Self.worker, results: [report, returned]))
        let names = ReportField.layout.names.joined(separator: "\t")
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "worker\n\(Self.worker)\n\(names)\n9\t\(Self.lease)\t5\ta\n10\t\(Self.lease)"
                + String(repeating: "\t\\N", count: 6) + "\treturned\n")
    }

    private static let worker = WorkerID.random()
    private static let lease = LeaseID.random()

    /// Reads a report; `W` and `L` stand for identities of a worker and a lease.
    private static func strictly(_ text: String) throws -> ReportRequest {
        let text = text.replacing("W", with: worker.description)
            .replacing("L", with: lease.description)
        return try WireFormat.rows.decodeStrictly(ReportRequest.self, from: Array(text.utf8))
    }

    /// Columns may come in any order, and absent ones are null.
    @Test func columnsAreFoundByName() throws {
        let back = try Self.strictly(
            "worker\nW\nlease\toutcome\tjob\nL\treturned\t7\nL\t\\N\t8\nL\tdone\t9\n")
        #expect(back.results.map(\.job) == [JobID(7), JobID(8), JobID(9)])
        #expect(back.results.map(\.outcome.kind) == [.returned, .done, .done])
        #expect(back.results.allSatisfy { $0.lease == Self.lease })
    }

    /// A request with an unknown column is rejected; an answer of a newer coordinator is read.
    @Test func onlyAnswersMayHaveUnknownColumns() throws {
        let text = "accepted\tlater\tstale\n1\tx\\ty\t1\n"
        let answer = try WireFormat.rows.decode(ReportAnswer.self, from: Array(text.utf8))
        #expect(answer.answers == [.accepted, .stale])
        #expect(throws: DecodingError.self) {
            try WireFormat.rows.decodeStrictly(ReportAnswer.self, from: Array(text.utf8))
        }
    }

    @Test(arguments: [
        "", "worker", "worker\n", "worker\nW", "worker\nW\n", "worker\nW\njob\tlease",
        "worker\nW\njob\tlease\n1\tL", "worker\nW\nx\njob\tlease\n1\tL\n",
        "worker\nW\njob\tlease\n1\n", "worker\nW\njob\tlease\n\\N\tL\n",
        "worker\nW\njob\tlease\nx\tL\n", "worker\nW\njob\tlease\n1\tL\tm\n",
        "worker\nW\njob\tjob\tlease\n1\t1\tL\n", "worker\nW\njob\tlease\n1\tL\\x\n",
        "worker\nW\njob\tlease\n1\tL\\", "worker\nW\njob\tlease\n99999999999999999999\tL\n",
        "worker\nW\njob\tlease\toutcome\n1\tL\tbegun\n",
        "worker\nW\njob\tlease\toutcome\n1\tL\tfailed\n",
        "worker\nW\njob\tlease\tisReused\n1\tL\ttrue\n",
        "worker\nW\njob\tlease\tretryAfterSeconds\n1\tL\tnan\n",
        "worker\nW\njob\tlease\torigins\n1\tL\t{\n",
        "worker\nW\njob\tlease\torigins\n1\tL\t[{\"origin\":\"http://h\",\"x\":1}]\n",
        "worker\nW\njob\tlease\tbytes\n1\tL\t5\n",
        "worker\nW\njob\tlease\tfailureMessage\n1\tL\tm\n",
        "worker\nW\njob\tlease\torigins\n1\tL\t[{\"origin\":\"http://h\",\"origin\":\"http://i\"}]\n",
        "worker\tresults\nW\t[]\njob\tlease\n1\tL\n", "\u{FEFF}worker\nW\njob\tlease\n1\tL\n",
        "{\"worker\":\"W\",\"results\":[]}",
    ])
    func whatIsNoMessageIsRefused(text: String) {
        #expect(throws: (any Error).self) { try Self.strictly(text) }
    }

    @Test func failuresNameTheRowAndTheField() throws {
        let text = "worker\nW\njob\tlease\tbytes\n1\tL\n2\tL\tmany\n"
        let failure = #expect(throws: DecodingError.self) { try Self.strictly(text) }
        guard case .typeMismatch(_, let context) = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(context.codingPath.map(\.stringValue) == ["results", "1", "bytes"])
        #expect(context.codingPath[1].intValue == 1)
    }

    /// An empty element stays one; a newline in an element, which would be read as two, is rejected.
    @Test func listsKeepTheirElements() throws {
        for queues in [[""], ["", "a"], ["a", ""], []] {
            let request = LeaseRequest(
                worker: "w", queues: queues, maxJobs: 1, waitMilliseconds: 0)
            let back = try WireFormat.rows.decode(
                LeaseRequest.self, from: try WireFormat.rows.encode(request))
            #expect(back.queues == queues)
        }
        #expect(throws: EncodingError.self) {
            try WireFormat.rows.encode(
                LeaseRequest(worker: "w", queues: ["a\nb"], maxJobs: 1, waitMilliseconds: 0))
        }
    }

    /// JSON in a request's field is bounded; in an answer it is not.
    @Test func jsonInAFieldIsBounded() throws {
        let origin = String(repeating: "o", count: 300_000)
        var report = JobReport(job: JobID(1), lease: "l", outcome: .done())
        report.origins = [OriginOutcome(origin: origin)]
        let bytes = try WireFormat.rows.encode(ReportRequest(worker: "w", results: [report]))
        #expect(throws: DecodingError.self) {
            try WireFormat.rows.decodeStrictly(ReportRequest.self, from: bytes)
        }
        let read = try WireFormat.rows.decode(ReportRequest.self, from: bytes)
        #expect(read.results[0].origins?.first?.origin == origin)
    }

    /// A reload of a live title has up to 2 MiB of lines.
    @Test func aLargeReloadIsRead() throws {
        var batch = SegmentBatch(worker: "w", job: JobID(1), lease: "l", segments: [])
        let entries = (0..<Int64(1_500)).map { number in
            RecordedEntry(
                playlist: 0, sequence: number, seconds: 4, setup: nil,
                tags: String(repeating: "#EXT-X-TAG:1\n", count: 50), uri: "\(number).ts")
        }
        batch.recording = RecordingUpdate(
            cursor: RecordingCursor(), entries: entries, reloadSeconds: 4)
        let back = try WireFormat.rows.decodeStrictly(
            SegmentBatch.self, from: try WireFormat.rows.encode(batch))
        #expect(back.recording?.entries == entries)
    }
}
