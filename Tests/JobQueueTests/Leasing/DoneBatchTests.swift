import API
import Model
import Postgres
import Testing

@testable import JobQueue

/// Done fetches of several reports go to one function, which names the accepted ones by number.
@Suite struct DoneBatchTests {
    private static func done(_ job: Int64, _ lease: LeaseID, bytes: Int64) -> JobReport {
        let stored = StoredObject(bytes: bytes, sha256: String(repeating: "a", count: 64))
        return JobReport(
            job: JobID(job), lease: lease, outcome: .done(JobReport.Done(stored: stored)))
    }

    /// Returns a column of the batch's values, by the parameters of `settleDone`.
    private static func column(_ name: String, of batch: DoneBatch) throws -> [Int64] {
        let statement = SQL.Reporting.settleDone.statement
        let index = try #require(statement.parameters.firstIndex(of: name))
        guard case .int64Array(let numbers) = batch.values.bound(to: statement)[index] else {
            return []
        }
        return numbers
    }

    @Test func resultsOfSeveralReportsAreOrderedByJobAndAnsweredByReport() throws {
        let (left, right) = (LeaseID.random(), LeaseID.random())
        let failed = JobReport(
            job: JobID(2), lease: left,
            outcome: .failed(JobReport.Failed(Failure(.workerInternal, "failed"))))
        let first = DoneBatch(
            ReportRequest(
                worker: .random(),
                results: [
                    Self.done(9, left, bytes: 90), failed, Self.done(4, left, bytes: 40),
                    Self.done(9, left, bytes: 91),
                ]))
        let second = DoneBatch(
            ReportRequest(
                worker: .random(),
                results: [Self.done(1, right, bytes: 10), Self.done(4, right, bytes: 41)]))
        #expect(first.count == 2 && second.count == 2)

        let batch = DoneBatch([first, second])
        #expect(try Self.column("jobs", of: batch) == [1, 4, 4, 9])
        #expect(try Self.column("bytes", of: batch) == [10, 40, 41, 90])
        #expect(try Self.column("lease_numbers", of: batch) == [2, 1, 2, 1])
        #expect(batch.accepted(numbers: [1, 4]) == [[0], [0]])
        let all = batch.accepted(numbers: nil)
        #expect(all.map { $0.sorted() } == [[0, 2], [0, 1]])
    }
}
