import Foundation
import Model
import TestSupport
import Testing

@Suite struct WireColumnsTests {
    static func job(_ number: Int64, _ change: (inout Job) -> Void = { _ in }) -> Job {
        var job = Job(
            id: JobID(number), kind: .fetch, site: SiteID(1), asset: AssetID(number), attempt: 1,
            url: "http://h/\(number)", key: "h/\(number)")
        job.role = .media
        change(&job)
        return job
    }

    /// Plain and unusual jobs in one list keep their order and every field.
    @Test func aGrantComesBackAsItWas() throws {
        let jobs = [
            Self.job(1), Self.job(2) { $0.sha256 = String(repeating: "a", count: 64) },
            Self.job(3) { $0.role = .`init` }, Self.job(4) { $0.site = SiteID(2) },
            Self.job(5) { $0.key = "elsewhere/5" }, Self.job(6) { $0.kind = .verify },
            Self.job(7) { $0.url = "https://h/7" }, Self.job(8) { $0.attempt = 4 },
            Self.job(9) { $0.known = StoredObject(bytes: 1, sha256: "b") },
            Self.job(10) { $0.known = StoredObject(bytes: 2, sha256: "c") }, Self.job(11),
            Self.job(14) {
                $0.known = StoredObject(bytes: 3, sha256: "d")
                $0.knownValidator = "W/\"v\""
            },
            Self.job(15) {
                $0.known = StoredObject(bytes: 4, sha256: "e")
                $0.isKnownVerified = true
            },
            Self.job(12) { $0.digests = "crc32c=01234567" }, Self.job(13) { $0.isWhole = true },
        ]
        var grant = LeaseGrant(
            lease: "l", seconds: 30, sites: ["1": "file:///a", "2": "file:///b"], jobs: jobs)
        grant.waitedSeconds = 1.5
        grant.shares = [
            OriginShare(
                origin: "http://h", connections: 2, requestsPerSecond: 0.5, bytesPerSecond: 1_000,
                seconds: 10)
        ]
        grant.cooling = [OriginCooldown(origin: "http://i", seconds: 2.5)]
        grant.siteShares = [
            SiteShare(site: SiteID(1), number: 7, bytesPerSecond: 0, seconds: 30),
            SiteShare(site: SiteID(2), number: nil, bytesPerSecond: 0, seconds: 30),
        ]
        let bytes = try WireJSON.encode(grant)
        // Read by hand, by Foundation, and without columns: it is the same grant.
        for back in [
            try WireJSON.decode(LeaseGrant.self, from: bytes),
            try JSONDecoder().decode(LeaseGrant.self, from: Data(bytes)),
            try WireJSON.decode(LeaseGrant.self, from: Array(try JSONEncoder().encode(grant))),
        ] {
            #expect(back.jobs == jobs)
            #expect(back.lease == "l" && back.seconds == 30 && back.waitedSeconds == 1.5)
            #expect(back.sites == grant.sites && back.shares == grant.shares)
            #expect(back.cooling == grant.cooling && back.siteShares == grant.siteShares)
        }
        #expect(String(decoding: bytes, as: UTF8.self).contains(#""fetches":[{"site":1,"#))
    }

    /// Other writers' forms are read too: other orders and spaces, escapes, unknown members.
    @Test func whatIsNotWrittenHereIsLeftToFoundation() throws {
        let text = #"""
            { "fetches" : [ { "role" : "media", "site": 1, "id": [7, 8], "asset" : [ 1 ,1],
                "attempt":[1,2], "place" :[1 , 0], "key":["", "k\/é \u00e9"],
                "url":["http:\/\/h\/a", "https://h/\"b\""], "later": null } ],
              "jobs":[], "sites" : {"1":"file:///a"}, "seconds":3e1, "waitedSeconds":0, "lease":"l" }
            """#
        let grant = try WireJSON.decode(LeaseGrant.self, from: Array(text.utf8))
        #expect(grant.jobs.map(\.url) == [#"https://h/"b""#, "http://h/a"])
        #expect(grant.jobs.map(\.key) == ["k/é é", "h/a"])
        #expect(grant.jobs.map(\.attempt) == [2, 1] && grant.seconds == 30)
    }

    @Test func textOfEveryKindGoesThrough() throws {
        let texts = ["http://h/é", "http://h/\"\\", "http://h/\u{1}\u{1F}\n", "http://h/日本/%2F"]
        let jobs = texts.enumerated().map { index, text in
            Self.job(Int64.max - Int64(index)) {
                $0.url = text
                $0.key = text
            }
        }
        let grant = LeaseGrant(lease: "l", seconds: 30, sites: [:], jobs: jobs)
        let bytes = try WireJSON.encode(grant)
        #expect(try WireJSON.decode(LeaseGrant.self, from: bytes).jobs == jobs)
        #expect(try JSONDecoder().decode(LeaseGrant.self, from: Data(bytes)).jobs == jobs)
    }

    /// A body cut short or damaged anywhere is refused or read as Foundation reads it, never worse.
    @Test func damageIsNoticedAsFoundationDoes() throws {
        let grant = LeaseGrant(
            lease: "l", seconds: 30, sites: ["1": "file:///a"], jobs: [Self.job(1), Self.job(2)])
        let bytes = try WireJSON.encode(grant)
        for index in bytes.indices {
            for byte in Array("\"\\,:[]{}0-e \u{1}".utf8) {
                var damaged = bytes
                damaged[index] = byte
                expectSameGrant(damaged)
            }
            expectSameGrant(Array(bytes[..<index]))
        }
    }

    private func expectSameGrant(_ bytes: [UInt8]) {
        let own = try? WireJSON.decode(LeaseGrant.self, from: bytes)
        let theirs = try? JSONDecoder().decode(LeaseGrant.self, from: Data(bytes))
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(own?.jobs == theirs?.jobs, "\(text)")
        #expect(own?.lease == theirs?.lease && own?.seconds == theirs?.seconds, "\(text)")
    }

    @Test func aReportComesBackAsItWas() throws {
        var results: [JobReport] = []
        for number in 1...9 as ClosedRange<Int64> {
            var report = JobReport(
                job: JobID(number), lease: "lease-\(number % 2)",
                outcome: number == 5 ? .failed : .done)
            if number != 5 && number != 7 {
                report.stored = StoredObject(bytes: number, sha256: "\(number)")
            }
            if number == 5 { report.failure = Failure("origin.http.404", "gone") }
            if number == 3 { report.adopted = true }
            if number == 4 || number == 9 { report.verified = true }
            if number == 2 || number == 7 { report.validator = "W/\"v\(number)\"" }
            results.append(report)
        }
        let request = ReportRequest(worker: "w", results: results)
        let back = try WireJSON.decode(ReportRequest.self, from: try WireJSON.encode(request))
        #expect(back.worker == "w")
        #expect(back.results.map(\.job) == results.map(\.job))
        #expect(back.results.map(\.lease) == results.map(\.lease))
        #expect(back.results.map(\.outcome) == results.map(\.outcome))
        #expect(back.results.map(\.stored) == results.map(\.stored))
        #expect(back.results.map { $0.adopted ?? false } == results.map { $0.adopted ?? false })
        #expect(back.results.map { $0.verified ?? false } == results.map { $0.verified ?? false })
        #expect(back.results.map(\.failure) == results.map(\.failure))
        #expect(back.results.map(\.validator) == results.map(\.validator))
    }

    @Test(arguments: [
        #"[{"lease":"l","adopted":false,"place":[0],"job":[1,2],"bytes":[1],"sha256":["a"]}]"#,
        #"[{"lease":"l","adopted":false,"place":[1],"job":[1],"bytes":[1],"sha256":["a"]}]"#,
        #"[{"lease":"l","adopted":false,"place":[-1],"job":[1],"bytes":[1],"sha256":["a"]}]"#,
        #"[{"lease":"l","adopted":false,"place":[0,0],"job":[1,2],"bytes":[1,2],"sha256":["a","b"]}]"#,
    ])
    func columnsThatDoNotFitAreRefused(done: String) {
        let body = #"{"worker":"w","results":[],"done":"# + done + "}"
        #expect(throws: DecodingError.self) {
            try WireJSON.decode(ReportRequest.self, from: Array(body.utf8))
        }
    }

    @Test func answersComeBackAsTheyWere() throws {
        for verdicts in [[], [.accepted], [.accepted, .stale, .rejected, .accepted]]
            as [[ReportAnswer.Verdict]]
        {
            for cooling in [nil, [OriginCooldown(origin: "http://h", seconds: 1)]] {
                var answer = ReportAnswer(answers: verdicts)
                answer.cooling = cooling
                let bytes = try WireJSON.encode(answer)
                let back = try WireJSON.decode(ReportAnswer.self, from: bytes)
                #expect(back.answers == verdicts && back.cooling == cooling)
                let plain = try JSONDecoder().decode(ReportAnswer.self, from: Data(bytes))
                #expect(plain.answers == verdicts && plain.cooling == cooling)
            }
        }
    }

    @Test(arguments: [30, 0.000_01, 1.5, 12_345.678, 1e300, 0.1 + 0.2])
    func secondsOfEverySizeGoThrough(seconds: Double) throws {
        var grant = LeaseGrant(lease: nil, seconds: seconds, sites: ["1": "file:///é"], jobs: [])
        grant.waitedSeconds = seconds
        let bytes = try WireJSON.encode(grant)
        for back in [
            try WireJSON.decode(LeaseGrant.self, from: bytes),
            try JSONDecoder().decode(LeaseGrant.self, from: Data(bytes)),
        ] {
            #expect(back.lease == nil && back.jobs.isEmpty && back.sites == grant.sites)
            #expect(back.seconds == seconds && back.waitedSeconds == seconds)
        }
    }

    @Test func aRequestForJobsIsReadAsFoundationReadsIt() throws {
        var request = LeaseRequest(
            worker: "w", queues: ["a \"b\"", "é"], maxJobs: 100, waitMilliseconds: 20_000,
            lease: "l")
        request.pastLoadTests = ["t", "u"]
        let bytes = try WireJSON.encode(request)
        var bodies = [bytes, Array(try JSONEncoder().encode(request))]
        for index in bytes.indices {
            for byte in Array("\"\\,:[]{}0-e \u{1}".utf8) {
                var damaged = bytes
                damaged[index] = byte
                bodies.append(damaged)
            }
            bodies.append(Array(bytes[..<index]))
        }
        for body in bodies {
            let own = try? WireJSON.decode(LeaseRequest.self, from: body)
            let theirs = try? JSONDecoder().decode(LeaseRequest.self, from: Data(body))
            let text = String(decoding: body, as: UTF8.self)
            #expect(own?.worker == theirs?.worker && own?.queues == theirs?.queues, "\(text)")
            #expect(
                own?.maxJobs == theirs?.maxJobs
                    && own?.waitMilliseconds == theirs?.waitMilliseconds
                    && own?.lease == theirs?.lease
                    && own?.pastLoadTests == theirs?.pastLoadTests, "\(text)")
        }
    }

    @Test func slowOriginsGoThroughARequestForJobs() throws {
        var request = LeaseRequest(
            worker: "w", queues: [], maxJobs: 100, waitMilliseconds: 500, lease: "l")
        request.slow = SlowOrigins(origins: ["http://a.test", "https://b.test:8443"], maxJobs: 0)
        let read = try WireJSON.decode(LeaseRequest.self, from: try WireJSON.encode(request))
        #expect(read.slow?.origins == request.slow?.origins && read.slow?.maxJobs == 0)
        #expect(read.lease == "l" && read.maxJobs == 100 && read.waitMilliseconds == 500)
    }

    @Test func listsAreReadAsFoundationReadsThem() throws {
        var assets = AssetBatch(
            generation: 3,
            assets: [
                AssetSubmission(name: "a \"é\"\n", url: "http://h/a", kind: .file, key: "h/a"),
                AssetSubmission(
                    name: "b", url: "http://h/b", kind: .hls, key: "h/b", bytes: 12,
                    sha256: "abc"),
            ])
        assets.assets[1].mirrors = ["http://m/b", "http://n/b?\\"]
        assets.assets[0].digests = "crc32c=01234567"
        assets.assets[1].sidecars = [
            SidecarSubmission(url: "http://i/\\", key: "i/\"", role: .image, required: false),
            SidecarSubmission(
                url: "http://h/m", key: "h/m", role: .data, bytes: 3, sha256: "x",
                digests: "md5=0"),
        ]
        var written = ResolvedSegment(
            ordinal: 2, url: "http://h/2", key: "h/2", role: .playlist, bytes: 4, sha256: "e")
        written.content = "é\n"
        written.servedSHA256 = "f"
        var segments = SegmentBatch(
            worker: "w", job: JobID(7), lease: "l",
            segments: [
                ResolvedSegment(ordinal: 0, url: "http://h/0", key: "h/0", role: .media),
                ResolvedSegment(
                    ordinal: 1, url: "http://h/1?\\", key: "h/1", role: .playlist, bytes: 0,
                    sha256: "d"), written,
            ])
        try Self.expectSame(assets) { ($0.generation, $0.assets) == ($1.generation, $1.assets) }
        try Self.expectSame(segments) {
            ($0.worker, $0.job, $0.lease, $0.segments) == ($1.worker, $1.job, $1.lease, $1.segments)
        }
        // Foundation reads the rare one that has warnings.
        var warnings = ManifestWarnings()
        warnings.add(.dashOrder, in: "http://h/m.mpd", line: nil) { "é \"\\" }
        segments.warnings = warnings
        try Self.expectSame(segments) {
            $0.segments == $1.segments && $0.warnings == $1.warnings
        }
    }

    @Test func aPageOfSumsIsReadAsFoundationReadsIt() throws {
        let entries = [
            SumsPage.Entry(key: "h/a \"b\"", sha256: "00ff", recordedSeconds: 1_700_000_000.25),
            SumsPage.Entry(key: "h/é", sha256: "", recordedSeconds: 0),
        ]
        for page in [SumsPage(entries: entries, next: "7.1"), SumsPage(entries: [], next: nil)] {
            try Self.expectSame(page) { $0.entries == $1.entries && $0.next == $1.next }
        }
    }

    /// A message whole, as Foundation writes it, damaged at any place and cut off anywhere.
    private static func expectSame<Message: Codable>(
        _ message: Message, _ isSame: (Message, Message) -> Bool
    ) throws {
        let bytes = try WireJSON.encode(message)
        #expect(isSame(try JSONDecoder().decode(Message.self, from: Data(bytes)), message))
        var bodies = [bytes, Array(try JSONEncoder().encode(message))]
        for index in bytes.indices {
            for byte in Array("\"\\,:[]{}0-e \u{1}".utf8) {
                bodies.append(bytes)
                bodies[bodies.count - 1][index] = byte
            }
            bodies.append(Array(bytes[..<index]))
        }
        for body in bodies {
            let own = try? WireJSON.decode(Message.self, from: body)
            let theirs = try? JSONDecoder().decode(Message.self, from: Data(body))
            let isEqual =
                switch (own, theirs) {
                case (nil, nil): true
                case (let own?, let theirs?): isSame(own, theirs)
                default: false
                }
            #expect(isEqual, "\(String(decoding: body, as: UTF8.self))")
        }
    }
}
