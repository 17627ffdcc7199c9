import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// What workers do with their jobs, and how they die.
extension LifeHistory {
    mutating func lease(_ most: Int? = nil) async throws {
        let grant = try await fixture.lease(most ?? 1 + below(4))
        for job in grant.jobs {
            log.append("lease \(job.kind) \(job.key)\(job.offset.map { " @\($0)" } ?? "")")
            held.append(HeldWork(job: job, grant: grant))
        }
        let paused = try await fixture.pool.query(
            "SELECT name FROM asset WHERE is_paused AND id = ANY($1::bigint[])",
            [.int64Array(grant.jobs.map(\.asset.rawValue))]
        ).rows.map { try $0.string(0) }
        if !paused.isEmpty { Issue.record("seed \(seed): \(paused) is paused; \(tail)") }
    }

    /// Lets everything that waits for its time wait no more.
    func makeDue() async throws {
        try await fixture.pool.query(
            "UPDATE unneeded_file SET due_at = now() WHERE due_at < 'infinity'")
        try await fixture.skipDelays()
    }

    /// Continues one of the jobs.
    mutating func work() async throws {
        guard !held.isEmpty else { return try await lease() }
        let index = below(held.count)
        // What is short would hardly be met by anything else.
        if [.verify, .resolve, .refresh].contains(held[index].job.kind), below(2) == 0 { return }
        try await work(index)
    }

    mutating func work(_ index: Int) async throws {
        let work = held.remove(at: index)
        switch work.job.kind {
        case .fetch where work.job.offset == nil && below(5) == 0: try await split(work)
        case .fetch: try await fetch(work)
        case .verify: try await verify(work)
        case .resolve: try await resolve(work)
        case .refresh, .publish: try await refresh(work)
        case .purge: try await purge(work)
        case .checksums: _ = try await end(work, F.done(work.job, work.grant))
        }
    }

    /// Reports the end of a job; true if that was accepted.
    @discardableResult
    private mutating func end(_ work: HeldWork, _ report: JobReport) async throws -> Bool {
        let verdict = try await fixture.report([report])
        let outcome = report.failure.map { "fail \($0.code)" } ?? "end"
        log.append("\(outcome) \(work.job.kind) \(work.job.key): \(verdict[0])")
        return verdict == [.accepted]
    }

    mutating func fail(_ work: HeldWork, _ codes: FailureCode...) async throws {
        try await end(work, F.failed(work.job, work.grant, codes[below(codes.count)]))
    }

    /// A file lies under its final key before it is reported.
    private mutating func store(_ work: HeldWork, bytes: Int64) async throws {
        let key = work.job.key
        let isNew = disk.insert(key).inserted
        var report = F.done(work.job, work.grant, bytes: bytes)
        if let sha256 = work.job.sha256 { report.stored?.sha256 = sha256 }
        guard try await end(work, report) else {
            if isNew { orphans.insert(key) }
            return
        }
        damaged.remove(key)
        orphans.remove(key)
    }

    /// Ends a job as it is meant to.
    mutating func succeed(_ work: HeldWork) async throws {
        var report = F.done(work.job, work.grant, bytes: work.job.length ?? 1)
        switch work.job.kind {
        // Of a part nothing is visible.
        case .fetch where work.job.offset != nil: break
        case .fetch: return try await store(work, bytes: 100)
        case .verify: return try await store(work, bytes: 2 * SplitTests.part)
        case .resolve:
            guard let count = try await sendSegments(work, count: 2) else { return }
            report.segments = count
        case .refresh where !work.isPublishing:
            guard try await firstFile(of: work) != nil else { return }
            report.refreshed = .unchanged
        case .refresh, .publish: report.refreshed = .changed
        case .purge:
            var work = work
            while let page = try await delete(&work), !page.isEmpty {}
        case .checksums: break
        }
        try await end(work, report)
    }

    private mutating func fetch(_ work: HeldWork) async throws {
        if below(6) == 0 {
            return try await fail(work, "origin.http.404", "origin.http.404", "origin.http.502")
        }
        try await succeed(work)
    }

    /// Divides a file into two parts, and continues with the first.
    mutating func split(_ work: HeldWork) async throws {
        let verdict = try await fixture.queue.jobs.splits.split(
            SplitRequest(
                worker: fixture.worker, job: work.job.id, lease: work.grant.lease ?? "",
                multipart: .random(), totalBytes: 2 * SplitTests.part, partBytes: SplitTests.part,
                validator: "\"v\""))
        log.append("split \(work.job.key): \(verdict)")
        guard verdict == .accepted else { return }
        try await end(work, F.done(work.job, work.grant, bytes: SplitTests.part))
    }

    private mutating func verify(_ work: HeldWork) async throws {
        switch below(5) {
        case 0: try await fail(work, "integrity.multipartMismatch")
        case 1: try await fail(work, "origin.http.404")
        default: try await succeed(work)
        }
    }

    private mutating func resolve(_ work: HeldWork) async throws {
        guard below(5) != 0 else { return try await fail(work, "origin.http.404") }
        guard let count = try await sendSegments(work, count: 1 + below(3)) else { return }
        var report = F.done(work.job, work.grant)
        report.segments = count
        try await end(work, report)
    }

    /// Sends so many segments of one of two manifests, and itself; nil if that is not accepted.
    mutating func sendSegments(_ work: HeldWork, count: Int) async throws -> Int? {
        let base = work.job.key.replacing("/main.m3u8", with: "")
        var segments = (0..<count).map { index in
            ResolvedSegment(
                ordinal: index, url: "http://origin.test/\(base)/\(index).ts",
                key: "\(base)/\(index).ts", role: .media)
        }
        segments.append(
            ResolvedSegment(
                ordinal: count, url: work.job.url, key: work.job.key, role: .playlist,
                sha256: F.digest(of: "\(count) \(below(2))")))
        let verdict = try await fixture.queue.jobs.segments.add(
            SegmentBatch(
                worker: fixture.worker, job: work.job.id, lease: work.grant.lease ?? "",
                segments: segments))
        guard verdict == .accepted else {
            log.append("segments are \(verdict)")
            return nil
        }
        return segments.count
    }

    // MARK: Refreshes

    private mutating func refresh(_ work: HeldWork) async throws {
        var work = work
        if work.job.kind == .publish { work.isPublishing = true }
        if work.isPublishing {
            guard below(2) == 0 else { return try await failPublication(of: work) }
            return try await succeed(work)
        }
        switch below(5) {
        case 0:
            guard try await firstFile(of: work) != nil else { return }
            try await fail(work, "origin.http.404")
        case 1, 2: try await succeed(work)
        default: try await stage(work)
        }
    }

    /// Begins a refresh: the first file that it has to request; nil if the lease was lost.
    mutating func firstFile(of work: HeldWork) async throws -> RefreshFile? {
        let request = RefreshFilesRequest(
            worker: fixture.worker, job: work.job.id, lease: work.grant.lease ?? "")
        let page = try? await fixture.queue.files.refreshes.files(request)
        if page == nil { log.append("refresh of \(work.job.key) is stale") }
        return page?.files.first
    }

    /// Hands in other bytes for an asset's first file, and requests their publication.
    mutating func stage(_ work: HeldWork) async throws {
        // What an earlier attempt handed in is forgotten.
        guard let first = try await firstFile(of: work) else { return }
        let file = RefreshedFile(
            segment: first.segment,
            stored: StoredObject(bytes: 100, sha256: F.digest(of: "\(log.count)")),
            validator: "\"new\"", staged: 1)
        let verdict = try await fixture.queue.files.refreshes.add(
            RefreshBatch(
                worker: fixture.worker, job: work.job.id, lease: work.grant.lease ?? "",
                files: [file], publication: RefreshBatch.Publication(segments: nil)))
        log.append("publish \(first.segment.key): \(verdict)")
        guard verdict == .accepted else { return }
        var work = work
        work.isPublishing = true
        held.append(work)
    }

    /// Fails a publication as often as it is tried.
    mutating func failPublication(of work: HeldWork) async throws {
        var work = work
        for _ in 0..<WireLimits.publicationAttempts {
            try await fail(work, "storage.permission")
            try await fixture.skipDelays()
            let grant = try await fixture.lease()
            var next: HeldWork?
            for job in grant.jobs {
                let given = HeldWork(job: job, grant: grant)
                if job.kind == .publish, job.key == work.job.key, next == nil {
                    next = given
                } else {
                    held.append(given)
                }
            }
            guard let next else { return }
            work = next
        }
    }

    // MARK: Deletions

    /// Deletes some of a page, and continues, or dies with it.
    private mutating func purge(_ work: HeldWork) async throws {
        var work = work
        guard let page = try await delete(&work, isHalf: below(3) == 0) else { return }
        if below(5) == 0 {
            log.append("die with it")
            try await die()
        } else if page.isEmpty {
            try await end(work, F.done(work.job, work.grant))
        } else {
            held.append(work)
        }
    }

    /// Reports what was deleted before, and deletes the next page, or half of it; the page's keys, nil if
    /// the lease was lost.
    private mutating func delete(
        _ work: inout HeldWork, isHalf: Bool = false
    ) async throws -> [String]? {
        var request = PurgeRequest(
            worker: fixture.worker, job: work.job.id, lease: work.grant.lease ?? "")
        request.results = work.deleted
        guard let page = try? await fixture.queue.files.purges.next(request) else { return nil }
        let deleted = page.files.prefix(isHalf ? page.files.count / 2 : page.files.count)
        log.append("delete \(deleted.map(\.key)) of \(page.files.map(\.key))")
        work.deleted = deleted.map {
            PurgeRequest.Result(file: $0.file, deleted: disk.remove($0.key) != nil)
        }
        // Interrupted bodies lie nowhere here.
        work.deleted += (page.bodies ?? []).map { PurgeRequest.Result(file: $0, deleted: true) }
        orphans.subtract(deleted.map(\.key))
        return page.files.map(\.key) + (page.bodies ?? []).map { "bodies \($0)" }
    }

    /// All workers die: what they had stored or deleted and not reported stays so.
    mutating func die() async throws {
        log.append("die")
        for work in held where work.job.kind == .fetch && work.job.offset == nil {
            guard below(3) == 0, disk.insert(work.job.key).inserted else { continue }
            orphans.insert(work.job.key)
        }
        held = []
        try await fixture.expireLeases()
        try await makeDue()
        try await fixture.pool.query("DELETE FROM job_loss")
    }
}
