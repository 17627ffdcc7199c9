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

    /// Maximum wait for the database.
    private static let databaseSeconds = 3.0

    /// Answers without a database too, also if it hangs: then its failure is in the answer.
    func diagnosis(_ request: HTTPRequest) async throws -> HTTPResponse {
        var answer = CoordinatorDiagnosis(
            version: drayVersion, now: SystemWallClock().nowSeconds,
            leaseSeconds: queue.settings.leaseSeconds, databaseConnections: databaseConnections)
        let limit = OpenFiles.limits.soft
        answer.openFiles = Int(min(limit, UInt64(Int32.max)))
        let found = await result(atMost: .seconds(Self.databaseSeconds)) {
            [queue] () -> Result<DatabaseDiagnosis, Failure> in
            do throws(Failure) {
                return .success(try await queue.figures.diagnoses.read())
            } catch {
                return .failure(error)
            }
        }
        switch found {
        case .success(let database): answer.database = database
        case .failure(let failure): answer.databaseFailure = failure
        case nil:
            answer.databaseFailure = Failure(
                .clusterDatabaseUnreachable,
                "PostgreSQL does not answer within \(Int(Self.databaseSeconds)) seconds.")
        }
        return try .wire(answer)
    }
}
