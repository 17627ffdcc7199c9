import HTTPServer
import Model

/// What load balancers and orchestrators ask. Open to everyone, and says no more than yes or no.
struct HealthRoutes: Sendable {
    let readiness: ReadinessProbe

    func live(_ request: HTTPRequest) async throws -> HTTPResponse { .text(200, "ok\n") }

    /// Whether the database answers.
    func ready(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard await readiness.isReady() else {
            throw Failure("cluster.databaseUnreachable", "PostgreSQL does not answer.")
        }
        return .text(200, "ready\n")
    }
}
