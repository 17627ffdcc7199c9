package import Model
import Postgres

/// Work that is selected by catalog, asset or failure code, and cancelled, tried again, or put before
/// or after other work.
extension JobQueue {
    /// Does what `action` says to everything it selects, one catalog a transaction.
    ///
    /// Throws `input.notFound` for a catalog or an asset that is not there, `input.ambiguous` for a
    /// name that several sites have, and `input.field` for a catalog that is just being submitted again.
    package func apply(_ action: SelectionAction) async throws(Failure) -> SelectionAnswer {
        var answer = SelectionAnswer(assets: 0, jobs: 0)
        for catalog in try await catalogs(action) {
            let part = try await apply(action, to: catalog)
            answer.assets += part.assets
            answer.jobs += part.jobs
            answer.catalog = part.catalog
        }
        return answer
    }

    private func catalogs(_ action: SelectionAction) async throws(Failure) -> [CatalogID] {
        guard let reference = action.catalog else {
            return try await catalogs(nil, failureCode: action.failureCode)
        }
        return [try await catalog(reference)]
    }

    /// The one catalog that is meant. Throws `input.notFound`, and `input.ambiguous` for a name that
    /// several sites have.
    func catalog(_ reference: CatalogReference) async throws(Failure) -> CatalogID {
        let found = try await catalogs(reference, failureCode: nil)
        if let id = reference.id, found.isEmpty { throw Self.unknown(id) }
        let name = (reference.name ?? "").prefix(100)
        guard let first = found.first else {
            throw Failure(.inputNotFound, try await absence(of: name, reference))
        }
        guard found.count == 1 else {
            throw Failure(
                .inputAmbiguous,
                "Several sites have a catalog \(name): numbers \(Self.list(found)). Its site says which "
                    + "(--site), or its number.")
        }
        return first
    }

    /// Says what is not there, and what is at other sites.
    private func absence(
        of name: Substring, _ reference: CatalogReference
    ) async throws(Failure) -> String {
        guard let site = reference.storageURL else { return "There is no catalog \(name)." }
        var anywhere = reference
        anywhere.storageURL = nil
        let others = try await catalogs(anywhere, failureCode: nil)
        let text = "There is no catalog \(name) at \(redacted(url: site).prefix(200))"
        guard !others.isEmpty else { return text + "." }
        return text + "; at other sites there is: \(Self.list(others))."
    }

    private static func list(_ catalogs: [CatalogID]) -> String {
        let rest = catalogs.count - 10
        return catalogs.prefix(10).map(\.description).joined(separator: ", ")
            + (rest > 0 ? " and \(rest) more" : "")
    }

    private func catalogs(
        _ reference: CatalogReference?, failureCode: FailureCode?
    ) async throws(Failure) -> [CatalogID] {
        try await withConnection { connection in
            try await connection.query(
                SQL.Catalogs.select,
                [
                    "catalog": .optionalInt(reference?.id?.rawValue),
                    "name": .optionalText(reference?.name),
                    "storage_url": .optionalText(reference?.storageURL),
                    "failure_code": .optionalText(failureCode?.rawValue),
                ]
            ).rows.map { CatalogID(try $0.int64("id")) }
        }
    }

    private func apply(
        _ action: SelectionAction, to catalog: CatalogID
    ) async throws(Failure) -> SelectionAnswer {
        if [.cancel, .retry, .refresh].contains(action.action) {
            // What reports left to be counted may have ended assets. In a transaction of its own,
            // because it locks assets, and reports lock their jobs first.
            try await transaction { connection in
                let id: SQLValues = ["catalog": .int(catalog.rawValue)]
                _ = try await connection.query(SQL.Catalogs.lock, id)
                try await self.takeTime(connection)
                _ = try await connection.query(SQL.Catalogs.fold, id)
            }
        }
        return try await transaction { connection in
            let id: SQLValues = ["catalog": .int(catalog.rawValue)]
            _ = try await connection.query(SQL.Catalogs.lock, id)
            guard let row = try await connection.query(SQL.Catalogs.read, id).firstRow else {
                throw Self.unknown(catalog)
            }
            let state = CatalogState(rawValue: try row.string("state")) ?? .open
            try await self.takeTime(connection)
            _ = try await connection.query(SQL.Common.planInBulk)
            let isWhole = action.asset == nil && action.failureCode == nil
            if action.action == .reprioritise, isWhole {
                return try Self.answer(
                    try await connection.query(
                        SQL.Selecting.reprioritiseCatalog,
                        id + ["priority": .int(action.priority ?? 5)]))
            }
            if action.action == .refresh, isWhole {
                return try await Self.refresh(nil, of: catalog, row, connection)
            }
            if action.action == .reschedule {
                return try await Self.reschedule(catalog, action, connection)
            }
            let assets = try await connection.query(
                SQL.Selecting.assets,
                id + [
                    "name": .optionalText(action.asset),
                    "failure_code": .optionalText(action.failureCode?.rawValue),
                ]
            ).rows.map {
                (id: try $0.int64("id"), state: AssetState(rawValue: try $0.string("state")))
            }
            if let name = action.asset, action.failureCode == nil, assets.isEmpty {
                throw Failure(
                    .inputNotFound, "There is no asset \(name.prefix(100)) in catalog \(catalog)."
                )
            }
            switch action.action {
            case .cancel:
                // A switch is carried through.
                let started = assets.filter {
                    action.ofRefresh == true
                        ? $0.state == .refreshing
                        : $0.state?.isSettled == false && ![.new, .switching].contains($0.state)
                }
                return try await Self.cancel(
                    started.map(\.id), of: catalog,
                    endsIt: isWhole && action.ofRefresh != true && state == .running, connection)
            case .retry:
                guard state != .open else { return SelectionAnswer(assets: 0, jobs: 0) }
                // One that was interrupted goes on as a whole, or it would never end; one may also
                // have failed for its lists of digests alone.
                let failed = assets.filter { $0.state == .failed || $0.state == .cancelled }
                    .map(\.id)
                let isLacking =
                    try state == .interrupted
                    || ([.failed, .cancelled].contains(state) && row.int64("sums_failed") > 0)
                guard !failed.isEmpty || (isWhole && isLacking) else {
                    return SelectionAnswer(assets: 0, jobs: 0)
                }
                return try await Self.retry(failed, of: catalog, row, connection)
            case .reprioritise:
                let both = id + ["assets": .int64Array(assets.map(\.id))]
                _ = try await connection.query(SQL.Selecting.lockReprioritised, both)
                _ = try await connection.query(SQL.Selecting.lockLanes, id)
                let moved = try await connection.query(
                    SQL.Selecting.reprioritise, both + ["priority": .int(action.priority ?? 5)])
                _ = try await connection.query(SQL.Common.notifyWork)
                return try Self.answer(moved)
            case .refresh:
                let whole = assets.filter { $0.state == .completed }.map(\.id)
                return try await Self.refresh(whole, of: catalog, row, connection)
            case .reschedule: return SelectionAnswer(assets: 0, jobs: 0)
            }
        }
    }

    private static func reschedule(
        _ catalog: CatalogID, _ action: SelectionAction, _ connection: PostgresConnection
    ) async throws -> SelectionAnswer {
        let changed = try await connection.query(
            SQL.Selecting.reschedule,
            [
                "catalog": .int(catalog.rawValue), "not_before": .optionalDouble(action.notBefore),
                "deadline": .optionalDouble(action.deadline),
            ])
        guard !changed.rows.isEmpty else {
            throw Failure(
                .inputField, "deadline: it would come before catalog \(catalog) may begin.")
        }
        _ = try await connection.query(SQL.Common.notifyWork)
        return try answer(changed)
    }

    private static func answer(_ result: PostgresResult) throws -> SelectionAnswer {
        let row = try result.only()
        return SelectionAnswer(
            assets: Int(try row.int64("assets")), jobs: Int(try row.int64("jobs")))
    }

    private static func cancel(
        _ assets: [Int64], of catalog: CatalogID, endsIt: Bool, _ connection: PostgresConnection
    ) async throws -> SelectionAnswer {
        guard !assets.isEmpty || endsIt else { return SelectionAnswer(assets: 0, jobs: 0) }
        let both: SQLValues = ["catalog": .int(catalog.rawValue), "assets": .int64Array(assets)]
        _ = try await connection.query(SQL.Selecting.lockCancelled, both)
        // What is granted from here on would not be told to its worker.
        _ = try await connection.query(SQL.Selecting.lockLanes, ["catalog": .int(catalog.rawValue)])
        var jobs = 0
        // A report that was under way may have left jobs that the first statement did not see.
        while true {
            let gone = try await connection.query(SQL.Selecting.cancelJobs, both).only().int64(
                "jobs")
            jobs += Int(gone)
            if gone == 0 { break }
        }
        // What was done of them counts.
        _ = try await connection.query(SQL.Catalogs.fold, ["catalog": .int(catalog.rawValue)])
        let settled = try await connection.query(
            SQL.Selecting.cancelAssets,
            [
                "assets": .int64Array(assets), "code": .text(FailureCode.workerCancelled.rawValue),
                "message": .text("Cancelled by an operator."),
            ])
        let answer = SelectionAnswer(
            assets: Int(try settled.only().int64("assets")), jobs: jobs)
        guard endsIt else { return answer }
        // Its end waits for nothing, as it may be held: by its time, its queue, its site or its origins.
        _ = try await connection.query(SQL.Catalogs.fold, ["catalog": .int(catalog.rawValue)])
        _ = try await connection.query(
            SQL.Selecting.cancelCatalog, ["catalog": .int(catalog.rawValue)])
        return answer
    }

    /// As a start of the present generation, of `failed` and what was interrupted.
    private static func retry(
        _ failed: [Int64], of catalog: CatalogID, _ row: PostgresRow,
        _ connection: PostgresConnection
    ) async throws -> SelectionAnswer {
        let generation = try row.int64("generation")
        guard try row.int64("opened_generation") == generation else {
            throw Failure(
                .inputField,
                "catalog: \(catalog) is just being submitted again, which tries again what failed.")
        }
        let both: SQLValues = [
            "catalog": .int(catalog.rawValue), "generation": .int(generation),
        ]
        _ = try await connection.query(SQL.KeyConflicts.lock, ["catalog": .int(catalog.rawValue)])
        try checkSwitches(try await lockWork(both, connection))
        _ = try await connection.query(SQL.Catalogs.fold, ["catalog": .int(catalog.rawValue)])
        // Now that no report of a list of digests is under way.
        let lacksSums =
            try await connection.query(
                SQL.Catalogs.read, ["catalog": .int(catalog.rawValue)]
            ).only().int64("sums_failed") > 0
        _ = try await connection.query(
            SQL.Starting.endRenewals, ["catalog": .int(catalog.rawValue)])
        // One that was named anew since starts from nothing.
        _ = try await connection.query(SQL.Starting.forget, both)
        _ = try await connection.query(SQL.Starting.renew, both)
        let interrupted = try await connection.query(SQL.Starting.interruptedAssets, both).rows.map
        {
            try $0.int64("id")
        }
        _ = try await connection.query(
            SQL.Starting.lanes, both + ["queue": .int(try row.int64("queue_id"))])
        _ = try await connection.query(SQL.Starting.lockLanes, ["catalog": .int(catalog.rawValue)])
        let chosen = PostgresValue.int64Array(failed + interrupted)
        _ = try await connection.pipeline(keyConflicts(both, chosen, hasHolders: true))
        _ = try await connection.query(SQL.Starting.fileSegments, both)
        _ = try await connection.query(SQL.Starting.dropSidecars, both)
        _ = try await connection.query(SQL.Starting.sidecars, both)
        let started = try await connection.query(
            SQL.Starting.jobs, both + ["assets": chosen])
        _ = try await connection.query(SQL.Starting.isolate, ["catalog": .int(catalog.rawValue)])
        _ = try await connection.query(SQL.Starting.totals, both)
        var changed = try answer(started)
        if lacksSums {
            changed.jobs += Int(
                try await connection.query(
                    SQL.ChecksumFiles.retry, ["catalog": .int(catalog.rawValue)]
                ).only().int64("jobs"))
        }
        _ = try await connection.query(SQL.Common.notifyWork)
        return changed
    }
}
