import API
import Model
import Postgres
import Services

/// The selected assets of one catalog, whose lock this transaction holds, and the action on them.
struct Selection {
    let action: SelectionAction
    let catalog: CatalogID
    /// A row of `Catalogs.read`.
    let row: PostgresRow
    let leaseSeconds: Double

    typealias Asset = (id: Int64, state: AssetState?, isPaused: Bool)

    var id: SQLValues { ["catalog": .int(catalog.rawValue)] }
    var isWhole: Bool { action.isWhole }
    private var priority: SQLValues { ["priority": .int(action.priority ?? 5)] }

    func apply(_ connection: PostgresConnection) async throws -> SelectionAnswer {
        switch action.action {
        case .reschedule: return try await reschedule(connection)
        case .reprioritise where isWhole:
            return try Self.answer(
                try await connection.query(SQL.Selecting.reprioritiseCatalog, id + priority))
        case .reprioritise:
            return try await reprioritise(try await assets(connection).map(\.id), connection)
        case .refresh where isWhole:
            return try await RefreshStart.start(nil, of: catalog, row, connection)
        case .refresh:
            let whole = try await assets(connection).filter { $0.state == .completed }
            return try await RefreshStart.start(whole.map(\.id), of: catalog, row, connection)
        case .cancel:
            return try await cancel(try await assets(connection), connection)
        case .retry:
            return try await retry(try await assets(connection), connection)
        case .pause:
            return try await pause(try await assets(connection), connection)
        case .resume:
            return try await resume(try await assets(connection), connection)
        case .remove:
            return try await remove(try await assets(connection), connection)
        case .pin, .unpin:
            return try await pin(try await assets(connection), connection)
        case .forget:
            preconditionFailure("a catalog is forgotten in several transactions")
        }
    }

    var state: CatalogState {
        get throws { CatalogState(rawValue: try row.string("state")) ?? .open }
    }

    private func assets(_ connection: PostgresConnection) async throws -> [Asset] {
        let states = AssetStates(action.states ?? []) ?? AssetStates()
        let assets = try await connection.query(
            SQL.Selecting.assets,
            id + [
                "name": .optionalText(action.asset),
                "pattern": .optionalText(action.name.map(AssetListings.pattern)),
                "states": states.named, "is_paused": .bool(states.includesPaused),
                "failure_code": .optionalText(action.failureCode?.rawValue),
                "of_left": .bool(action.ofLeft == true),
            ]
        ).rows.map {
            (
                id: try $0.int64("id"), state: AssetState(rawValue: try $0.string("state")),
                isPaused: try $0.bool("is_paused")
            )
        }
        if assets.isEmpty { try await checkNames(connection) }
        return assets
    }

    private func reschedule(_ connection: PostgresConnection) async throws -> SelectionAnswer {
        try await checkRights(connection)
        let changed = try await connection.query(
            SQL.Selecting.reschedule,
            id + [
                "not_before": .optionalDouble(action.notBefore),
                "deadline": .optionalDouble(action.deadline),
                "refresh_seconds": .optionalDouble(action.refreshSeconds),
            ])
        guard !changed.rows.isEmpty else {
            throw Failure(
                .inputField, "deadline: it would come before catalog \(catalog) may begin.")
        }
        _ = try await connection.query(SQL.Common.notifyWork)
        return try Self.answer(changed)
    }

    /// Throws `input.rights` if the rights of an asset would expire before the catalog's new start.
    private func checkRights(_ connection: PostgresConnection) async throws {
        guard let notBefore = action.notBefore, notBefore > 0,
            let asset = try await connection.query(
                SQL.Rights.expiringBy, id + ["not_before": .double(notBefore)]
            ).firstRow
        else { return }
        let end = timestamp(ofSeconds: try asset.double("expires_at"))
        let name = Redaction.name(try asset.string("name"), ofURL: try asset.string("url"))
            .prefix(100)
        throw Failure(
            .inputRights,
            "notBefore: \(timestamp(ofSeconds: notBefore)) was given; allowed for catalog \(catalog): a time "
                + "before \(end), when the rights of asset \(name) "
                + "expire. Submit the list with a later expiresAt first.")
    }

    // MARK: Jobs that change their lanes

    private func reprioritise(
        _ assets: [Int64], _ connection: PostgresConnection
    ) async throws -> SelectionAnswer {
        let chosen: SQLValues = ["assets": .int64Array(assets)]
        try await lock(chosen, connection)
        return try await move(
            try await connection.query(SQL.Selecting.reprioritise, chosen + priority), connection)
    }

    private func pause(
        _ assets: [Asset], _ connection: PostgresConnection
    ) async throws -> SelectionAnswer {
        let chosen: SQLValues = [
            "assets": .int64Array(
                assets.filter { $0.state?.isSettled == false && $0.state?.isPurging == false }
                    .map(\.id))
        ]
        try await lock(chosen, connection)
        let paused = try await connection.query(SQL.Selecting.pause, chosen)
        _ = try await connection.query(SQL.Selecting.notePaused, id + chosen)
        return try await move(paused, connection)
    }

    private func resume(
        _ assets: [Asset], _ connection: PostgresConnection
    ) async throws -> SelectionAnswer {
        let interrupted = assets.filter { $0.state == .interrupted }.map(\.id)
        let chosen: SQLValues = [
            "assets": .int64Array(assets.filter(\.isPaused).map(\.id) + interrupted)
        ]
        try await lock(chosen, connection)
        let resumed = try await connection.query(SQL.Selecting.resume, chosen)
        _ = try await connection.query(SQL.Selecting.forgetPaused, chosen)
        var answer = try await move(resumed, connection)
        guard !interrupted.isEmpty, try state != .open else { return answer }
        let started = try await retry(interrupted, connection)
        let paused = Set(try resumed.rows.map { try $0.int64("id") }).subtracting(interrupted)
        answer.assets = paused.count + started.assets
        answer.jobs += started.jobs
        return answer
    }

    private func lock(_ chosen: SQLValues, _ connection: PostgresConnection) async throws {
        try await Self.lock(chosen, after: SQL.Selecting.lockDelayed, of: id, connection)
        _ = try await connection.query(SQL.Selecting.lockLanes, id)
    }

    /// Moves what waits of the assets `changed` to the lanes where they belong now.
    private func move(
        _ changed: PostgresResult, _ connection: PostgresConnection
    ) async throws -> SelectionAnswer {
        var answer = SelectionAnswer(assets: changed.rowCount, jobs: 0)
        for moved in try await connection.pipeline(Self.moves(changed, id)) {
            answer.jobs += Int(try moved.only().int64("jobs"))
        }
        _ = try await connection.query(SQL.Common.notifyWork)
        return answer
    }

    /// Returns statements that move what waits of the assets `changed`, rows with their priority
    /// now. They need the locks of the catalog's lanes.
    static func moves(
        _ changed: PostgresResult, _ catalog: SQLValues
    ) throws -> [PostgresStatement] {
        var assets: [Int64: [Int64]] = [:]
        for row in changed.rows {
            assets[try row.int64("own_priority"), default: []].append(try row.int64("id"))
        }
        return assets.sorted { $0.key < $1.key }.map { priority, assets in
            PostgresStatement(
                SQL.Selecting.moveJobs,
                catalog + ["assets": .int64Array(assets), "priority": .int(priority)])
        }
    }

    private static func answer(_ result: PostgresResult) throws -> SelectionAnswer {
        let row = try result.only()
        return SelectionAnswer(
            assets: Int(try row.int64("assets")), jobs: Int(try row.int64("jobs")))
    }

    /// Excepts assets from eviction, or not.
    private func pin(
        _ assets: [Asset], _ connection: PostgresConnection
    ) async throws -> SelectionAnswer {
        try Self.answer(
            try await connection.query(
                SQL.Selecting.pin,
                [
                    "assets": .int64Array(assets.map(\.id)),
                    "is_pinned": .bool(action.action == .pin),
                ]))
    }

    // MARK: Removal

    /// Cancels what has not ended, and lets workers delete what no other asset of the site needs.
    private func remove(
        _ assets: [Asset], _ connection: PostgresConnection
    ) async throws -> SelectionAnswer {
        if action.ofLeft == true {
            try CatalogLocks.checkNotOpen(catalog, row, "decides which assets are left")
            try checkGeneration()
        }
        guard !assets.contains(where: { $0.state == .publishing }) else {
            throw Failure(
                .clusterBusy,
                "catalog \(catalog): the new files of an asset are being published by a worker. Remove "
                    + "it when that has ended.")
        }
        let active = assets.filter { $0.state?.isUnderWay == true }.map(\.id)
        return try await purge(assets.map(\.id), active, by: .remove, connection)
    }

    /// Throws `input.field` if another submission than the action's was started last.
    private func checkGeneration() throws {
        let last = try row.int64("generation")
        guard let generation = action.generation, Int64(generation) != last else { return }
        throw Failure(
            .inputField,
            "generation: \(generation) of catalog \(catalog); allowed: \(last), because another list was "
                + "submitted under this name since. Nothing was removed; submit the list again, or use "
                + "another name.")
    }

    /// Cancels the `active` of the assets, and lets workers delete their files.
    @discardableResult
    func purge(
        _ assets: [Int64], _ active: [Int64], by event: AssetEvent,
        _ connection: PostgresConnection
    ) async throws -> SelectionAnswer {
        guard let state = AssetState.machine.target(of: event), state.isPurging else {
            preconditionFailure("\(event) deletes no files")
        }
        var answer = try await cancel(active, endsIt: false, connection)
        _ = try await connection.query(SQL.Catalogs.fold, id)
        _ = try await connection.query(SQL.Refreshing.dropDeadline, id)
        let storing = id + ["grace_seconds": .double(leaseSeconds + Self.graceSeconds)]
        let stopped = try await connection.query(SQL.Removing.stopStoring, storing).only()
        let removed = try await connection.query(
            SQL.Removing.remove,
            storing + [
                "assets": .int64Array(assets), "state": .text(state.rawValue),
                "is_storing": .bool(try stopped.int64("jobs") > 0),
            ]
        ).only()
        answer.assets = Int(try removed.int64("assets"))
        answer.files = Int(try removed.int64("files"))
        answer.catalog = catalog
        _ = try await connection.query(SQL.Purging.ensureJobs, id)
        try await Purges.finish(catalog.rawValue, assets, connection)
        _ = try await connection.query(SQL.Common.notifyWork)
        return answer
    }

    /// Maximum number of segments that expire in one transaction, unless one asset has more.
    private static let expiringSegments = 20_000

    /// Ends some assets whose rights have expired, and lets workers delete their files.
    func expire(_ connection: PostgresConnection) async throws -> SelectionAnswer {
        let due = try await connection.query(
            SQL.Rights.expiring, id + ["segments": .int(Int64(Self.expiringSegments))]
        ).rows.map {
            (id: try $0.int64("id"), state: AssetState(rawValue: try $0.string("state")))
        }
        guard !due.isEmpty else { return SelectionAnswer(assets: 0, jobs: 0) }
        let active = due.filter { $0.state?.isUnderWay == true }.map(\.id)
        return try await purge(due.map(\.id), active, by: .expire, connection)
    }

    /// Moves the jobs of assets that may begin by now to the lanes where they belong.
    func begin(_ connection: PostgresConnection) async throws -> SelectionAnswer {
        let due = try await connection.query(SQL.Rights.beginning, id).rows.map {
            try $0.int64("id")
        }
        let chosen: SQLValues = ["assets": .int64Array(due)]
        try await lock(chosen, connection)
        return try await move(
            try await connection.query(SQL.Rights.begin, id + chosen), connection)
    }

    /// Seconds beyond a lease for which a worker may still be storing a file of a cancelled job.
    static let graceSeconds = 5.0

    private func retry(
        _ assets: [Asset], _ connection: PostgresConnection
    ) async throws -> SelectionAnswer {
        let state = try state
        guard state != .open else { return SelectionAnswer(assets: 0, jobs: 0) }
        let failed = assets.filter { $0.state == .failed || $0.state == .cancelled }.map(\.id)
        // An interrupted catalog resumes as a whole, or it would never end; one may also have
        // failed only because of its checksum files.
        let isLacking =
            try state == .interrupted
            || ([.failed, .cancelled].contains(state) && row.int64("checksums_failed") > 0)
        guard !failed.isEmpty || (isWhole && isLacking) else {
            return SelectionAnswer(assets: 0, jobs: 0)
        }
        return try await retry(failed, connection)
    }

    /// Starts the `failed` and the interrupted assets, in the present generation; within a
    /// `startTransaction`.
    func retry(
        _ failed: [Int64], _ connection: PostgresConnection
    ) async throws -> SelectionAnswer {
        let generation = try row.int64("generation")
        try CatalogLocks.checkNotOpen(catalog, row, "tries again what failed")
        let both = id + ["generation": .int(generation)]
        _ = try await connection.pipeline(StartLocks.statements(catalog))
        try CatalogLocks.checkPublications(try await CatalogLocks.lockWork(both, connection))
        _ = try await connection.query(SQL.Catalogs.fold, id)
        // No report of a checksum file runs any more.
        let lacksChecksums =
            try await connection.query(SQL.Catalogs.read, id).only().int64("checksums_failed") > 0
        _ = try await connection.query(SQL.Daily.foldStarted, id)
        _ = try await connection.query(SQL.Starting.endRenewals, id)
        // An asset that was redefined since keeps no segments.
        _ = try await connection.query(SQL.Selecting.lockLanes, id)
        _ = try await connection.query(SQL.Starting.forget, both)
        _ = try await connection.query(SQL.Starting.renew, both)
        let found = try await connection.query(SQL.Starting.interruptedAssets, both)
        let interrupted = try found.rows.map { try $0.int64("id") }
        _ = try await connection.query(
            SQL.Starting.lanes,
            both + ["queue": .int(try row.int64("queue_id")), "plain": .bool(false)])
        _ = try await connection.query(SQL.Starting.lockLanes, id)
        let chosen = PostgresValue.int64Array(failed + interrupted)
        _ = try await connection.pipeline(
            KeyConflicts.statements(both, chosen, hasHolders: true))
        let refused = try await CatalogStart.refuse(both, chosen, connection)
        _ = try await connection.query(SQL.Starting.fileSegments, both)
        _ = try await connection.query(SQL.Starting.dropSidecars, both)
        _ = try await connection.query(SQL.Starting.sidecars, both)
        let started = try await connection.query(
            SQL.Starting.jobs, both + ["assets": chosen])
        _ = try await connection.query(SQL.Starting.isolate, id)
        try PurgeGuard.check(
            try await connection.pipeline([PurgeGuard.awaited(catalog: catalog.rawValue)]).last)
        _ = try await connection.query(SQL.Starting.totals, both)
        var changed = try Self.answer(started)
        changed.refused = refused
        if lacksChecksums {
            changed.jobs += Int(
                try await connection.query(SQL.ChecksumFiles.retry, id).only().int64("jobs"))
        }
        _ = try await connection.query(SQL.Common.notifyWork)
        return changed
    }
}

extension AssetState {
    /// True for one that workers have jobs of, except while its files are published.
    fileprivate var isUnderWay: Bool {
        !isSettled && !isPurging && ![.new, .publishing].contains(self)
    }
}
