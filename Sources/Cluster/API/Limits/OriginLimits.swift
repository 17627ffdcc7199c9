/// Limits of one origin for all workers together; nil for no limit.
package struct OriginLimits: Codable, Hashable, Sendable {
    /// Open connections, 1 to 1,000,000.
    package var connections: Int?
    /// Requests started in any second, 0.001 to 1,000,000; below 1, one in so many seconds.
    package var requestsPerSecond: Double?
    /// Body bytes per second, within `Bandwidth.allowed`.
    package var bytesPerSecond: Int64?

    package init(
        connections: Int? = nil, requestsPerSecond: Double? = nil, bytesPerSecond: Int64? = nil
    ) {
        self.connections = connections
        self.requestsPerSecond = requestsPerSecond
        self.bytesPerSecond = bytesPerSecond
    }
}

/// `POST /v1/origins/limits`: sets or clears the limits of an origin, or the default for origins
/// without their own. The only answer is 204.
package struct OriginLimitsChange: Codable, Hashable, Sendable {
    /// Origin as named by `originName(of:)`; nil for the default.
    package var origin: String?
    /// All limits; a nil one is unlimited. Nil removes an origin's own limits, so that the default
    /// applies, or every default limit. On the wire it must be present, `null` or with one of its
    /// fields, so that an accidental omission removes nothing.
    package var limits: OriginLimits?

    package init(origin: String?, limits: OriginLimits?) {
        self.origin = origin
        self.limits = limits
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        origin = try container.decodeIfPresent(String.self, forKey: .origin)
        guard try !container.decodeNil(forKey: .limits) else { return }
        let named = try container.nestedContainer(keyedBy: LimitKeys.self, forKey: .limits)
        guard !named.allKeys.isEmpty else {
            throw DecodingError.dataCorruptedError(
                forKey: .limits, in: container, debugDescription: "it names no limit.")
        }
        limits = OriginLimits(
            connections: try named.decodeIfPresent(Int.self, forKey: .connections),
            requestsPerSecond: try named.decodeIfPresent(Double.self, forKey: .requestsPerSecond),
            bytesPerSecond: try named.decodeIfPresent(Int64.self, forKey: .bytesPerSecond))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(origin, forKey: .origin)
        guard let limits else { return try container.encodeNil(forKey: .limits) }
        var named = container.nestedContainer(keyedBy: LimitKeys.self, forKey: .limits)
        try named.encode(limits.connections, forKey: .connections)
        try named.encode(limits.requestsPerSecond, forKey: .requestsPerSecond)
        try named.encode(limits.bytesPerSecond, forKey: .bytesPerSecond)
    }

    private enum LimitKeys: CodingKey { case connections, requestsPerSecond, bytesPerSecond }
    private enum CodingKeys: String, CodingKey { case origin, limits }
}
