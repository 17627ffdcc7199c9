import API
package import Model
import Postgres

/// Divides the limits of origins and sites into quotas for the workers that hold jobs there.
///
/// `Quota` calculates the division. This type reads and writes quotas, under the locks of the
/// origins' rows and then of the sites' rows, each in the order of their numbers.
package struct Quotas: Sendable {
    let database: QueueDatabase
    let limits: KnownLimits
    let leaseSeconds: Double

    /// True if there may be limits to divide.
    var areNeeded: Bool { limits.anyQuota }

    /// The quotas in an answer to a worker; nil for no change.
    struct Answer: Sendable {
        var origins: [OriginQuota]?
        var sites: [SiteQuota]?
    }

    /// The moment of a division: a claim granted jobs, it found none, or the worker reports its
    /// use.
    enum Occasion: Sendable { case claim, claimInVain, report }

    /// Divides the limits that concern a worker, and returns its quotas.
    func divide(
        for worker: WorkerID, after occasion: Occasion, origins: [OriginQuotaUse] = [],
        sites: [SiteQuotaUse] = [], busy: Set<String> = [], _ connection: PostgresConnection
    ) async throws -> Answer {
        let resources = try await connection.query(
            SQL.Quotas.concerned,
            [
                "worker": .uuid(worker), "origins": .textArray(origins.map(\.origin)),
                "sites": .int64Array(sites.map(\.site.rawValue)),
            ]
        ).rows.map { try QuotaResource(row: $0) }
        guard !resources.isEmpty else { return Answer() }
        let ids = { (kind: QuotaResource.Kind) in
            PostgresValue.int64Array(resources.filter { $0.kind == kind }.map(\.id))
        }
        return try await connection.transaction { connection in
            let results = try await connection.pipeline([
                PostgresStatement(SQL.Quotas.lockOrigins, ["origins": ids(.origin)]),
                PostgresStatement(SQL.Quotas.lockSites, ["sites": ids(.site)]),
                PostgresStatement(
                    SQL.Quotas.read,
                    [
                        "worker": .uuid(worker),
                        "kinds": .textArray(resources.map(\.kind.rawValue)),
                        "resources": .int64Array(resources.map(\.id)),
                    ]),
            ])
            let held = Set(resources.filter(\.isHeld).map { QuotaResource.Key($0.kind, $0.id) })
            var changes = QuotaChanges(seconds: leaseSeconds, occasion)
            for row in results[2].rows {
                let entry = try QuotaEntry(row: row)
                changes.take(
                    entry, isHeld: held.contains(entry.key), isBusy: busy.contains(entry.url),
                    use: entry.use(of: origins, sites),
                    active: origins.first { $0.origin == entry.url }.map { Int64($0.active) })
            }
            _ = try await connection.pipeline(changes.statements(for: worker))
            return changes.answer
        }
    }

    /// Ends quotas of workers that hold no jobs there, for example of disconnected ones; returns
    /// true if there were any.
    package func end() async throws(Failure) -> Bool {
        guard areNeeded else { return false }
        return try await database.withConnection { connection in
            try await connection.query(SQL.Quotas.end).only().int64("ended") > 0
        }
    }
}
