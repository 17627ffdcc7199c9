package import API
package import Model
import Postgres

/// Audits of sites, as workers see them. One worker has an audit at a time; each of its requests
/// extends its lease, and every write matches the lease.
package struct SiteAuditWork: Sendable {
    let database: QueueDatabase
    let leaseSeconds: Double
    let pageRecords: Int

    /// Leases an audit to a worker, from the first page that is not done. A repeated request has the
    /// same answer.
    package func lease(
        _ id: SiteAuditID, _ request: WorkLeaseRequest
    ) async throws(Failure) -> SiteAuditGrant {
        try await database.withConnection { connection in
            let row = try await connection.query(
                SQL.Audits.lease,
                [
                    "audit": .int(id.rawValue), "worker": .uuid(request.worker),
                    "name": .text(request.name), "lease": .uuid(request.lease),
                    "seconds": .double(leaseSeconds),
                ]
            ).firstRow
            guard let row else { return SiteAuditGrant(work: nil) }
            var work = SiteAuditGrant.Work(
                site: LeasedSite(
                    id: SiteID(try row.int64("site_id")),
                    storageURL: try row.string("storage_url"),
                    volume: try row.optionalUUID("volume_id")),
                seconds: leaseSeconds, isDeep: try row.bool("is_deep"),
                repairs: try row.bool("repairs"),
                isOfLeftovers: try row.bool("is_of_leftovers"),
                readBytesPerSecond: try row.optionalInt64("read_bytes_per_second"),
                filesPerSecond: try row.optionalInt64("files_per_second").map { Int($0) },
                page: try row.int("page"))
            work.cluster = try row.uuid("cluster")
            return SiteAuditGrant(work: work)
        }
    }

    /// Returns a page of the site's records; lists them first if they are not. Throws
    /// `worker.leaseLost`.
    package func records(
        _ id: SiteAuditID, _ request: SiteAuditRecordsRequest
    ) async throws(Failure) -> SiteAuditRecords {
        let audit: SQLValues = ["audit": .int(id.rawValue)]
        return try await database.transaction { connection in
            let held = try await extend(id, request.worker, request.lease, connection)
            var pages = try held.optionalInt64("pages")
            if pages == nil {
                try await database.allowCatalogTime(connection)
                // A crash takes the list and everything after it back together.
                _ = try await connection.query(SQL.Common.commitLater)
                _ = try await connection.query(SQL.Audits.sortInMemory)
                pages = try await connection.query(
                    SQL.Audits.list,
                    audit + [
                        "site": .int(try held.int64("site_id")),
                        "is_deep": .bool(try held.bool("is_deep")),
                        "is_of_leftovers": .bool(try held.bool("is_of_leftovers")),
                        "page_records": .int(pageRecords),
                        "seconds": .double(leaseSeconds),
                    ]
                ).only().int64("pages")
            }
            let page = try await connection.query(
                SQL.Audits.page, audit + ["number": .int(request.page)]
            ).only()
            return SiteAuditRecords(
                pages: Int(pages ?? 0), after: try page.optionalString("after"),
                content: try page.optionalString("content") ?? "")
        }
    }

    /// Returns the present records of what looks wrong. Throws `worker.leaseLost`.
    package func check(
        _ id: SiteAuditID, _ request: SiteAuditCheck
    ) async throws(Failure) -> SiteAuditChecked {
        try await database.transaction { connection in
            let held = try await extend(id, request.worker, request.lease, connection)
            let site: SQLValues = ["site": .int(try held.int64("site_id"))]
            var answer = SiteAuditChecked()
            if !request.segments.isEmpty {
                answer.segments = try await connection.query(
                    SQL.Audits.records, site + ["segments": .int64Array(request.segments)]
                ).rows.map {
                    SiteAuditChecked.Record(
                        bytes: try $0.optionalInt64("bytes"),
                        sha256: try $0.optionalString("sha256"),
                        segment: try $0.optionalInt64("segment"),
                        isLacking: try $0.bool("is_lacking"))
                }
            }
            if !request.keys.isEmpty {
                try await database.allowCatalogTime(connection)
                answer.keys = try await connection.query(
                    SQL.Audits.owned,
                    site + ["keys": .textArray(request.keys)]
                ).rows.map { try $0.bool("is_known") }
            }
            answer.multiparts = try await Self.owners(
                SQL.Audits.multiparts, ["multiparts": .uuidArray(request.multiparts)],
                isEmpty: request.multiparts.isEmpty, connection)
            answer.leases = try await Self.owners(
                SQL.Audits.leases, ["leases": .uuidArray(request.leases)],
                isEmpty: request.leases.isEmpty, connection)
            if !request.assets.isEmpty {
                answer.assets = try await connection.query(
                    SQL.Audits.assets, ["assets": .int64Array(request.assets.map(\.rawValue))]
                ).rows.map { try $0.bool("is_resumable") }
            }
            return answer
        }
    }

    private static func owners(
        _ statement: SQL.Audits, _ values: SQLValues, isEmpty: Bool,
        _ connection: PostgresConnection
    ) async throws -> [SiteAuditChecked.Owner] {
        guard !isEmpty else { return [] }
        return try await connection.query(statement, values).rows.map {
            SiteAuditChecked.Owner(rawValue: try $0.string("owner")) ?? .unknown
        }
    }

    /// Records what a worker compared. Damage is queued first, if the audit repairs. A repeated report
    /// changes nothing. Throws `worker.leaseLost`.
    package func report(
        _ id: SiteAuditID, _ report: SiteAuditReport
    ) async throws(Failure) -> SiteAuditOrder {
        let held = try await database.withConnection {
            let row = try await extend(id, report.worker, report.lease, $0)
            return (
                site: try row.int64("site_id"), reports: try row.int("reports"),
                repairs: try row.bool("repairs")
            )
        }
        var repairs: [Int64: AuditRepair] = [:]
        if held.repairs, report.number == held.reports {
            repairs = try await SiteAuditRepairs(
                database: database, site: held.site, leaseSeconds: leaseSeconds
            )
            .queue(report.findings)
        }
        let queued = repairs
        return try await database.transaction { connection in
            let row = try await extend(id, report.worker, report.lease, connection)
            _ = try await connection.query(
                SQL.Audits.read,
                ["audit": .int(id.rawValue), "read_bytes": .int(report.readBytes)])
            if let number = report.number {
                guard try row.int("reports") == number, try row.int("page") == report.page else {
                    return SiteAuditOrder(continues: true)
                }
                try await Self.record(report, of: id, queued, connection)
            }
            if let failure = report.failure {
                try await Self.stop(id, failure, connection)
                return SiteAuditOrder(continues: false)
            }
            if report.isEnd { try await Self.end(id, .complete, nil, connection) }
            return SiteAuditOrder(continues: !report.isEnd)
        }
    }

    private static func record(
        _ report: SiteAuditReport, of id: SiteAuditID, _ repairs: [Int64: AuditRepair],
        _ connection: PostgresConnection
    ) async throws {
        let audit: SQLValues = ["audit": .int(id.rawValue)]
        let found = report.findings
        if !found.isEmpty {
            let outcomes = found.map { finding -> String? in
                let queued = finding.segment.flatMap { repairs[$0] }
                return (queued ?? (finding.isRemoved == true ? .removed : .none)).rawValue
            }
            _ = try await connection.query(
                SQL.Audits.find,
                audit + [
                    "page": .int(report.page),
                    "kinds": .optionalTextArray(found.map(\.kind.rawValue)),
                    "paths": .optionalTextArray(found.map(\.path)),
                    "bytes": .optionalIntArray(found.map(\.bytes)),
                    "expected_bytes": .optionalIntArray(found.map(\.expectedBytes)),
                    "repairs": .optionalTextArray(outcomes),
                    "keep": .int(WireLimits.findingsPerAudit),
                ])
        }
        _ = try await connection.query(
            SQL.Audits.count,
            audit + [
                "page": .int(report.isPageDone ? report.page + 1 : report.page),
                "files": .int(report.files), "bytes": .int(report.bytes),
                "checked_files": .int(report.checkedFiles),
                "uncompared_files": .int(report.uncomparedFiles ?? 0),
                "uncompared_bytes": .int(report.uncomparedBytes ?? 0),
            ])
    }

    /// Ends an audit that its worker cannot do, or leaves it for another worker if that may.
    private static func stop(
        _ id: SiteAuditID, _ failure: Failure, _ connection: PostgresConnection
    ) async throws {
        let isOrderly = [.workerCancelled, .storageOutsideRoots].contains(failure.code)
        // Of this worker or of the cluster; the next try continues with the page.
        if isOrderly || failure.code == .workerInternal || failure.code.family == "cluster" {
            _ = try await connection.query(
                SQL.Audits.release,
                ["audit": .int(id.rawValue), "counts": .bool(!isOrderly)])
            _ = try await connection.query(SQL.Audits.notify)
        } else {
            try await end(id, .fail, failure, connection)
        }
    }

    static func end(
        _ id: SiteAuditID, _ event: SiteAuditEvent, _ failure: Failure?,
        _ connection: PostgresConnection
    ) async throws {
        guard let state = SiteAuditState.machine.target(of: event), state.hasEnded else {
            preconditionFailure("\(event) does not end an audit")
        }
        _ = try await connection.query(
            SQL.Audits.end,
            [
                "audit": .int(id.rawValue), "state": .text(state.rawValue),
                "failure_code": .optionalText(failure?.code.rawValue),
                "failure_message": .optionalText(failure?.message),
                "damage_code": .text(FailureCode.storageDamaged.rawValue),
            ])
    }

    /// Extends and locks an audit that the worker holds. Throws `worker.leaseLost`.
    private func extend(
        _ id: SiteAuditID, _ worker: WorkerID, _ lease: LeaseID,
        _ connection: PostgresConnection
    ) async throws -> PostgresRow {
        let held = try await connection.query(
            SQL.Audits.extend,
            [
                "audit": .int(id.rawValue), "worker": .uuid(worker), "lease": .uuid(lease),
                "seconds": .double(leaseSeconds),
            ])
        guard let row = held.firstRow else {
            throw Failure(.workerLeaseLost, "The worker does not hold audit \(id) any more.")
        }
        return row
    }
}
