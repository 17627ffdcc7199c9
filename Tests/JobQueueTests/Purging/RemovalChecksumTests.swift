import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Checksum files of directories in which some assets are removed and others have not ended.
@Suite struct RemovalChecksumTests: SelectionSuite {
    /// Deletes the files of a removal; returns the lease of the jobs that follow.
    private func purge(_ fixture: F, failing key: String? = nil) async throws -> LeaseGrant {
        let grant = try await fixture.lease()
        #expect(grant.jobs.map(\.kind) == [.purge])
        var request = PurgeRequest(
            worker: fixture.worker, job: try #require(grant.jobs.first).id,
            lease: grant.lease ?? "")
        let page = try await fixture.queue.files.purges.next(request)
        request.results = page.files.map { file in
            var result = PurgeRequest.Result(file: file.file, deleted: file.key != key)
            if file.key == key { result.failure = Failure(.storagePermission, "It is immutable.") }
            return result
        }
        request.isLast = true
        _ = try await fixture.queue.files.purges.next(request)
        _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
        return try await fixture.lease()
    }

    @Test(arguments: [true, false])
    func itIsWrittenBesideAnAssetThatIsPausedOrWaits(isPaused: Bool) async throws {
        try await F.with { fixture in
            try await fixture.submit(files(1...2))
            try await fixture.drain()
            var assets = files(1...3)
            if !isPaused { assets[2].notBefore = 4e9 }
            let catalog = try await fixture.submit(assets)
            if isPaused { _ = try await apply(fixture, .pause, catalog, asset: "f3") }
            #expect(try await fixture.drain().allSatisfy { $0.kind == .fetch })
            _ = try await apply(fixture, .remove, catalog, asset: "f1")
            let written = try await purge(fixture)
            #expect(written.jobs.map(\.kind) == [.checksums])
            _ = try await fixture.report(written.jobs.map { F.done($0, written) })
            try await fixture.fold()
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .running)
            if isPaused {
                _ = try await apply(fixture, .resume, catalog)
            } else {
                try await fixture.pool.query("UPDATE asset SET not_before = now()")
                _ = try await fixture.queue.files.purges.applyRights()
            }
            // And once more at the end.
            #expect(try await fixture.drain().map(\.kind) == [.fetch, .checksums])
            try await expectEnded(fixture, catalog, completed: 2, failed: 0)
        }
    }

    @Test func itIsWrittenThoughAFileCannotBeDeleted() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...3))
            try await fixture.drain()
            _ = try await apply(fixture, .remove, catalog)
            let written = try await purge(fixture, failing: "origin.test/files/f2")
            #expect(written.jobs.map(\.kind) == [.checksums])
            _ = try await fixture.report(written.jobs.map { F.done($0, written) })
            try await fixture.fold()
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .running)
            try await fixture.pool.query("UPDATE unneeded_file SET due_at = now()")
            _ = try await fixture.queue.files.purges.reconcile()
            #expect(try await RemovalTests.purge(fixture) == ["origin.test/files/f2"])
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .removed)
            #expect(try await fixture.count("job") == 0)
        }
    }

    /// It would be written for each page of deleted files.
    @Test func itIsNotWrittenBeforeTheOthersAreRemoved() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            try await fixture.drain()
            _ = try await apply(fixture, .remove, catalog)
            let grant = try await fixture.lease()
            var request = PurgeRequest(
                worker: fixture.worker, job: try #require(grant.jobs.first).id,
                lease: grant.lease ?? "")
            let page = try await fixture.queue.files.purges.next(request)
            request.results = [PurgeRequest.Result(file: page.files[0].file, deleted: true)]
            _ = try await fixture.queue.files.purges.next(request)
            #expect(try await fixture.count("asset WHERE state = 'removed'") == 1)
            #expect(try await fixture.count("delayed_job WHERE kind = 'checksums'") == 0)
        }
    }

    /// Files that could not be deleted before are deleted page by page as well.
    @Test func itIsNotWrittenForEachPageOfALaterTry() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...3))
            try await fixture.drain()
            _ = try await apply(fixture, .remove, catalog)
            for deleted in [0, 1] {
                try await fixture.pool.query("UPDATE unneeded_file SET due_at = now()")
                _ = try await fixture.queue.files.purges.reconcile()
                let grant = try await fixture.lease()
                var request = PurgeRequest(
                    worker: fixture.worker, job: try #require(grant.jobs.first).id,
                    lease: grant.lease ?? "")
                let page = try await fixture.queue.files.purges.next(request)
                #expect(page.files.count == 3)
                request.results = page.files.prefix(deleted == 0 ? 3 : 1).map { file in
                    var result = PurgeRequest.Result(file: file.file, deleted: deleted == 1)
                    if deleted == 0 {
                        result.failure = Failure(.storagePermission, "It is immutable.")
                    }
                    return result
                }
                request.isLast = deleted == 0
                _ = try await fixture.queue.files.purges.next(request)
                if deleted == 0 {
                    _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
                }
            }
            #expect(try await fixture.count("asset WHERE state = 'removed'") == 1)
            #expect(try await fixture.count("delayed_job WHERE kind = 'checksums'") == 0)
        }
    }

    @Test func aSubmissionKeepsItsTurn() async throws {
        try await F.with { fixture in
            try await fixture.submit(files(1...2))
            try await fixture.drain()
            let catalog = try await fixture.submit(files(1...3))
            _ = try await apply(fixture, .pause, catalog, asset: "f3")
            try await fixture.drain()
            _ = try await apply(fixture, .remove, catalog, asset: "f1")
            let written = try await purge(fixture)
            #expect(written.jobs.map(\.kind) == [.checksums])
            _ = try await fixture.report(
                written.jobs.map {
                    JobReport(job: $0.id, lease: written.lease ?? "", outcome: .returned())
                })
            try await fixture.submit(files(2...3))
            _ = try await apply(fixture, .pause, catalog, asset: "f3")
            let again = try await fixture.drain().map(\.kind)
            #expect(again.contains(.checksums))
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .running)
            _ = try await apply(fixture, .resume, catalog)
            try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }
}
