import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// What is done to a whole catalog may take longer than any other statement.
@Suite struct WholeCatalogTests {
    typealias F = QueueFixture

    enum Work: CaseIterable, Sendable {
        case start, interrupt, cancel, refresh

        func perform(_ queue: JobQueue, _ handle: CatalogHandle) async throws {
            let catalog = CatalogReference(handle.id)
            switch self {
            case .start:
                try await queue.catalogs.submissions.start(handle.id, generation: handle.generation)
            case .interrupt: try await queue.catalogs.submissions.interrupt(handle.id)
            case .cancel:
                _ = try await queue.catalogs.selections.apply(
                    SelectionAction(.cancel, catalog: catalog))
            case .refresh:
                _ = try await queue.catalogs.selections.apply(
                    SelectionAction(.refresh, catalog: catalog))
            }
        }
    }

    /// Runs it in sessions whose statements have two seconds, while another session holds all jobs and assets
    /// for longer than that.
    private func perform(
        _ work: Work, _ fixture: F, _ handle: CatalogHandle
    ) async throws {
        let pool = PostgresPool(
            PostgresConfiguration.queue(
                url: fixture.url, statementTimeoutSeconds: 2,
                sessionSettings: JobQueue.sessionSettings),
            maximumConnections: 2, on: fixture.loop)
        let queue = JobQueue(pool: pool)
        let task = try await fixture.pool.withConnection { holder in
            try await holder.transaction { holder in
                let row = try await holder.query("SELECT pg_backend_pid()::bigint").firstRow
                let pid = try #require(row).int64(0)
                _ = try await holder.query("LOCK TABLE job, asset IN EXCLUSIVE MODE")
                let task = Task { try await work.perform(queue, handle) }
                try await waitUntil(deadlineSeconds: 60) {
                    let waiting =
                        "pg_stat_activity WHERE \(pid) = ANY(pg_blocking_pids(pid)) "
                        + "AND clock_timestamp() - query_start > interval '3 s'"
                    return try await fixture.count(waiting) == 1
                }
                return task
            }
        }
        let result = await task.result
        await pool.shutdown()
        try result.get()
    }

    @Test(arguments: Work.allCases) func hasItsTime(_ work: Work) async throws {
        try await F.with { fixture in
            let handle = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: "movies", storageURL: F.site, priority: 5))
            try await fixture.queue.catalogs.submissions.add(
                [F.file("a"), F.file("b")], to: handle.id, generation: handle.generation)
            if work != .start { try await Work.start.perform(fixture.queue, handle) }
            if work == .refresh { _ = try await fixture.drain() }
            try await perform(work, fixture, handle)
            let jobs = try await fixture.count("job WHERE kind <> 'checksums'")
            #expect((jobs > 0) == [.start, .refresh].contains(work))
            guard work == .start else { return }
            // Whoever lost the answer finds out by a second one, which has no effect of its own.
            try await work.perform(fixture.queue, handle)
            #expect(try await fixture.count("job WHERE kind <> 'checksums'") == jobs)
        }
    }
}
