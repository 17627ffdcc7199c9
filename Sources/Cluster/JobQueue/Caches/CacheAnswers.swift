package import API
package import Model
import Postgres

/// Answers of POPs of caches, by catalog.
package struct CacheAnswers: Sendable {
    let database: QueueDatabase

    /// Returns a page of the objects that a cache does not have or of which POPs served different
    /// bytes, and with the first page the counts of each POP; `after` is the previous page's
    /// `next`, or 0.
    ///
    /// A catalog of a site with storage has none. Throws `input.notFound`.
    package func report(
        of catalog: CatalogID, after: Int64, limit: Int
    ) async throws(Failure) -> CacheReport {
        try await database.transaction { connection in
            try await database.allowCatalogTime(connection)
            let id: SQLValues = ["catalog": .int(catalog.rawValue)]
            guard let row = try await connection.query(SQL.Catalogs.read, id).firstRow else {
                throw Failure.unknownCatalog(catalog)
            }
            guard try StorageURL(try row.string("storage_url")).cache != nil else {
                return CacheReport(pops: [], findings: [], next: nil)
            }
            let pops =
                after > 0
                ? []
                : try await connection.query(SQL.CacheAnswers.pops, id).rows.map {
                    try CacheReport.POP(row: $0)
                }
            let page = try await connection.query(
                SQL.CacheAnswers.findings,
                id + ["after": .int(after), "limit": .int(Int64(limit))]
            ).rows
            return CacheReport(
                pops: pops, findings: try page.map { try CacheReport.Finding(row: $0) },
                next: page.count < limit ? nil : try page.last?.int64("id").description)
        }
    }

    /// Records the answers of accepted results, in the transaction of these.
    static func note(
        _ results: [(segment: Int64, answer: CacheAnswer)], _ connection: PostgresConnection
    ) async throws {
        guard !results.isEmpty else { return }
        _ = try await connection.query(
            SQL.CacheAnswers.note,
            [
                "segments": .int64Array(results.map(\.segment)),
                "states": .textArray(results.map(\.answer.state.rawValue)),
                "ages": .optionalIntArray(results.map { $0.answer.ageSeconds.map(Int64.init) }),
                "details": .textArray(results.map(\.answer.detail)),
            ])
    }
}

extension CacheReport.POP {
    fileprivate init(row: PostgresRow) throws {
        func count(_ column: PostgresColumn) throws -> Int { Int(try row.int64(column)) }
        self.init(pop: try row.string("pop"), objects: try count("objects"))
        hits = try count("hits")
        stored = try count("stored")
        misses = try count("misses")
        notStored = try count("not_stored")
        unknown = try count("unknown")
        failed = try count("failed")
        notCached = try count("not_cached")
        evicted = try count("evicted")
        differing = try count("differing")
        bytes = try row.int64("bytes")
    }
}

extension CacheReport.Finding {
    fileprivate init(row: PostgresRow) throws {
        let differs = try row.bool("differs")
        let isNotCached = try row.bool("is_not_cached")
        let code: FailureCode =
            differs && !isNotCached
            ? .contentDiffers
            : try row.bool("was_cached") ? .contentEvicted : .contentNotCached
        self.init(
            pop: try row.string("pop"), path: try row.string("path"), code: code,
            state: try row.optionalString("state").flatMap(CacheAnswer.State.init) ?? .unknown,
            sha256: try row.string("sha256"))
        self.differs = differs
        ageSeconds = try row.optionalInt64("age_seconds").map { Int($0) }
        detail = try row.optionalString("detail") ?? ""
    }
}
