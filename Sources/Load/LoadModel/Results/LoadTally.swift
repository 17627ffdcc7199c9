/// Totals of one URL, target or rendition in the measured time.
package struct LoadTally: Sendable, Equatable, Codable {
    package var requests: Int64 = 0
    package var failed: Int64 = 0
    package var bytes: Int64 = 0
    /// Sum and maximum from the planned time, over successful requests.
    package var totalMicroseconds: Int64 = 0
    package var longestMicroseconds: Int64 = 0
    /// The same over failed requests.
    package var failedMicroseconds: Int64 = 0
    package var longestFailedMicroseconds: Int64 = 0

    package init() {}

    package mutating func record(bytes: Int64, microseconds: Int64, isFailure: Bool) {
        requests += 1
        self.bytes += bytes
        if isFailure {
            failed += 1
            failedMicroseconds += microseconds
            longestFailedMicroseconds = max(longestFailedMicroseconds, microseconds)
        } else {
            totalMicroseconds += microseconds
            longestMicroseconds = max(longestMicroseconds, microseconds)
        }
    }

    /// Adds the totals of another process, which may contain any number; sums saturate.
    package mutating func add(_ other: LoadTally) {
        func add(_ count: Int64, to sum: inout Int64) {
            let (total, isOver) = sum.addingReportingOverflow(max(count, 0))
            sum = isOver ? .max : total
        }
        add(other.requests, to: &requests)
        add(other.failed, to: &failed)
        add(other.bytes, to: &bytes)
        add(other.totalMicroseconds, to: &totalMicroseconds)
        add(other.failedMicroseconds, to: &failedMicroseconds)
        longestMicroseconds = max(longestMicroseconds, other.longestMicroseconds)
        longestFailedMicroseconds = max(
            longestFailedMicroseconds, other.longestFailedMicroseconds)
    }
}

/// The totals of a shard, by name; names beyond `most` of a kind are under `others`.
package struct LoadBreakdown: Sendable, Equatable, Codable {
    package static let most = 1_000
    package static let others = "(others)"

    /// By URL, redacted.
    package var urls: [String: LoadTally] = [:]
    package var targets: [String: LoadTally] = [:]
    package var renditions: [String: LoadTally] = [:]
    /// Histograms of up to `LoadGroup.most` groups of each dimension.
    package private(set) var groups: [LoadDimension: [String: LoadGroup]] = [:]

    /// By class of viewers.
    package private(set) var classes: [String: ViewerTotals] = [:]

    package init() {}

    package mutating func add(_ totals: ViewerTotals, ofClass name: String) {
        let isKnown = classes[name] != nil || classes.count < LoadLimits.viewerClasses
        classes[isKnown ? name : Self.others, default: ViewerTotals()].add(totals)
    }

    /// Adds the totals of one object. Earlier objects are more likely to keep their own name.
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
        for (name, totals) in other.classes.sorted(by: { $0.key < $1.key }) {
            add(totals, ofClass: name)
        }
        for (dimension, groups) in other.groups.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            for (name, group) in groups.sorted(by: { $0.key < $1.key }) {
                add(group, LoadGroupKey(dimension, name))
            }
        }
    }

    package mutating func add(_ group: LoadGroup, _ key: LoadGroupKey) {
        let known = groups[key.dimension] ?? [:]
        let named = known.count - (known[Self.others] == nil ? 0 : 1)
        let isKnown = known[key.name] != nil || named < LoadGroup.most
        groups[key.dimension, default: [:]][isKnown ? key.name : Self.others, default: LoadGroup()]
            .add(group)
    }

    private static func add(_ other: [String: LoadTally], to tallies: inout [String: LoadTally]) {
        for (name, tally) in other.sorted(by: { $0.key < $1.key }) {
            let isKnown = tallies[name] != nil || tallies.count < most
            tallies[isKnown ? name : others, default: LoadTally()].add(tally)
        }
    }
}
