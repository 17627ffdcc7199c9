import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// What holds after each step, and at the end.
extension LifeHistory {
    /// True if nothing is wrong; records what is.
    func agrees() async throws -> Bool {
        let findings = try await findings()
        guard !findings.isEmpty else { return true }
        Issue.record("seed \(seed): \(findings.joined(separator: "; ")); \(tail)")
        return false
    }

    /// What is wrong, a sentence each.
    func findings() async throws -> [String] {
        var findings: [String] = []
        let recorded = try await keys(Self.recorded)
        let missing = recorded.subtracting(disk).subtracting(damaged)
        if !missing.isEmpty { findings.append("recorded and not stored: \(missing.sorted())") }
        let known = try await recorded.union(keys(Self.leaving)).union(orphans)
        let left = disk.subtracting(known)
        if !left.isEmpty { findings.append("stored and not known: \(left.sorted())") }
        let states = try await states()
        let taken = states.filter { $0.value.state.isGone }.map(\.key).filter { !gone.contains($0) }
        if !taken.isEmpty { findings.append("gone without a reason: \(taken)") }
        findings += try await HistoryDatabase(pool: fixture.pool).storedMiscounts()
        return findings + (try await miscounts())
    }

    private func keys(_ sql: String) async throws -> Set<String> {
        Set(try await fixture.pool.query(sql).rows.map { try $0.string(0) })
    }

    /// Keys that are stored, by the records of assets.
    private static let recorded = """
        SELECT s.key FROM segment s JOIN result r ON r.segment_id = s.id AND r.done
        WHERE s.part = 0
        """
    /// Keys whose files are to be deleted, or compared by the next start.
    private static let leaving = """
        SELECT key FROM unneeded_file UNION SELECT key FROM previous_file WHERE bytes IS NOT NULL
        """

    /// Counters that are not what a recount finds, of catalogs that are not being submitted.
    private func miscounts() async throws -> [String] {
        try await fixture.pool.query(
            """
            SELECT format('%s has counts %s, a recount %s', c.name, c.counts, n.counts)
            FROM (
                SELECT id, name, generation, opened_generation,
                       ARRAY[assets, assets_completed, assets_failed, assets_cancelled, segments,
                             segments_done, segments_failed, bytes, adopted_bytes] AS counts
                FROM catalog
            ) AS c
            CROSS JOIN LATERAL (
                SELECT ARRAY[
                    count(*), count(*) FILTER (WHERE state = 'completed'),
                    count(*) FILTER (WHERE state = 'failed'),
                    count(*) FILTER (WHERE state = 'cancelled'), coalesce(sum(segments), 0)::bigint,
                    coalesce(sum(segments_done), 0)::bigint,
                    coalesce(sum(segments_failed), 0)::bigint, coalesce(sum(bytes), 0)::bigint,
                    coalesce(sum(adopted_bytes), 0)::bigint] AS counts
                FROM asset a
                WHERE a.catalog_id = c.id AND a.generation >= c.generation
                  AND a.state NOT IN ('removed', 'expired')
            ) AS n
            WHERE c.opened_generation = c.generation AND c.counts <> n.counts
            UNION ALL
            SELECT format('%s/%s has %s bytes, its files %s', c.name, a.name, a.bytes, n.bytes)
            FROM asset a JOIN catalog c ON c.id = a.catalog_id
            CROSS JOIN LATERAL (
                SELECT coalesce(sum(r.bytes), 0)::bigint AS bytes
                FROM segment s JOIN result r ON r.segment_id = s.id AND r.done
                WHERE s.asset_id = a.id AND s.part = 0
            ) AS n
            WHERE a.state = 'completed' AND a.bytes <> n.bytes
            """
        ).rows.map { try $0.string(0) }
    }

    // MARK: The end

    /// Lets everything end, names all assets once more, without rights, and removes them. True if all
    /// were stored, and nothing is left but unrecorded files.
    mutating func end() async throws -> Bool {
        try await die()
        for catalog in Self.catalogs {
            try await finish()
            let handle = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: catalog, storageURL: F.site))
            try await fixture.queue.catalogs.submissions.add(
                Self.names.map { Self.asset($0) }, to: handle.id, generation: handle.generation)
            try await fixture.queue.catalogs.submissions.start(
                handle.id, generation: handle.generation)
            for name in Self.names {
                let asset = LifeAsset(catalog: catalog, name: name)
                gone.remove(asset)
                ends[asset] = nil
            }
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(.resume, catalog: CatalogReference(name: catalog)))
        }
        try await finish()
        // What held a key with another object has let it go by now.
        for catalog in Self.catalogs {
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(.retry, catalog: CatalogReference(name: catalog)))
        }
        try await finish()
        guard try await agrees() else { return false }
        let completed = try await fixture.count("asset WHERE state = 'completed'")
        for catalog in Self.catalogs {
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(.remove, catalog: CatalogReference(name: catalog)))
        }
        gone = Set(try await states().keys)
        try await finish()
        guard try await agrees() else { return false }
        let left = disk.subtracting(orphans).sorted()
        let rows = try await fixture.count("unneeded_file")
        let busy = try await fixture.count("asset WHERE state <> 'removed'")
        guard completed == 15, left.isEmpty, rows == 0, busy == 0 else {
            Issue.record(
                """
                seed \(seed): \(completed) completed, left \(left), \(rows) rows, \(busy) assets; \
                \(tail)
                """)
            return false
        }
        return true
    }

    /// Works, without failures, until nothing is left to do. Workers hold nothing else.
    private mutating func finish() async throws {
        var idle = 0
        // Bounded: what never ends is seen by who asked for the end.
        for _ in 0..<1_000 where idle < 3 {
            let waiting = held
            held = []
            for work in waiting { try await finish(work) }
            idle = try await finishRound() + waiting.count == 0 ? idle + 1 : 0
        }
    }

    /// Does what can be leased, without failures, so many times.
    mutating func finish(rounds: Int) async throws {
        log.append("finish")
        for _ in 0..<rounds { _ = try await finishRound() }
    }

    /// Returns the number of jobs.
    private mutating func finishRound() async throws -> Int {
        try await makeDue()
        _ = try await fixture.queue.files.purges.reconcile()
        let grant = try await fixture.lease()
        for job in grant.jobs { try await finish(HeldWork(job: job, grant: grant)) }
        return grant.jobs.count
    }

    /// A job is held while one of its keys is just being deleted: its worker reports it again.
    private mutating func finish(_ work: HeldWork) async throws {
        do {
            try await succeed(work)
        } catch let failure as Failure where failure.code == .clusterBusy {
            log.append("\(work.job.kind) \(work.job.key) is busy")
            held.append(work)
        }
    }
}
