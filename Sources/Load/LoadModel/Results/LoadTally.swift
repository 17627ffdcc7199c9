/// What was measured of one URL, target or rendition since the start of what counts.
package struct LoadTally: Sendable, Equatable, Codable {
    package var requests: Int64 = 0
    package var failed: Int64 = 0
    package var bytes: Int64 = 0
    /// From the planned time, of all requests together.
    package var totalMicroseconds: Int64 = 0
    package var longestMicroseconds: Int64 = 0

    package init() {}

    package mutating func record(bytes: Int64, microseconds: Int64, isFailure: Bool) {
        requests += 1
        if isFailure { failed += 1 }
        self.bytes += bytes
        totalMicroseconds += microseconds
        longestMicroseconds = max(longestMicroseconds, microseconds)
    }

    /// Of what another process says any number may come; sums end at the greatest.
    package mutating func add(_ other: LoadTally) {
        func add(_ count: Int64, to sum: inout Int64) {
            let (total, isOver) = sum.addingReportingOverflow(max(count, 0))
            sum = isOver ? .max : total
        }
        add(other.requests, to: &requests)
        add(other.failed, to: &failed)
        add(other.bytes, to: &bytes)
        add(other.totalMicroseconds, to: &totalMicroseconds)
        longestMicroseconds = max(longestMicroseconds, other.longestMicroseconds)
    }
}

/// The tallies of a share, by name; what is beyond `most` names of a kind is under `others`.
package struct LoadBreakdown: Sendable, Equatable, Codable {
    package static let most = 1_000
    package static let others = "(others)"

    /// By URL, redacted.
    package var urls: [String: LoadTally] = [:]
    package var targets: [String: LoadTally] = [:]
    package var renditions: [String: LoadTally] = [:]

    package init() {}

    /// Adds what was measured of one object; what comes first is more likely to have a name of its own.
    package mutating func add(
        _ tally: LoadTally, url: String, target: String, rendition: String?
    ) {
        Self.add([url: tally], to: &urls)
        Self.add([target: tally], to: &targets)
        if let rendition { Self.add([rendition: tally], to: &renditions) }
    }

    package mutating func add(_ other: LoadBreakdown) {
        Self.add(other.urls, to: &urls)
        Self.add(other.targets, to: &targets)
        Self.add(other.renditions, to: &renditions)
    }

    private static func add(_ other: [String: LoadTally], to tallies: inout [String: LoadTally]) {
        for (name, tally) in other.sorted(by: { $0.key < $1.key }) {
            let isKnown = tallies[name] != nil || tallies.count < most
            tallies[isKnown ? name : others, default: LoadTally()].add(tally)
        }
    }
}
