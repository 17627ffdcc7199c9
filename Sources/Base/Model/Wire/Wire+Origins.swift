/// An origin that is left alone for a while: by its own wish, or because it failed again and again.
///
/// It stands in the answers to leases, reports and heartbeats, so that every worker hears of it soon
/// after the one that met it. A worker begins no request to it before the time is over; what waits
/// for it keeps its lease and goes on then. Limits of the origin are not touched by it.
package struct OriginCooldown: Codable, Hashable, Sendable {
    /// As `originName(of:)` makes it.
    package var origin: String
    /// From the moment the answer arrives.
    package var seconds: Double

    package init(origin: String, seconds: Double) {
        self.origin = origin
        self.seconds = seconds
    }
}

/// What one origin did in an attempt at a job that others were asked for as well: a mirror of the job's
/// own origin, or where a redirect led to.
package struct OriginOutcome: Codable, Hashable, Sendable {
    /// As `originName(of:)` makes it.
    package var origin: String
    /// Why it did not serve what was asked for; nil when it did.
    package var code: FailureCode?
    /// What it asked for with Retry-After, in seconds.
    package var retryAfterSeconds: Double?

    package init(origin: String, code: FailureCode? = nil, retryAfterSeconds: Double? = nil) {
        self.origin = origin
        self.code = code
        self.retryAfterSeconds = retryAfterSeconds
    }
}

/// `GET /v1/cooling?after=…&waitMilliseconds=…`: the origins that are left alone now, as soon as they
/// are others than those of the version `after`, or the time is over. So a worker that has no request
/// for work open hears of a new one at once.
package struct CoolingList: Codable, Sendable {
    /// What to ask for changes after.
    package var version: String
    package var cooling: [OriginCooldown]

    package init(version: String, cooling: [OriginCooldown]) {
        self.version = version
        self.cooling = cooling
    }
}

/// A worker's share of one origin's cluster-wide limits.
///
/// It stands in the answers to leases and heartbeats. What a worker has of an origin is what the
/// last answer that names it says; an answer that does not name it changes nothing. An origin that
/// was never named has no limits, and one that is named without any bound has none again.
///
/// A worker that is given less starts nothing until it is within its new share; what it has under
/// way may go on until the time of the share before is over. Its heartbeats report what it still uses
/// (`OriginShareUse`); until then whoever hands out shares counts what it was given before.
///
/// What a redirect leads to counts as well: an origin with limits is named to every worker that may
/// be led to it.
package struct OriginShare: Codable, Hashable, Sendable {
    /// As `originName(of:)` makes it.
    package var origin: String
    /// Grows from share to share of an origin; the worker keeps to the highest that it has heard of. Nil where
    /// there are no limits.
    package var number: Int64?
    /// Open connections at most, idle ones included, 0 or more; nil for no bound.
    package var connections: Int?
    /// Requests started in any second at most, 0 or more; below 1, one in so many seconds.
    package var requestsPerSecond: Double?
    /// Bytes of bodies a second at most, 0 or more.
    package var bytesPerSecond: Int64?
    /// How long it holds from the moment the request was sent, or, in a lease, from that moment plus
    /// `waitedSeconds`. After that nothing of the origin may be under way, and no connection open.
    package var seconds: Double
    /// After how many seconds to send the next heartbeat while there is work; nil for as usual.
    package var againSeconds: Double?

    package init(
        origin: String, connections: Int? = nil, requestsPerSecond: Double? = nil,
        bytesPerSecond: Int64? = nil, seconds: Double
    ) {
        self.origin = origin
        self.connections = connections
        self.requestsPerSecond = requestsPerSecond
        self.bytesPerSecond = bytesPerSecond
        self.seconds = seconds
    }
}

/// What a worker uses of its share of an origin's limits.
package struct OriginShareUse: Codable, Hashable, Sendable {
    /// As `originName(of:)` makes it.
    package var origin: String
    /// The share that it keeps to.
    package var number: Int64
    /// Connections that are open, or that the origin may take to be open.
    package var connections: Int
    /// Requests that count in the current second.
    package var requests: Int
    /// Transfers under way.
    package var active: Int
    /// It has nothing to do there any more, and begins nothing under this share. Nil is false.
    package var isOver: Bool?

    package init(
        origin: String, number: Int64, connections: Int = 0, requests: Int = 0, active: Int = 0,
        isOver: Bool? = nil
    ) {
        self.origin = origin
        self.number = number
        self.connections = connections
        self.requests = requests
        self.active = active
        self.isOver = isOver
    }
}

/// What a worker does at one origin, and what it last decided about it. At most one an origin, and
/// `WireLimits.originsPerHeartbeat` in a heartbeat.
package struct OriginReport: Codable, Hashable, Sendable {
    /// As `originName(of:)` makes it.
    package var origin: String
    /// How many transfers from there the worker wants at a time, at least 1.
    package var concurrency: Int
    /// What has arrived a second of late.
    package var bytesPerSecond: Int64
    /// "raised", "lowered" or "held".
    package var decision: String
    /// Why, in words with figures; at most `WireLimits.reasonCharacters` long.
    package var reason: String
    /// Transfers under way, and transfers that wait for their turn at this origin.
    package var active: Int
    package var waiting: Int

    package init(
        origin: String, concurrency: Int, bytesPerSecond: Int64, decision: String, reason: String,
        active: Int = 0, waiting: Int = 0
    ) {
        self.origin = origin
        self.concurrency = concurrency
        self.bytesPerSecond = bytesPerSecond
        self.decision = decision
        self.reason = reason
        self.active = active
        self.waiting = waiting
    }
}

/// Who answers for an http or https URL: `scheme://host[:port]` in lower case, without userinfo and
/// without the scheme's own port; nil for anything else, and for userinfo unless it is allowed.
package func originName(of url: String, allowsUserInfo: Bool = true) -> String? {
    let bytes = url.utf8
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let scheme = url[..<colon].lowercased()
    let rest = bytes[bytes.index(after: colon)...]
    guard scheme == "http" || scheme == "https", rest.starts(with: "//".utf8) else { return nil }
    var authority = rest.dropFirst(2).prefix {
        $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#")
    }
    if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
        guard allowsUserInfo else { return nil }
        authority = authority[authority.index(after: at)...]
    }
    for ending in [scheme == "http" ? ":80" : ":443", ":"]
    where authority.suffix(ending.utf8.count).elementsEqual(ending.utf8) {
        authority = authority.dropLast(ending.utf8.count)
    }
    // A name has at most 253 characters (RFC 1035, section 2.3.4), a port 5 digits.
    guard (1...300).contains(authority.count) else { return nil }
    return "\(scheme)://\(Substring(authority).lowercased())"
}
