import API
import Model
import Postgres

/// The reasons why no job of a catalog runs.
struct CatalogWaits {
    var all: [CatalogWait] = []
    /// True if some of its jobs wait only for a worker.
    var hasReadyJobs = false

    /// Decodes rows of the template `waits`.
    static func read(_ result: PostgresResult) throws -> [CatalogID: CatalogWaits] {
        var waits: [CatalogID: CatalogWaits] = [:]
        for row in result.rows {
            let catalog = CatalogID(try row.int64("catalog_id"))
            waits[catalog, default: CatalogWaits()].all.append(try CatalogWait(row: row))
            waits[catalog]?.hasReadyJobs = try row.bool("has_ready_jobs")
        }
        return waits
    }
}

extension CatalogWait {
    /// Decodes a row of the template `waits`.
    fileprivate init(row: PostgresRow) throws {
        let subject = try row.optionalString("subject")
        let code = try row.optionalString("code").map { FailureCode($0) }
        let number = Int(try row.optionalInt64("number") ?? 0)
        let reason: Reason =
            switch try row.string("reason") {
            case "notBefore": .notBefore
            case "assetsNotBefore": .assetsNotBefore
            case "schedule": .schedule
            case "queuePaused": .queuePaused(queue: subject ?? "")
            case "noWorker": .noWorker(queue: subject ?? "", workers: number)
            case "retry": .retry(code)
            case "workerSilent": .workerSilent(worker: subject, leases: number)
            case "workerStoring": .workerStoring
            case "originCooldown":
                .originCooldown(origin: subject ?? "", code: code, origins: number)
            case "originLimit": .originLimit(origin: subject ?? "", origins: number)
            case "paused": .paused(assets: number)
            case "neighbour": .neighbour(queue: subject ?? "", assets: number)
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
