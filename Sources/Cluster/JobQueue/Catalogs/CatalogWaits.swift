import API
import Model
import Postgres

/// Reasons why no job of a catalog runs.
struct CatalogWaits: Sendable {
    let leaseSeconds: Double

    /// The reasons of one catalog.
    struct Entry {
        var all: [CatalogWait] = []
        /// True if some of its jobs wait only for a worker.
        var hasReadyJobs = false
    }

    /// - Parameter catalog: its number, or null for the 100 latest ones.
    func statement(_ catalog: PostgresValue) -> PostgresStatement {
        PostgresStatement(
            SQL.Waiting.waits,
            ["catalog": catalog, "lease_seconds": .double(leaseSeconds)])
    }

    /// Decodes an answer to `statement`.
    static func read(_ result: PostgresResult) throws -> [CatalogID: Entry] {
        var waits: [CatalogID: Entry] = [:]
        for row in result.rows {
            let catalog = CatalogID(try row.int64("catalog_id"))
            waits[catalog, default: Entry()].all.append(try CatalogWait(row: row))
            waits[catalog]?.hasReadyJobs = try row.bool("has_ready_jobs")
        }
        return waits
    }
}

extension CatalogWait {
    /// Decodes a row of `Waiting.waits`.
    fileprivate init(row: PostgresRow) throws {
        let subject = try row.optionalString("subject")
        let code = try row.optionalString("code").map { FailureCode($0) }
        let number = Int(try row.optionalInt64("number") ?? 0)
        let reason: Reason =
            switch try row.string("reason") {
            case "notBefore": .notBefore
            case "schedule": .schedule
            case "queuePaused": .queuePaused(queue: subject ?? "")
            case "noWorker": .noWorker(queue: subject ?? "", workers: number)
            case "retry": .retry(code)
            case "workerSilent": .workerSilent(worker: subject, leases: number)
            case "originCooldown":
                .originCooldown(origin: subject ?? "", code: code, origins: number)
            case "originLimit": .originLimit(origin: subject ?? "", origins: number)
            case "siteLimit": .siteLimit
            case "otherCatalogs": .otherCatalogs(number)
            case let name: .other(name)
            }
        // Without an end both are null.
        let until = try row.optionalDouble("until")
        self.init(
            reason, seconds: until == nil ? nil : try row.optionalDouble("seconds"), until: until)
    }
}
