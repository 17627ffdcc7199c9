import API
import Model
import Postgres

/// Adds a report to the figures of the day.
extension ReportPlan {
    /// Counts by lane and failure code, of which a report has few.
    struct Outcomes {
        struct Counts: Equatable {
            var done: Int64 = 0
            var failed: Int64 = 0
            var retries: Int64 = 0
            var bytes: Int64 = 0
            var reusedBytes: Int64 = 0
            var milliseconds: Int64 = 0
            var mirrored: Int64 = 0
        }

        private struct Key: Hashable {
            var lane: Int64
            /// Empty for what is done.
            var code: String
        }

        private var counts: [Key: Counts] = [:]

        mutating func done(_ job: HeldJob, _ report: JobReport.Done) {
            let bytes = report.stored?.bytes ?? 0
            change(job.lane) {
                $0.done += 1
                $0.bytes += bytes
                if report.isReused { $0.reusedBytes += bytes }
                $0.milliseconds += Int64(report.milliseconds ?? 0)
            }
        }

        mutating func failed(_ lane: Int64, _ code: FailureCode) {
            change(lane, code.rawValue) { $0.failed += 1 }
        }

        mutating func retried(_ lane: Int64, _ code: String?) {
            change(lane, code ?? "") { $0.retries += 1 }
        }

        /// A mirror served a file after a failure of another origin, in the same attempt.
        mutating func mirrored(_ lane: Int64, _ code: FailureCode) {
            change(lane, code.rawValue) { $0.mirrored += 1 }
        }

        private mutating func change(
            _ lane: Int64, _ code: String = "", _ body: (inout Counts) -> Void
        ) {
            body(&counts[Key(lane: lane, code: code), default: Counts()])
        }

        var isEmpty: Bool { counts.isEmpty }

        /// Parallel columns, in the order of lanes and codes.
        var values: SQLValues {
            let rows = counts.sorted {
                ($0.key.lane, $0.key.code) < ($1.key.lane, $1.key.code)
            }
            func column(_ value: (Counts) -> Int64) -> [Int64] { rows.map { value($0.value) } }
            return [
                "lanes": .int64Array(rows.map(\.key.lane)),
                "codes": .textArray(rows.map(\.key.code)),
                "done": .int64Array(column(\.done)), "failed": .int64Array(column(\.failed)),
                "retries": .int64Array(column(\.retries)), "bytes": .int64Array(column(\.bytes)),
                "reused_bytes": .int64Array(column(\.reusedBytes)),
                "transfer_ms": .int64Array(column(\.milliseconds)),
                "mirrored": .int64Array(column(\.mirrored)),
            ]
        }
    }

    /// Ended jobs, and the retries that count.
    var outcomes: Outcomes {
        var outcomes = ended
        for index in retried.jobs.indices where retried.counts[index] {
            outcomes.retried(
                retried.lanes[index],
                retried.reasons[index] ?? retried.codes[index] ?? retried.refusedCodes[index])
        }
        return outcomes
    }
}
