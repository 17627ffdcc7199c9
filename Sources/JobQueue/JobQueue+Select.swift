package import Model
import Postgres
import Runtime

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
            throw Failure("input.notFound", try await absence(of: name, reference))
        }
        guard found.count == 1 else {
            throw Failure(
                "input.ambiguous",
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
                SQL.catalogsSelected,
                [
                    .optionalInt(reference?.id?.rawValue), .optionalText(reference?.name),
                    .optionalText(reference?.storageURL),
                    .optionalText(failureCode?.rawValue),
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
                let id: [PostgresValue] = [.int(catalog.rawValue)]
                _ = try await connection.query(SQL.catalogLock, id)
                try await self.takeTime(connection)
                _ = try await connection.query(SQL.catalogFold, id)
            }
        }
        return try await transaction { connection in
            let id = PostgresValue.int(catalog.rawValue)
            _ = try await connection.query(SQL.catalogLock, [id])
            guard let row = try await connection.query(SQL.catalogRead, [id]).firstRow else {
                throw Self.unknown(catalog)
            }
            let state = CatalogState(rawValue: try row.string("state")) ?? .open
            try await self.takeTime(connection)
            _ = try await connection.query(SQL.planInBulk, [])
            let isWhole = action.asset == nil && action.failureCode == nil
            if action.action == .reprioritise, isWhole {
                return try Self.answer(
                    try await connection.query(
                        SQL.reprioritiseCatalog, [id, .int(action.priority ?? 5)]))
            }
            if action.action == .refresh, isWhole {
                return try await Self.refresh(nil, of: catalog, row, connection)
            }
            if action.action == .reschedule {
                return try await Self.reschedule(catalog, action, connection)
            }
            let assets = try await connection.query(
                SQL.assetsSelected,
                [id, .optionalText(action.asset), .optionalText(action.failureCode?.rawValue)]
            ).rows.map {
                (id: try $0.int64("id"), state: AssetState(rawValue: try $0.string("state")))
            }
            if let name = action.asset, action.failureCode == nil, assets.isEmpty {
                throw Failure(
                    "input.notFound", "There is no asset \(name.prefix(100)) in catalog \(catalog)."
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
                let both = [id, PostgresValue.int64Array(assets.map(\.id))]
                _ = try await connection.query(SQL.reprioritiseLock, both)
                _ = try await connection.query(SQL.lanesLock, [id])
                let moved = try await connection.query(
                    SQL.reprioritiseAssets, both + [.int(action.priority ?? 5)])
                _ = try await connection.query(SQL.notifyWork, [])
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
            SQL.rescheduleCatalog,
            [
                .int(catalog.rawValue), .optionalDouble(action.notBefore),
                .optionalDouble(action.deadline),
            ])
        guard !changed.rows.isEmpty else {
            throw Failure(
                "input.field", "deadline: it would come before catalog \(catalog) may begin.")
        }
        _ = try await connection.query(SQL.notifyWork, [])
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
        let both: [PostgresValue] = [.int(catalog.rawValue), .int64Array(assets)]
        _ = try await connection.query(SQL.cancelLock, both)
        // What is granted from here on would not be told to its worker.
        _ = try await connection.query(SQL.lanesLock, [.int(catalog.rawValue)])
        var jobs = 0
        // A report that was under way may have left jobs that the first statement did not see.
        while true {
            let gone = try await connection.query(SQL.cancelJobs, both).only().int64("jobs")
            jobs += Int(gone)
            if gone == 0 { break }
        }
        // What was done of them counts.
        _ = try await connection.query(SQL.catalogFold, [.int(catalog.rawValue)])
        let settled = try await connection.query(
            SQL.cancelAssets,
            [.int64Array(assets), .text("worker.cancelled"), .text("Cancelled by an operator.")])
        let answer = SelectionAnswer(
            assets: Int(try settled.only().int64("assets")), jobs: jobs)
        guard endsIt else { return answer }
        // Its end waits for nothing, as it may be held: by its time, its queue, its site or its origins.
        _ = try await connection.query(SQL.catalogFold, [.int(catalog.rawValue)])
        _ = try await connection.query(SQL.cancelCatalog, [.int(catalog.rawValue)])
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
                "input.field",
                "catalog: \(catalog) is just being submitted again, which tries again what failed.")
        }
        let both: [PostgresValue] = [.int(catalog.rawValue), .int(generation)]
        _ = try await connection.query(SQL.startLockKeys, [.int(catalog.rawValue)])
        try checkSwitches(try await lockWork(both, connection))
        _ = try await connection.query(SQL.catalogFold, [.int(catalog.rawValue)])
        // Now that no report of a list of digests is under way.
        let lacksSums =
            try await connection.query(
                SQL.catalogRead, [.int(catalog.rawValue)]
            ).only().int64("sums_failed") > 0
        _ = try await connection.query(SQL.startEndRenewals, [.int(catalog.rawValue)])
        // One that was named anew since starts from nothing.
        _ = try await connection.query(SQL.startForget, both)
        _ = try await connection.query(SQL.startRenew, both)
        let interrupted = try await connection.query(SQL.assetsInterrupted, both).rows.map {
            try $0.int64("id")
        }
        _ = try await connection.query(SQL.startLanes, both + [.int(try row.int64("queue_id"))])
        _ = try await connection.query(SQL.startLockLanes, [.int(catalog.rawValue)])
        let chosen = PostgresValue.int64Array(failed + interrupted)
        for (statement, values) in keyConflicts(both + [chosen], hasHolders: true) {
            _ = try await connection.query(statement, values)
        }
        _ = try await connection.query(SQL.startFileSegments, both)
        _ = try await connection.query(SQL.startDropSidecars, both)
        _ = try await connection.query(SQL.startSidecars, both)
        let started = try await connection.query(
            SQL.startJobs, both + [chosen])
        _ = try await connection.query(SQL.startIsolate, [.int(catalog.rawValue)])
        _ = try await connection.query(SQL.startTotals, both)
        var changed = try answer(started)
        if lacksSums {
            changed.jobs += Int(
                try await connection.query(
                    SQL.retrySums, [.int(catalog.rawValue)]
                ).only().int64("jobs"))
        }
        _ = try await connection.query(SQL.notifyWork, [])
        return changed
    }
}
