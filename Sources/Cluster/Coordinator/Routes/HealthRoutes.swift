import HTTPServer
import Model

/// Routes for load balancers and orchestrators. Open to everyone, so they answer only yes or no.
struct HealthRoutes: Sendable {
    let readiness: ReadinessProbe

    func live(_ request: HTTPRequest) async throws -> HTTPResponse { .text(200, "ok\n") }

    /// Returns 200 if the database answers.
    func ready(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard await readiness.isReady() else {
            throw Failure(.clusterDatabaseUnreachable, "PostgreSQL does not answer.")
        }
        return .text(200, "ready\n")
    }
}
