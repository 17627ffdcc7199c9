import API
import CoordinatorClient
import Foundation
import Model
import Storage
import TestSupport
import Testing

@testable import Worker

/// Publications of refreshes that do not go as they should.
@Suite struct RefreshPublicationTests {
    typealias C = Cluster
    typealias R = RefreshFixture

    /// A refresh in the hands of a worker that has been granted its publication, and does nothing more.
    private struct StoppedPublication {
        let storage: DirectoryStorage
        let worker: WorkerID
        let job: Job
        let lease: LeaseID
        let changed: [(path: String, body: [UInt8])]
        let staged: [StagedObject]
    }

    /// Stops the cluster's worker and takes its place, step by step: the first two segments of the title have
    /// changed, for this worker at least.
    private func stopInPublication(
        _ cluster: Cluster, _ catalog: CatalogID
    ) async throws -> StoppedPublication {
        try await cluster.runningWorkers[0].drain()
        let storage = try DirectoryStorage(try StorageURL("file://\(cluster.edge.path)"))
        let changed = [(R.segments[0], 20), (R.segments[1], 21)].map { path, seed in
            (path: path, body: sampleBytes(5_000, seed: UInt64(seed)))
        }
        let answer = try await cluster.client.apply(
            SelectionAction(.refresh, catalog: CatalogReference(catalog)))
        #expect(answer.jobs == 1)
        let id = cluster.runningWorkers[0].service.id
        let grant = try await cluster.client.lease(
            LeaseRequest(worker: id, queues: [], maxJobs: 10, waitMilliseconds: 20_000))
        let (job, lease) = (try #require(grant.jobs.first), try #require(grant.lease))
        let known = try await cluster.client.refreshFiles(
            RefreshFilesRequest(worker: id, job: job.id, lease: lease)
        ).files
        let staged = try storage.stage(
            changed.enumerated().map { index, file in
                let object = try storage.createTemporary(
                    lease: lease, job: job.id, key: "\(cluster.root)\(file.path)",
                    number: index + 1)
                try file.body.withUnsafeBytes { try object.write($0, at: 0) }
                return object
            })
        let told = try changed.enumerated().map { index, file in
            let segment = try #require(
                known.first { $0.segment.key == "\(cluster.root)\(file.path)" }?.segment)
            return RefreshedFile(
                segment: segment,
                stored: StoredObject(bytes: Int64(file.body.count), sha256: C.sha256(file.body)),
                staged: index + 1)
        }
        let verdict = try await cluster.client.refreshed(
            RefreshBatch(
                worker: id, job: job.id, lease: lease, files: told,
                publication: RefreshBatch.Publication()))
        #expect(verdict.verdict == .accepted)
        return StoppedPublication(
            storage: storage, worker: id, job: job, lease: lease, changed: changed, staged: staged)
    }

    /// One that is stopped while it publishes, for longer than its lease, finds when it wakes that another has
    /// ended it, and takes nothing away from the next one.
    @Test func aWorkerThatStoppedInTheMiddleIsHarmless() async throws {
        try await C.with(leaseSeconds: 2) { cluster in
            let objects = R.Objects(cluster.origin)
            let catalog = try await R.storeTitle(cluster, objects)
            let stopped = try await stopInPublication(cluster, catalog)
            // It moves the first, and is stopped.
            #expect(try stopped.storage.publish([stopped.staged[0]]) == [])
            #expect(cluster.stored(R.segments[1]) == sampleBytes(4_000, seed: 2))

            try cluster.startWorker()
            let ended = try await cluster.end(of: catalog)
            #expect(ended.values.map(\.state) == [.completed])
            #expect(ended.values.map(\.refreshed) == [.changed])
            for file in stopped.changed { #expect(cluster.stored(file.path) == file.body) }
            #expect(try cluster.temporaryFiles().isEmpty)
            #expect(try await cluster.checkSums("/t") == 8)

            // Replaced again, by what the origin has; then the first one wakes.
            let again = try await R.refresh(cluster, catalog)
            #expect(again.values.map(\.refreshed) == [.changed])
            let whole = try R.edge(cluster)
            #expect(whole[R.segments[1]] == sampleBytes(4_000, seed: 2))
            #expect(try stopped.storage.publish(stopped.staged) == [0, 1])
            #expect(try R.edge(cluster) == whole)
            var late = JobReport(job: stopped.job.id, lease: stopped.lease, outcome: .done())
            late.refreshed = .changed
            let stale = try await cluster.client.report(
                ReportRequest(worker: stopped.worker, results: [late]))
            #expect(stale.answers == [.stale])
            #expect(try await cluster.checkSums("/t") == 8)
        }
    }

    /// The staged file is gone, and the stored one differs: the asset is not complete, and is repaired by the
    /// next submission.
    @Test func aPublicationWhoseFilesAreGoneFails() async throws {
        try await C.with(leaseSeconds: 2) { cluster in
            let objects = R.Objects(cluster.origin)
            let catalog = try await R.storeTitle(cluster, objects)
            let stopped = try await stopInPublication(cluster, catalog)
            #expect(try stopped.storage.publish([stopped.staged[0]]) == [])
            stopped.storage.discard([stopped.staged[1]])

            try cluster.startWorker()
            let ended = try await cluster.end(of: catalog)
            #expect(ended.values.map(\.state) == [.failed])
            #expect(ended.values.map(\.refreshed) == [.failed])
            #expect(ended.values.map(\.failure?.code) == ["integrity.digestMismatch"])

            try await cluster.submit([try cluster.title("/t/main.m3u8")])
            let mended = try await cluster.end(of: catalog)
            #expect(mended.values.map(\.state) == [.completed])
            for (path, body) in try R.edge(cluster) {
                #expect(body == objects[path]?.body, "\(path)")
            }
            #expect(try await cluster.checkSums("/t") == 8)
        }
    }

    /// What stands in the way is found before anything is moved.
    @Test func aPublicationThatCannotBeDoneIsNotBegun() async throws {
        try await C.with { cluster in
            let objects = R.Objects(cluster.origin)
            let catalog = try await R.storeTitle(cluster, objects)
            let gate = Gate()
            for (index, path) in R.segments.enumerated() {
                objects.set(
                    path, sampleBytes(4_500, seed: UInt64(index + 20)),
                    gate: index == 5 ? gate : nil)
            }
            _ = try await cluster.client.apply(
                SelectionAction(.refresh, catalog: CatalogReference(catalog)))
            try await gate.waitUntilReached(deadlineSeconds: 60)
            // A folder stands where a file is to go: some files move, and then one cannot.
            let key = cluster.edge.path("\(cluster.root)/t/low/s6.ts")
            unlink(key)
            #expect(mkdir(key, 0o777) == 0)
            gate.open()
            let failed = try await cluster.end(of: catalog)
            #expect(failed.values.map(\.state) == [.completed])
            #expect(failed.values.map(\.failure?.code) == ["storage.pathConflict"])
            for path in R.segments.dropLast() {
                #expect(cluster.stored(path) != objects[path]?.body)
            }
            #expect(try cluster.temporaryFiles().isEmpty)
            rmdir(key)
            let ended = try await R.refresh(cluster, catalog)
            #expect(ended.values.map(\.refreshed) == [.changed])
            for path in R.segments { #expect(cluster.stored(path) == objects[path]?.body) }
        }
    }
}
