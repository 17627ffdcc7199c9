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
        return switch batch.values.bound(to: statement)[index] {
        case .int64Array(let numbers), .binaryInt64Array(let numbers): numbers
        default: []
        }
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
        #expect(try Self.column("first_jobs", of: batch) == [4, 1])
        #expect(try Self.column("last_jobs", of: batch) == [9, 4])
        #expect(batch.accepted(numbers: [1, 4]) == [[0], [0]])
        let all = batch.accepted(numbers: nil)
        #expect(all.map { $0.sorted() } == [[0, 2], [0, 1]])
    }

    @Test func columnsOfDefaultValuesAreEmpty() throws {
        let lease = LeaseID.random()
        var reused = Self.done(2, lease, bytes: 20)
        if case .done(var done) = reused.outcome {
            done.isReused = true
            reused.outcome = .done(done)
        }
        let statement = SQL.Reporting.settleDone.statement
        for (results, adopted) in [
            ([Self.done(1, lease, bytes: 10)], [String]()),
            ([Self.done(1, lease, bytes: 10), reused], ["f", "t"]),
        ] {
            let batch = DoneBatch(ReportRequest(worker: .random(), results: results))
            let values = Dictionary(
                uniqueKeysWithValues: zip(
                    statement.parameters, batch.values.bound(to: statement)))
            #expect(values["adopted"] == .textArray(adopted))
            #expect(values["validators"] == .binaryTextArray([]))
            for name in ["verified", "refresh_seconds"] {
                #expect(values[name] == .textArray([]))
            }
        }
    }
}
