package import Model

/// The trace of this command: a step of the one in `TRACEPARENT` of its environment, as OpenTelemetry's
/// tools set it, or a new one.
package enum CommandTrace {
    package static let current: TraceContext =
        ClientSettings.environment["TRACEPARENT"].flatMap { TraceContext($0) }?.child ?? .random()
}
