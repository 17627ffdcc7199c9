import Model
import Postgres

/// The failures of a report that assets met on the way to their ends, and what is done about each.
extension ReportPlan {
    struct MetFailures {
        /// The remedy; the database keeps the greatest of an asset and a code.
        enum Remedy: Int64 {
            case nothing = 0
            case retry = 1
            case mirror = 2
            case freshURL = 3
        }

        private var lanes: [Int64] = []
        private var assets: [Int64] = []
        private var segments: [Int64?] = []
        private var codes: [String] = []
        private var remedies: [Int64] = []

        var isEmpty: Bool { lanes.isEmpty }

        /// Adds a failure of a job that its asset needs in order to complete; ignores other jobs.
        mutating func add(_ job: HeldJob, _ code: FailureCode, _ remedy: Remedy) {
            guard [.fetch, .resolve, .verify].contains(job.kind) else { return }
            lanes.append(job.lane)
            assets.append(job.asset)
            segments.append(job.parent ?? job.segment)
            codes.append(code.rawValue)
            remedies.append(remedy.rawValue)
        }

        /// Parallel columns of `Daily.noteFailures`.
        var values: SQLValues {
            [
                "lanes": .int64Array(lanes), "assets": .int64Array(assets),
                "segments": .optionalIntArray(segments), "codes": .textArray(codes),
                "remedies": .int64Array(remedies),
            ]
        }
    }
}
