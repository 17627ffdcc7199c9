import API
import JobQueue
import Model
import TestSupport
import Testing

@Suite struct SplitTests {
    typealias F = QueueFixture
    static let part: Int64 = 1 << 20

    static func request(
        _ fixture: QueueFixture, _ grant: LeaseGrant, total: Int64, multipart: MultipartID
    ) -> SplitRequest {
        SplitRequest(
            worker: fixture.worker, job: grant.jobs[0].id, lease: grant.lease ?? "",
            multipart: multipart, totalBytes: total, partBytes: part, validator: "\"v1\"")
    }

    @Test func aLargeFileIsFetchedInPartsAndVerified() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("large")])
            let grant = try await fixture.lease()
            let total = 2 * Self.part + 5
            let request = Self.request(
                fixture, grant, total: total, multipart: .random())
            #expect(try await fixture.queue.jobs.splits.split(request) == .accepted)
            // The same request again has the same answer.
            #expect(try await fixture.queue.jobs.splits.split(request) == .accepted)
            // Its parts belong to the first multipart file.
            var other = request
            other.multipart = .random()
            #expect(try await fixture.queue.jobs.splits.split(other) == .rejected)

            let others = try await fixture.lease(as: WorkerID.random())
            #expect(others.jobs.map(\.offset) == [Self.part, 2 * Self.part])
            #expect(others.jobs.map(\.length) == [Self.part, 5])
            #expect(others.jobs.allSatisfy { $0.multipart?.id == request.multipart })
            #expect(others.jobs.allSatisfy { $0.multipart?.validator == "\"v1\"" })
            // Not this worker's lease.
            let bytes = [Self.part, 5]
            let results = zip(others.jobs, bytes).map { F.done($0, others, bytes: $1) }
            #expect(try await fixture.report(results) == [.stale, .stale])
            try await fixture.expireLeases()

            let all = try await fixture.lease()
            #expect(all.jobs.count == 3)
            // A part has the requested length.
            let wrong = F.done(all.jobs[0], all, bytes: 7)
            #expect(try await fixture.report([wrong]) == [.rejected])
            _ = try await fixture.report(
                all.jobs.map { F.done($0, all, bytes: $0.length ?? -1) })
            #expect(try await fixture.assets(of: catalog)[0].state == .verifying)

            let verify = try await fixture.lease()
            #expect(verify.jobs.map(\.kind) == [.verify])
            let parts = verify.jobs[0].multipart?.parts ?? []
            #expect(parts.map(\.offset) == [0, Self.part, 2 * Self.part])
            #expect(parts.map(\.length).reduce(0, +) == total)
            _ = try await fixture.report([F.done(verify.jobs[0], verify, bytes: total)])
            try await fixture.drain()
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .completed && status.totals.bytes == total)
            let files = try await fixture.queue.catalogs.files(of: catalog, after: nil, limit: 10)
                .files
            #expect(files.map(\.bytes) == [total])
            #expect(try await fixture.count("multipart_file") == 0)
        }
    }

    @Test(
        arguments: ["content.changed", "origin.rangeMismatch", "integrity.multipartMismatch"]
            as [FailureCode])
    func partsOfDifferentVersionsAreFetchedAgain(code: FailureCode) async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("large")])
            var starts = 0
            for _ in 1...20 {
                let grant = try await fixture.lease()
                guard let job = grant.jobs.first else { break }
                if job.kind == .checksums {
                    _ = try await fixture.report([F.done(job, grant)])
                } else if job.multipart == nil {
                    starts += 1
                    let request = Self.request(
                        fixture, grant, total: 2 * Self.part,
                        multipart: .random())
                    #expect(try await fixture.queue.jobs.splits.split(request) == .accepted)
                    let first = F.done(job, grant, bytes: Self.part)
                    #expect(try await fixture.report([first]) == [.accepted])
                } else if job.kind == .verify || code != "integrity.multipartMismatch" {
                    _ = try await fixture.report([F.failed(job, grant, code)])
                } else {
                    _ = try await fixture.report([F.done(job, grant, bytes: Self.part)])
                }
            }
            // Bounded: the attempts of the parts count for the whole.
            #expect((2...4).contains(starts))
            let asset = try await fixture.assets(of: catalog)[0]
            #expect(asset.state == .failed && asset.failure?.code == code)
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .failed)
        }
    }

    @Test func theVerificationHasTheOriginsDigestsOfTheWhole() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("large")])
            let grant = try await fixture.lease()
            var request = Self.request(
                fixture, grant, total: 3 * Self.part, multipart: .random())
            request.digests = "crc32c=01234567"
            _ = try await fixture.queue.jobs.splits.split(request)
            let others = try await fixture.lease()
            #expect(others.jobs.map(\.stated) == [nil, nil])
            var results = (grant.jobs + others.jobs).map { job in
                F.done(job, job.id == grant.jobs[0].id ? grant : others, bytes: Self.part)
            }
            let md5 = "md5=" + String(repeating: "0", count: 32)
            results[1].digests = "\(md5),crc32c=01234567"
            results[2].digests = md5
            _ = try await fixture.report(results)
            let verify = try await fixture.lease()
            #expect(verify.jobs.map(\.stated) == ["crc32c=01234567,\(md5)"])
        }
    }

    @Test func aFileThatTheDiskLostIsFetchedAgainWithoutAnAttempt() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("large")])
            for _ in 1...6 {
                let grant = try await fixture.lease()
                #expect(grant.jobs.map(\.attempt) == [1] && grant.jobs[0].multipart == nil)
                let request = Self.request(
                    fixture, grant, total: 2 * Self.part, multipart: .random())
                #expect(try await fixture.queue.jobs.splits.split(request) == .accepted)
                let other = try await fixture.lease()
                _ = try await fixture.report([
                    F.done(grant.jobs[0], grant, bytes: Self.part),
                    F.done(other.jobs[0], other, bytes: Self.part),
                ])
                let verify = try await fixture.lease()
                #expect(verify.jobs.map(\.kind) == [.verify])
                _ = try await fixture.report([
                    F.failed(verify.jobs[0], verify, "storage.syncFailed")
                ])
                #expect(try await fixture.assets(of: catalog)[0].bytes == 0)
                try await fixture.skipDelays()
            }
            #expect(try await fixture.assets(of: catalog)[0].state == .inProgress)
        }
    }

    @Test func aFileInPartsCountsInTheQuotaWithAllOfThem() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("large"), F.file("other")])
            var settings = SiteSettings(site: F.site)
            settings.quotaBytes = 5 * Self.part
            _ = try await fixture.queue.sites.configure(settings)
            func left(_ grant: LeaseGrant) -> Int64? { grant.site?.space?.quotaLeftBytes }
            let grant = try await fixture.lease(1)
            #expect(left(grant) == 5 * Self.part)
            let request = Self.request(
                fixture, grant, total: 3 * Self.part, multipart: .random())
            _ = try await fixture.queue.jobs.splits.split(request)
            let next = try await fixture.lease(1)
            #expect(left(next) == 2 * Self.part)
            // Stored, they count no more than before.
            _ = try await fixture.report([F.done(grant.jobs[0], grant, bytes: Self.part)])
            _ = try await fixture.report([
                JobReport(job: next.jobs[0].id, lease: next.lease ?? "", outcome: .returned())
            ])
            #expect(left(try await fixture.lease(1)) == 2 * Self.part)
        }
    }

    /// Paused any sooner, it would never be put together.
    @Test func aFileInPartsThatUsesTheQuotaUpIsPutTogether() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("large")])
            var settings = SiteSettings(site: F.site)
            settings.quotaBytes = 2 * Self.part
            _ = try await fixture.queue.sites.configure(settings)
            let grant = try await fixture.lease()
            let request = Self.request(
                fixture, grant, total: 2 * Self.part, multipart: .random())
            _ = try await fixture.queue.jobs.splits.split(request)
            let other = try await fixture.lease()
            _ = try await fixture.report([
                F.done(grant.jobs[0], grant, bytes: Self.part),
                F.done(other.jobs[0], other, bytes: Self.part),
            ])
            try await fixture.queue.sites.closed.watch()
            let verify = try await fixture.lease()
            let job = try #require(verify.jobs.first)
            #expect(job.kind == .verify)
            _ = try await fixture.report([F.done(job, verify, bytes: 2 * Self.part)])
            try await fixture.queue.sites.closed.watch()
            #expect(try await fixture.assets(of: catalog)[0].state == .completed)
            #expect(try await fixture.queue.sites.list().sites[0].fault?.code == "storage.quota")
        }
    }

    @Test func whatWasBegunOfAFileIsToBeRemovedWhenItStartsOver() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("large")])
            let grant = try await fixture.lease()
            #expect(grant.jobs.map(\.abandonedMultipart) == [nil])
            let multipart = MultipartID.random()
            let request = Self.request(fixture, grant, total: 2 * Self.part, multipart: multipart)
            _ = try await fixture.queue.jobs.splits.split(request)
            _ = try await fixture.report([F.failed(grant.jobs[0], grant, "content.changed")])
            #expect(try await fixture.lease().jobs.map(\.abandonedMultipart) == [multipart])
        }
    }

    @Test func filesLargerThanTheSpaceWaitWithoutAnAttempt() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("unsaid")])
            for _ in 1...5 {
                let grant = try await fixture.lease()
                #expect(grant.jobs.map(\.attempt) == [1])
                _ = try await fixture.report([
                    F.failed(grant.jobs[0], grant, "storage.outgrown")
                ])
                // Not every minute: it has to be fetched to be seen.
                let soon = "available_at < now() + interval '9 minutes'"
                #expect(try await fixture.count("delayed_job WHERE \(soon)") == 0)
                try await fixture.skipDelays()
            }
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.totals.failed == 0 && status.issue?.code == "storage.outgrown")
        }
    }

    @Test func partsThatAskTogetherForANewStartGetOne() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("large")])
            let grant = try await fixture.lease()
            let request = Self.request(
                fixture, grant, total: 4 * Self.part, multipart: .random())
            #expect(try await fixture.queue.jobs.splits.split(request) == .accepted)
            let others = try await fixture.lease()
            #expect(others.jobs.count == 3)
            let results = others.jobs.map { F.failed($0, others, "content.changed") }
            #expect(try await fixture.report(results) == [.accepted, .accepted, .accepted])
            let anew = try await fixture.lease()
            #expect(anew.jobs.map(\.offset) == [nil] && anew.jobs.map(\.attempt) == [2])
            _ = try await fixture.report(anew.jobs.map { F.done($0, anew) })
            try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }

    @Test func aLengthThatWasLearnedOfTheOldObjectIsNotThatOfTheNew() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("large")])
            let grant = try await fixture.lease()
            var other = F.file("large")
            other.url = "http://origin.test/other"
            let next = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: "movies", storageURL: F.site))
            try await fixture.queue.catalogs.submissions.add(
                [other], to: catalog, generation: next.generation)
            let request = Self.request(
                fixture, grant, total: 2 * Self.part, multipart: .random())
            #expect(try await fixture.queue.jobs.splits.split(request) == .accepted)
            try await fixture.queue.catalogs.submissions.start(catalog, generation: next.generation)
            #expect(try await fixture.lease().jobs.map(\.length) == [nil])
        }
    }

    /// Submits and completes a file; answers the length that was known of it before.
    private static func finish(
        _ file: AssetSubmission, _ fixture: QueueFixture, splits: Bool
    ) async throws -> Int64? {
        try await fixture.submit([file])
        let grant = try await fixture.lease()
        let job = try #require(grant.jobs.first)
        if splits {
            let request = Self.request(
                fixture, grant, total: 2 * Self.part, multipart: .random())
            _ = try await fixture.queue.jobs.splits.split(request)
            _ = try await fixture.report([F.done(job, grant, bytes: Self.part)])
            let rest = try await fixture.lease()
            _ = try await fixture.report([F.done(rest.jobs[0], rest, bytes: Self.part)])
            let verify = try await fixture.lease()
            _ = try await fixture.report([
                F.done(verify.jobs[0], verify, bytes: 2 * Self.part)
            ])
        } else {
            _ = try await fixture.report([F.done(job, grant, bytes: 2 * Self.part)])
        }
        try await fixture.drain()
        return job.previous?.bytes
    }

    @Test func aLengthThatWasLearnedIsNotTheLists() async throws {
        try await F.with { fixture in
            var known: [Int64?] = []
            var file = F.file("large")
            known.append(try await Self.finish(file, fixture, splits: true))
            // Named again as before: what is known of it stays.
            known.append(try await Self.finish(file, fixture, splits: false))
            // Now the list has a length: it starts over.
            file.bytes = 2 * Self.part
            known.append(try await Self.finish(file, fixture, splits: false))
            known.append(try await Self.finish(file, fixture, splits: false))
            file.bytes = nil
            known.append(try await Self.finish(file, fixture, splits: false))
            #expect(known == [nil, 2 * Self.part, nil, 2 * Self.part, nil])
        }
    }
}
