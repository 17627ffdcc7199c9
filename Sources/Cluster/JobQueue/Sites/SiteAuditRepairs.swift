import API
import Model
import Postgres

/// Queues what an audit found damaged: segments are fetched again, checksum files written again. One
/// transaction for each catalog.
struct SiteAuditRepairs {
    let database: QueueDatabase
    let site: Int64
    let leaseSeconds: Double

    private static let message = "An audit found its file missing or damaged at the site."

    /// Returns what became of each damaged segment, by its number; a negative one is a directory's.
    func queue(
        _ findings: [SiteAuditReport.Finding]
    ) async throws(Failure) -> [Int64: AuditRepair] {
        var digests: [Int64: String] = [:]
        // Files that are there although nothing is recorded of them have no digest.
        var segments: Set<Int64> = []
        for finding in findings {
            guard let segment = finding.segment else { continue }
            segments.insert(segment)
            digests[segment] = finding.sha256
        }
        guard !segments.isEmpty else { return [:] }
        let named = segments.sorted()
        let rows = try await database.withConnection { connection in
            try await connection.query(
                SQL.Audits.catalogsOf,
                ["site": .int(site), "segments": .int64Array(named)]
            ).rows.map { (catalog: try $0.int64("catalog"), segment: try $0.int64("segment")) }
        }
        // What is not queued is so because of other work on its catalog.
        var repairs: [Int64: AuditRepair] = [:]
        for segment in digests.keys { repairs[segment] = .postponed }
        for (catalog, rows) in Dictionary(grouping: rows, by: \.catalog).sorted(by: {
            $0.key < $1.key
        }) {
            do throws(Failure) {
                let queued = try await queue(rows.map(\.segment), digests, of: catalog)
                for segment in queued { repairs[segment] = .queued }
                for segment in try await queuedBefore(rows.map(\.segment), digests) {
                    repairs[segment] = .queued
                }
            } catch {
                // It is just being submitted again, or its files are being published.
                guard [.inputField, .clusterBusy, .inputDraining].contains(error.code) else {
                    throw error
                }
            }
        }
        return repairs
    }

    private func queue(
        _ segments: [Int64], _ digests: [Int64: String], of catalog: Int64
    ) async throws(Failure) -> [Int64] {
        let id: SQLValues = ["catalog": .int(catalog)]
        let files = segments.filter { $0 > 0 }
        let directories = segments.filter { $0 < 0 }.map { -$0 }
        // Tallies may end assets. In its own transaction, because it locks assets, and reports lock
        // their jobs first.
        try await database.transaction { connection in
            _ = try await connection.query(SQL.Catalogs.lock, id)
            try await database.allowCatalogTime(connection)
            _ = try await connection.query(SQL.Catalogs.fold, id)
        }
        return try await database.startTransaction(of: CatalogID(catalog)) { connection in
            _ = try await connection.query(SQL.Catalogs.lock, id)
            try await database.allowCatalogTime(connection)
            // What is interrupted is started again as a whole, which checks its files.
            guard let row = try await connection.query(SQL.Catalogs.read, id).firstRow,
                let state = CatalogState(rawValue: try row.string("state")),
                ![.open, .interrupted].contains(state)
            else { return [] }
            let lost = try await Self.lose(files, digests, id, connection)
            if !lost.isEmpty {
                _ = try await Selection(
                    action: SelectionAction(.retry), catalog: CatalogID(catalog), row: row,
                    leaseSeconds: leaseSeconds
                ).retry(Set(lost.map(\.asset)).sorted(), connection)
            }
            let rejected = Set(
                try await connection.query(
                    SQL.Audits.rejected, ["segments": .int64Array(lost.map(\.segment))]
                ).rows.map { try $0.int64("id") })
            var queued = lost.map(\.segment).filter { !rejected.contains($0) }
            if !directories.isEmpty {
                queued += try await connection.query(
                    SQL.Audits.rewriteChecksums,
                    id + ["directories": .int64Array(directories)]
                ).rows.map { -(try $0.int64("id")) }
                _ = try await connection.query(SQL.Common.notifyWork)
            }
            return queued
        }
    }

    /// Returns what an earlier try of the report has queued, after which its coordinator was lost.
    private func queuedBefore(
        _ segments: [Int64], _ digests: [Int64: String]
    ) async throws(Failure) -> [Int64] {
        let files = segments.filter { $0 > 0 && digests[$0] != nil }
        return try await database.withConnection { connection in
            try await connection.query(
                SQL.Audits.queuedBefore,
                [
                    "segments": .int64Array(files),
                    "sha256": .optionalTextArray(files.map { digests[$0] }),
                    "directories": .int64Array(segments.filter { $0 < 0 }.map { -$0 }),
                ]
            ).rows.map { try $0.int64("id") }
        }
    }

    /// Records segments as not stored; returns those whose assets are to be retried.
    private static func lose(
        _ files: [Int64], _ digests: [Int64: String], _ catalog: SQLValues,
        _ connection: PostgresConnection
    ) async throws -> [(segment: Int64, asset: Int64)] {
        guard !files.isEmpty else { return [] }
        let damaged = files.filter { digests[$0] != nil }
        let lost = try await connection.query(
            SQL.Audits.lose,
            catalog + [
                "segments": .int64Array(damaged),
                "sha256": .optionalTextArray(damaged.map { digests[$0] }),
                "code": .text(FailureCode.storageDamaged.rawValue), "message": .text(message),
            ])
        let reusable = try await connection.query(
            SQL.Audits.reusable,
            catalog + ["segments": .int64Array(files.filter { digests[$0] == nil })])
        return try [lost, reusable].flatMap { result in
            try result.rows.map {
                (segment: try $0.int64("id"), asset: try $0.int64("asset_id"))
            }
        }
    }
}
