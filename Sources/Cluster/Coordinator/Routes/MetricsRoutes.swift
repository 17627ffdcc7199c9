import HTTPServer
import Metrics

/// The route for Prometheus.
struct MetricsRoutes: Sendable {
    let registry: MetricRegistry
    let cache: FigureCache

    func metrics(_ request: HTTPRequest) async throws -> HTTPResponse {
        await cache.prepare()
        let format = MetricsFormat(accept: request.header("accept"))
        return HTTPResponse(
            status: 200, headers: [("Content-Type", format.contentType), ("Vary", "Accept")],
            body: registry.text(format))
    }
}
