import Model

/// How fast the origins of mirrored files are, and how well, as this worker has found them.
///
/// Times are in seconds on any steady clock, passed in. A value; its owner locks it.
struct MirrorTable {
    /// So long after a failure of its own an origin comes last.
    static let failingSeconds = 60.0
    /// A speed this old is measured anew.
    static let measuredSeconds = 300.0
    /// How long one file may be the first to try an origin before another one does.
    static let trialSeconds = 30.0
    /// Origins that are remembered; when there are more, all are forgotten.
    static let maximumOrigins = 10_000

    private struct Origin {
        var bytesPerSecond: Double?
        var measuredAt = -Double.infinity
        var failedAt = -Double.infinity
        var triedAt = -Double.infinity
    }

    private var origins: [String: Origin] = [:]

    /// The URLs of one file in the order in which they are to be tried.
    ///
    /// First one that nobody has tried of late, so that speeds are known; else the fastest. Those that
    /// fail, and those of `cooling` origins, come last. The list's order decides where nothing else
    /// does.
    mutating func order(_ urls: [String], cooling: Set<String>, now: Double) -> [String] {
        if origins.count > Self.maximumOrigins { origins = [:] }
        let places = urls.enumerated().map { place, url in
            let name = originName(of: url) ?? url
            return (place: place, url: url, name: name, origin: origins[name] ?? Origin())
        }
        var ordered = places.sorted { left, right in
            let leftFails = isFailing(left.origin, left.name, cooling, now)
            let rightFails = isFailing(right.origin, right.name, cooling, now)
            if leftFails != rightFails { return rightFails }
            let leftSpeed = left.origin.bytesPerSecond ?? 0
            let rightSpeed = right.origin.bytesPerSecond ?? 0
            return leftSpeed != rightSpeed ? leftSpeed > rightSpeed : left.place < right.place
        }
        let untried = ordered.indices.filter { index in
            let origin = ordered[index].origin
            return !isFailing(origin, ordered[index].name, cooling, now)
                && now - origin.measuredAt > Self.measuredSeconds
                && now - origin.triedAt > Self.trialSeconds
        }.min { ordered[$0].place < ordered[$1].place }
        if let untried {
            ordered.insert(ordered.remove(at: untried), at: 0)
            origins[ordered[0].name, default: Origin()].triedAt = now
        }
        return ordered.map(\.url)
    }

    private func isFailing(
        _ origin: Origin, _ name: String, _ cooling: Set<String>, _ now: Double
    ) -> Bool {
        now - origin.failedAt < Self.failingSeconds || cooling.contains(name)
    }

    /// A file came whole from `url`, at `bytesPerSecond`.
    mutating func succeeded(_ url: String, bytesPerSecond: Double, now: Double) {
        guard let name = originName(of: url) else { return }
        var origin = origins[name] ?? Origin()
        let isFresh = now - origin.measuredAt <= Self.measuredSeconds
        let before = isFresh ? origin.bytesPerSecond ?? bytesPerSecond : bytesPerSecond
        origin.bytesPerSecond = before + (bytesPerSecond - before) * 0.2
        origin.measuredAt = now
        origin.failedAt = -.infinity
        origins[name] = origin
    }

    /// It did not, and the origin, or the way to it, was at fault.
    mutating func failed(_ url: String, now: Double) {
        guard let name = originName(of: url) else { return }
        origins[name, default: Origin()].failedAt = now
    }
}

/// One attempt's way through a file's URLs.
struct MirrorCourse: Sendable {
    /// Where the transfer under way asks.
    private(set) var url: String
    /// What is left to try.
    private var rest: ArraySlice<String>
    /// What the others came to, in order.
    private var failures: [(url: String, failure: Failure)] = []
    /// Of the job itself, which its failures are counted at.
    private let main: String

    /// `urls` holds at least `main`.
    init(_ urls: [String], main: String) {
        self.main = main
        url = urls.first ?? main
        rest = urls.dropFirst()
    }

    /// Whether there is more than one way.
    var hasMirrors: Bool { !rest.isEmpty || !failures.isEmpty }

    /// Turns to the next URL after a failure; false when there is none, or when it would end as this.
    mutating func advance(after failure: Failure) -> Bool {
        guard Self.isOfTheOrigin(failure.code) else { return false }
        failures.append((url, failure))
        guard let next = rest.popFirst() else { return false }
        url = next
        return true
    }

    /// What the attempt came to: the failure at the job's own URL, unless trying again may help
    /// elsewhere and not there. `isMain` tells whether it speaks of that URL.
    func result(_ last: Failure) -> (failure: Failure, isMain: Bool) {
        guard hasMirrors, Self.isOfTheOrigin(last.code) else { return (last, url == main) }
        let own = failures.first { $0.url == main }
        if let own, own.failure.code.row.isRetryable { return (own.failure, true) }
        if let other = failures.first(where: { $0.failure.code.row.isRetryable }) {
            return (other.failure, false)
        }
        return own.map { ($0.failure, true) } ?? (last, url == main)
    }

    /// Another origin may do better: the bytes, or the way to them, were at fault.
    private static func isOfTheOrigin(_ code: FailureCode) -> Bool {
        ["origin", "content", "integrity"].contains(code.rawValue.prefix { $0 != "." })
    }
}
