import API
import HTTPServer
import JobQueue
import Model
import Services

/// The route of `dray doctor`: a coordinator's own facts, and those of its database.
struct DiagnosisRoutes: Sendable {
    let queue: JobQueue
    /// Maximum number of database connections.
    let databaseConnections: Int

    /// Answers without a database too: then its failure is in the answer.
    func diagnosis(_ request: HTTPRequest) async throws -> HTTPResponse {
        var answer = CoordinatorDiagnosis(
            version: drayVersion, now: SystemWallClock().nowSeconds,
            leaseSeconds: queue.settings.leaseSeconds, databaseConnections: databaseConnections)
        let limit = OpenFiles.limits.soft
        answer.openFiles = Int(min(limit, UInt64(Int32.max)))
        do throws(Failure) {
            answer.database = try await queue.diagnoses.read()
        } catch {
            answer.databaseFailure = error
        }
        return try .wire(answer)
    }
}
