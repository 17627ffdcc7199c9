import API
import Model
import Postgres

extension Selection {
    /// Cancels those of the assets that are under way or interrupted.
    func cancel(
        _ assets: [Asset], _ connection: PostgresConnection
    ) async throws -> SelectionAnswer {
        let cancellable = assets.filter {
            $0.state.map(AssetState.machine.sources(of: .cancel).contains) == true
                && (action.ofRefresh != true || $0.state == .refreshing)
        }
        return try await cancel(
            cancellable.map(\.id), endsIt: try endsCatalog(cancellable), connection)
    }

    /// Returns true if the catalog ends with the cancellation of these assets, unless others are
    /// left: an interrupted one has no report that would end it.
    private func endsCatalog(_ cancelled: [Asset]) throws -> Bool {
        guard action.ofRefresh != true else { return false }
        return switch try state {
        case .running: isWhole
        case .interrupted: isWhole || !cancelled.isEmpty
        case .open, .completed, .failed, .cancelled, .removed: false
        }
    }

    func cancel(
        _ assets: [Int64], endsIt: Bool, _ connection: PostgresConnection
    ) async throws -> SelectionAnswer {
        guard !assets.isEmpty || endsIt else { return SelectionAnswer(assets: 0, jobs: 0) }
        let chosen: SQLValues = ["assets": .int64Array(assets)]
        try await Self.lock(chosen, after: SQL.Selecting.lockJobs, of: id, connection)
        // Later grants would not be reported to their workers.
        _ = try await connection.query(SQL.Selecting.lockLanes, id)
        var jobs = 0
        // A concurrent report may have left jobs that the first statement did not see.
        while true {
            let gone = try await connection.query(SQL.Selecting.cancelJobs, id + chosen).only()
                .int64("jobs")
            jobs += Int(gone)
            if gone == 0 { break }
        }
        // Finished jobs count.
        _ = try await connection.query(SQL.Catalogs.fold, id)
        let settled = try await connection.query(
            SQL.Selecting.cancelAssets,
            [
                "assets": .int64Array(assets), "code": .text(FailureCode.workerCancelled.rawValue),
                "message": .text("Cancelled by an operator."),
            ])
        let answer = SelectionAnswer(
            assets: Int(try settled.only().int64("assets")), jobs: jobs)
        guard endsIt else { return answer }
        // Its end waits for nothing: its time, queue, site or origins may hold it back.
        _ = try await connection.query(SQL.Catalogs.fold, id)
        _ = try await connection.query(SQL.Selecting.cancelCatalog, id)
        return answer
    }
}
