import API
import Model
import Postgres

/// Results of one worker, some of which say that a fetch of a whole object is done.
struct DoneReport: Sendable {
    /// All go together.
    enum Place { case all }

    var worker: WorkerID
    var results: [JobReport]
    /// The indexes of those in `results`, no job twice.
    var done: [Int]
}

/// The short way of reports, one call of a function: fetches of whole objects that are done. Reports that arrive at the
/// same time go to PostgreSQL together.
final class DoneReports: Sendable {
    private let database: QueueDatabase
    let groups = GroupedCalls<DoneReport.Place, DoneReport, Result<[Bool], Failure>>(
        width: 3, maxWeight: 2_000)

    init(database: QueueDatabase) { self.database = database }

    /// Answers for each result that is done whether it was accepted; of the others nothing is known yet.
    func settle(_ report: DoneReport) async throws(Failure) -> [Bool] {
        try await groups.answer(
            to: report, of: .all, weight: max(report.done.count, minGroupedWeight)
        ) { reports in
            await retryIndividually(reports) { (reports) async throws(Failure) in
                try await self.settle(reports)
            }
        }.get()
    }

    /// Settles reports together; for each the results that were accepted.
    private func settle(_ reports: [DoneReport]) async throws(Failure) -> [[Bool]] {
        var batch = DoneBatch()
        for report in reports { batch.add(report) }
        batch.sort()
        let values = batch.values
        let places = try await database.withConnection { connection in
            try await connection.query(SQL.Reporting.settleDone, values).only()
                .optionalInt64Array("places")
        }
        return batch.accepted(places: places, of: reports)
    }
}
