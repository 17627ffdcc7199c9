import Model

/// Workers that have died with a job: their leases ran out, and they were not heard of since.
struct WorkerDeaths {
    var count: Int
    /// The latest of them with their times, as one reads it.
    var workers: String

    /// A job that so many have died with is held for an operator.
    static let most = 2

    var failure: Failure {
        Failure(
            "worker.poison",
            "\(count) workers died with it: \(workers). It is tried again, alone, when an operator asks for it."
        )
    }
}
