package import API
import FoundationEssentials
package import Model
import Postgres

/// Sources, as workers see them. One worker reads a source at a time; each of its requests extends its
/// lease, and every write matches the lease.
package struct SourceWork: Sendable {
    let database: QueueDatabase
    let submissions: Submissions
    let selections: Selections
    let leaseSeconds: Double

    /// Leases a source that is due to a worker. A repeated request has the same answer.
    package func lease(
        _ catalog: CatalogID, _ request: WorkLeaseRequest
    ) async throws(Failure) -> SourceGrant {
        try await database.withConnection { connection in
            let row = try await connection.query(
                SQL.Sources.lease,
                [
                    "catalog": .int(catalog.rawValue), "worker": .uuid(request.worker),
                    "name": .text(request.name), "lease": .uuid(request.lease),
                    "seconds": .double(leaseSeconds),
                ]
            ).firstRow
            guard let row else { return SourceGrant(work: nil) }
            let titles = try row.optionalString("title_options").map {
                try JSONDecoder().decode(TitleOptions.self, from: Data($0.utf8))
            }
            return SourceGrant(
                work: SourceGrant.Work(
                    seconds: leaseSeconds, url: try row.string("url"),
                    format: try row.optionalString("format"),
                    validator: try row.optionalString("validator"),
                    sha256: try row.optionalString("sha256"),
                    maxDropPercent: try row.int("max_drop_percent"), titles: titles,
                    assets: try row.int64("assets")))
        }
    }

    /// Counts the names that the catalog has. Throws `worker.leaseLost`.
    package func check(
        _ catalog: CatalogID, _ check: SourceCheck
    ) async throws(Failure) -> SourceChecked {
        try await database.transaction { connection in
            _ = try await extend(catalog, check.worker, check.lease, connection)
            guard !check.names.isEmpty else { return SourceChecked(known: 0) }
            let known = try await connection.query(
                SQL.Sources.known,
                ["catalog": .int(catalog.rawValue), "names": .textArray(check.names)]
            ).only().int64("known")
            return SourceChecked(known: known)
        }
    }

    /// Keeps a batch until the list is whole. A repeated request keeps it twice, which merges alike.
    /// Throws `worker.leaseLost`.
    package func add(
        _ assets: [AssetSubmission], to catalog: CatalogID, worker: WorkerID, lease: LeaseID
    ) async throws(Failure) {
        try await database.transaction { connection in
            _ = try await extend(catalog, worker, lease, connection)
            let text = String(decoding: try WireJSON.encode(assets), as: UTF8.self)
            _ = try await connection.query(
                SQL.Sources.addBatch, ["catalog": .int(catalog.rawValue), "assets": .text(text)])
        }
    }

    /// Ends a reading: submits the list as a whole, removes what it dropped if the source prunes, and
    /// sets the next time. Each step has its effect once, so that another worker may do all again.
    /// Throws `worker.leaseLost`, and `cluster.busy` while somebody else submits the catalog.
    package func report(_ catalog: CatalogID, _ report: SourceReport) async throws(Failure) {
        if report.result == .failed {
            return try await database.transaction { connection in
                let held = try await extend(catalog, report.worker, report.lease, connection)
                let failure = report.failure ?? Failure(.workerInternal, "no reason was reported")
                if failure.code == .workerCancelled {
                    _ = try await connection.query(
                        SQL.Sources.release, ["catalog": .int(catalog.rawValue)])
                    _ = try await connection.query(SQL.Sources.notify)
                    return
                }
                // The same failure again is not reported again.
                let isNew = try held.optionalString("failure_code") != failure.code.rawValue
                try await finish(
                    catalog, report, failure: failure, dropped: 0,
                    message: isNew ? failure.message : nil, connection)
            }
        }
        var dropped = 0
        if report.result == .applied { dropped = try await apply(catalog, report) }
        let left = dropped
        try await database.transaction { connection in
            _ = try await extend(catalog, report.worker, report.lease, connection)
            let message =
                "\(report.assets ?? 0) assets, \(report.added ?? 0) added, \(left) no longer named"
            try await finish(
                catalog, report, failure: nil, dropped: left,
                message: report.result == .applied ? message : nil, connection)
        }
    }

    /// Submits what the lease has sent, unless that was done. Returns the number of assets that the
    /// list no longer names.
    private func apply(
        _ catalog: CatalogID, _ report: SourceReport
    ) async throws(Failure) -> Int {
        let opened = try await open(catalog, report)
        if opened.previous != opened.generation { try await merge(into: opened, of: catalog) }
        let left = try await database.startTransaction(of: catalog) { connection in
            let started = try await CatalogStart(
                catalog: catalog, generation: opened.generation,
                statementSeconds: database.catalogStatementSeconds, scope: .changed,
                connection: connection
            ).run()
            // If another lease has dropped some of the batches meanwhile, nothing is started.
            _ = try await extend(catalog, report.worker, report.lease, connection)
            return started.left ?? 0
        }
        guard opened.prunes else { return left }
        var selection = SelectionAction(.remove, catalog: CatalogReference(catalog))
        selection.ofLeft = true
        selection.generation = opened.generation
        return try await selections.apply(selection).assets
    }

    private struct Opened {
        var generation: Int
        /// The one that was started last; this one if a repeated report finds it started.
        var previous: Int
        var prunes: Bool
    }

    /// Opens a submission for the lease, unless it has one.
    private func open(
        _ catalog: CatalogID, _ report: SourceReport
    ) async throws(Failure) -> Opened {
        let id: SQLValues = ["catalog": .int(catalog.rawValue)]
        return try await database.transaction { connection in
            _ = try await connection.query(SQL.Catalogs.lock, id)
            let held = try await extend(catalog, report.worker, report.lease, connection)
            let previous = Int(
                try await connection.query(SQL.Catalogs.read, id).only().int64("generation"))
            let prunes = try held.bool("prunes")
            if let generation = try held.optionalInt64("generation") {
                return Opened(generation: Int(generation), previous: previous, prunes: prunes)
            }
            let after: SQLValues = ["after": .int(0)]
            guard try await connection.query(SQL.Sources.batch, id + after).firstRow != nil else {
                throw Failure(
                    .inputField, "result: applied was given; allowed after assets only.")
            }
            guard let row = try await connection.query(SQL.Sources.reopen, id).firstRow else {
                throw Failure(
                    .clusterBusy,
                    "catalog \(catalog) is just being submitted; its source is read again after "
                        + "that.")
            }
            let generation = try row.int64("opened_generation")
            _ = try await connection.query(
                SQL.Sources.noteOpened,
                id + ["lease": .uuid(report.lease), "generation": .int(generation)])
            return Opened(generation: Int(generation), previous: previous, prunes: prunes)
        }
    }

    /// Merges the batches, one after the other: jobs of the catalog continue meanwhile.
    private func merge(into opened: Opened, of catalog: CatalogID) async throws(Failure) {
        var last: Int64 = 0
        while true {
            let after: SQLValues = ["catalog": .int(catalog.rawValue), "after": .int(last)]
            let next = try await database.withConnection { connection in
                try await connection.query(SQL.Sources.batch, after).firstRow.map { row in
                    (
                        id: try row.int64("id"),
                        assets: try WireJSON.decode(
                            [AssetSubmission].self, from: Array(try row.string("assets").utf8))
                    )
                }
            }
            guard let next else { return }
            last = next.id
            try await submissions.add(
                next.assets, to: catalog, generation: opened.generation,
                keptGeneration: opened.previous)
        }
    }

    private func finish(
        _ catalog: CatalogID, _ report: SourceReport, failure: Failure?, dropped: Int,
        message: String?, _ connection: PostgresConnection
    ) async throws {
        _ = try await connection.query(
            SQL.Sources.finish,
            [
                "catalog": .int(catalog.rawValue), "result": .text(report.result.rawValue),
                "failure_code": .optionalText(failure?.code.rawValue),
                "failure_message": .optionalText(failure?.message),
                "validator": .optionalText(report.validator),
                "sha256": .optionalText(report.sha256),
                "assets": .optionalInt(report.assets), "added": .optionalInt(report.added),
                "dropped": .int(Int64(dropped)), "message": .optionalText(message),
            ])
    }

    /// Extends and locks a source that the worker holds. Throws `worker.leaseLost`.
    private func extend(
        _ catalog: CatalogID, _ worker: WorkerID, _ lease: LeaseID,
        _ connection: PostgresConnection
    ) async throws -> PostgresRow {
        let held = try await connection.query(
            SQL.Sources.extend,
            [
                "catalog": .int(catalog.rawValue), "worker": .uuid(worker), "lease": .uuid(lease),
                "seconds": .double(leaseSeconds),
            ])
        guard let row = held.firstRow else {
            throw Failure(
                .workerLeaseLost, "The worker does not hold the source of catalog \(catalog).")
        }
        return row
    }
}
