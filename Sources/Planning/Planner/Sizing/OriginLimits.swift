/// The limits of an origin for all workers together.
package struct OriginLimits: Hashable, Sendable {
    private let connections: Double?
    private let requestsPerSecond: Double?
    private let bytesPerSecond: Double?

    /// The maximum fetches per second, and the input that limits them.
    package struct Most: Hashable, Sendable {
        package let perSecond: Double
        package let input: ScenarioInput

        /// Returns true if a rate is allowed, with a tolerance for rounding.
        func allows(_ rate: Double) -> Bool { rate <= perSecond * (1 + 1e-9) }
    }

    package init(_ values: ScenarioValues) {
        connections = values.quota(.originConnections)
        requestsPerSecond = values.quota(.originRequests)
        bytesPerSecond = values.quota(.originMegabits).map { $0 * 1e6 / 8 }
    }

    /// Returns the maximum fetches per second of one kind, beside `rate` of another kind; nil
    /// without limits.
    ///
    /// A transfer uses a connection for its whole time (Little 1961).
    package func most(
        of fetch: WorkerSpeed, beside rate: Double = 0, of other: WorkerSpeed? = nil
    ) -> Most? {
        func left(_ limit: Double?, _ input: ScenarioInput, _ takes: (WorkerSpeed) -> Double)
            -> Most?
        {
            guard let limit else { return nil }
            let free = limit - rate * (other.map(takes) ?? 0)
            return Most(perSecond: max(0, free) / max(1e-12, takes(fetch)), input: input)
        }
        return [
            left(connections, .originConnections) { $0.transferSeconds },
            left(requestsPerSecond, .originRequests) { _ in 1 },
            left(bytesPerSecond, .originMegabits) { $0.segmentBytes },
        ].compactMap { $0 }.min { $0.perSecond < $1.perSecond }
    }
}
