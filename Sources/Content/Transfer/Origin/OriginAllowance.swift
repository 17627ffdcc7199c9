/// The quota of one origin's limits that this engine may use.
package struct OriginAllowance: Sendable, Hashable {
    /// Maximum of open connections, including idle ones; 0 or more, nil for no limit.
    package var connections: Int?
    /// Maximum of requests started in any second, 0 or more; below 1, one request in so many
    /// seconds.
    package var requestsPerSecond: Double?
    /// Maximum of body bytes per second, 0 or more.
    package var bytesPerSecond: Int64?
    /// Number that grows with each quota of an origin; a quota with a lower number than the last is
    /// ignored. 0 for a quota without a number.
    package var number: Int64

    package init(
        connections: Int? = nil, requestsPerSecond: Double? = nil, bytesPerSecond: Int64? = nil,
        number: Int64 = 0
    ) {
        self.number = number
        self.connections = connections
        self.requestsPerSecond = requestsPerSecond
        self.bytesPerSecond = bytesPerSecond
    }

    var isUnlimited: Bool {
        connections == nil && requestsPerSecond == nil && bytesPerSecond == nil
    }
}

/// Activity of an engine at one origin.
package struct OriginActivity: Sendable {
    package var origin: String
    /// Running transfers.
    package var active: Int
    /// Waiting transfers, for any reason.
    package var waiting: Int
    package var bytesPerSecond: Double
    /// Number of transfers that the engine wants to run at a time, with the reason.
    package var decision: AdaptiveConcurrency.Decision
    /// True if limits are set or were set before. Then nothing starts without a valid quota.
    package var isLimited: Bool
}

/// Use of a quota by an engine.
package struct OriginUse: Sendable {
    package var origin: String
    package var number: Int64
    /// Connections that count, or running transfers if these are more.
    package var connections: Int
    /// Requests that count in the current second, or in a longer window for rates below one per
    /// second.
    package var requests: Int
    package var active: Int
    /// True if nothing runs and nothing waits.
    package var isIdle: Bool
    /// True if more counts than the quota allows, because it started under an earlier quota.
    package var isAbove: Bool

    package init(
        origin: String, number: Int64, connections: Int, requests: Int, active: Int, isIdle: Bool,
        isAbove: Bool
    ) {
        self.origin = origin
        self.number = number
        self.connections = connections
        self.requests = requests
        self.active = active
        self.isIdle = isIdle
        self.isAbove = isAbove
    }
}
