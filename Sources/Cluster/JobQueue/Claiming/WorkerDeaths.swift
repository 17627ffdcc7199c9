import Model
import Services

/// Workers that have died with a job: their leases ran out, and they were not heard of since.
struct WorkerDeaths {
    var count: Int
    /// The latest of them, and when that was, in seconds since 1970.
    var latest: [(worker: String, seconds: Int64)]

    /// A job that so many have died with is held for an operator.
    static let most = 2

    /// `edge-1 at 2026-11-25 10:00:00Z, edge-2 at …`
    private var workers: String {
        latest.map { death in
            let time = timestamp(ofSeconds: Double(death.seconds)).prefix(19)
            return "\(death.worker) at \(time.replacing("T", with: " "))Z"
        }.joined(separator: ", ")
    }

    var failure: Failure {
        Failure(
            .workerPoison,
            "\(count) workers died with it: \(workers). It is tried again, alone, when an operator asks for it."
        )
    }
}
