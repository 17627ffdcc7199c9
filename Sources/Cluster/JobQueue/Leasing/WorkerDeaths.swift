import Model
import Postgres
import Services

/// Workers that died while they held a job: their leases expired, and they sent nothing since.
struct WorkerDeaths {
    var count: Int
    /// The latest of them, with times in seconds since 1970.
    var latest: [(worker: String, seconds: Int64)]

    /// Number of deaths after which a job is held for an operator.
    static let maxDeaths = 2

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

    /// Records the jobs of ended leases whose workers died. Returns the deaths of each such job,
    /// earlier ones included.
    static func record(
        _ leases: PostgresRows, _ jobs: PostgresRows, _ connection: PostgresConnection
    ) async throws -> [JobID: WorkerDeaths] {
        var dead: [LeaseID: (worker: WorkerID, name: String?)] = [:]
        for row in leases where try row.bool("is_dead") {
            dead[try row.uuid("id")] = (
                try row.uuid("worker_id"), try row.optionalString("worker_name")
            )
        }
        guard !dead.isEmpty else { return [:] }
        var lanes: [Int64] = []
        var numbers: [Int64] = []
        var workers: [WorkerID] = []
        var names: [String?] = []
        for row in jobs {
            guard let (worker, name) = dead[try row.uuid("lease_id")] else { continue }
            lanes.append(try row.int64("lane_id"))
            numbers.append(try row.int64("id"))
            workers.append(worker)
            names.append(name)
        }
        guard !numbers.isEmpty else { return [:] }
        var deaths: [JobID: WorkerDeaths] = [:]
        let rows = try await connection.query(
            SQL.Leasing.recordLosses,
            [
                "lanes": .int64Array(lanes), "jobs": .int64Array(numbers),
                "workers": .uuidArray(workers), "names": .optionalTextArray(names),
            ]
        ).rows
        for row in rows {
            deaths[JobID(try row.int64("id"))] = WorkerDeaths(
                count: Int(try row.int64("deaths")),
                latest: zip(
                    try row.textArray("workers").compactMap(\.self),
                    try row.int64Array("lost_seconds")
                ).map { (worker: $0, seconds: $1) })
        }
        return deaths
    }
}
