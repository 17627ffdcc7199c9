import API
import Model
import Postgres
import Synchronization

/// Results of one worker, some of which say that a fetch of a whole object is done.
struct DoneReport: Sendable {
    /// All go together.
    enum Place { case all }

    var worker: WorkerID
    var results: [JobReport]
    /// Where those are in `results`, no job twice.
    var done: [Int]
}

/// The short way of reports, one call of a function: fetches of whole objects that are done. Reports that arrive at the
/// same time go to PostgreSQL together.
final class DoneReports: Sendable {
    private let database: QueueDatabase
    let groups = GroupedCalls<DoneReport.Place, DoneReport, Result<[Bool], Failure>>(
        width: 3, maxWeight: 2_000)
    /// How many more reports are taken to be of segments that have results already.
    private let replacingCalls = Atomic<Int>(0)

    /// Segments of catalogs that are submitted again have results, and come in runs.
    private static let replacingRun = 100

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
            try await self.settleDone(values, connection)
        }
        return batch.accepted(places: places, of: reports)
    }

    /// Nearly all segments have no result yet, and a plain insert costs a sixth less than one that
    /// asks. Where one is refused nothing was written; segments that are done again come in runs.
    private func settleDone(
        _ values: SQLValues, _ connection: PostgresConnection
    ) async throws -> [Int64]? {
        if replacingCalls.load(ordering: .relaxed) <= 0 {
            do throws(PostgresError) {
                return try await connection.query(SQL.Reporting.settleDone, values).only()
                    .optionalInt64Array("places")
            } catch {
                guard error.sqlState == "23505" else { throw error }
                replacingCalls.store(Self.replacingRun, ordering: .relaxed)
            }
        }
        replacingCalls.subtract(1, ordering: .relaxed)
        return try await connection.query(SQL.Reporting.settleDoneAgain, values).only()
            .optionalInt64Array("places")
    }
}
