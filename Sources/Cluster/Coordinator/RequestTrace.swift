import HTTPServer
import Model
import Services

/// The trace of one request: a step of its caller's, or of a new one.
enum RequestTrace {
    /// Header of failures, for reports of them.
    static let header = "Trace-Id"

    /// Returns a step of the trace in the header `traceparent`. Without one, and for one that is
    /// malformed or not the only one, it begins a new trace (W3C Trace Context, 3.2).
    static func context(of request: HTTPRequest) -> TraceContext {
        var given: String?
        for (name, value) in request.headers
        where name.utf8.count == 11 && name.lowercased() == "traceparent" {
            guard given == nil else { return .random() }
            given = value
        }
        return given.flatMap { TraceContext($0) }?.child ?? .random()
    }

    /// Adds the trace to a failure.
    static func mark(_ response: HTTPResponse, _ trace: TraceContext) -> HTTPResponse {
        guard response.status >= 400 else { return response }
        var response = response
        response.headers.append((header, trace.traceID))
        return response
    }

    /// Handles a request within its trace, whose numbers the lines that are logged meanwhile have.
    static func run(
        _ request: HTTPRequest, _ handle: () async -> HTTPResponse
    ) async -> HTTPResponse {
        let trace = context(of: request)
        return await TraceContext.$current.withValue(trace) { mark(await handle(), trace) }
    }
}
