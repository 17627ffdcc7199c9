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
        var ordered = ranked(urls, cooling, now)
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

    /// As `order`, the URLs of one origin before the others; none is tried for its speed.
    func order(
        _ urls: [String], first origin: String, cooling: Set<String>, now: Double
    ) -> [String] {
        let ordered = ranked(urls, cooling, now)
        return (ordered.filter { $0.name == origin } + ordered.filter { $0.name != origin })
            .map(\.url)
    }

    private struct Place {
        var place: Int
        var url: String
        var name: String
        var origin: Origin
    }

    /// The fastest first, those that fail last.
    private func ranked(_ urls: [String], _ cooling: Set<String>, _ now: Double) -> [Place] {
        let places = urls.enumerated().map { place, url in
            let name = originName(of: url) ?? url
            return Place(place: place, url: url, name: name, origin: origins[name] ?? Origin())
        }
        return places.sorted { left, right in
            let leftFails = isFailing(left.origin, left.name, cooling, now)
            let rightFails = isFailing(right.origin, right.name, cooling, now)
            if leftFails != rightFails { return rightFails }
            let leftSpeed = left.origin.bytesPerSecond ?? 0
            let rightSpeed = right.origin.bytesPerSecond ?? 0
            return leftSpeed != rightSpeed ? leftSpeed > rightSpeed : left.place < right.place
        }
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
    /// How a request for one of the URLs failed.
    struct Ending: Sendable {
        var failure: Failure
        /// The origin that was asked last, after redirects; nil for none.
        var origin: String?
        var retryAfterSeconds: Double?

        /// What the origin has done by that; nil where none was asked.
        var outcome: OriginOutcome? {
            origin.map { origin in
                // What is left alone is so already.
                let isNews = failure.code != "origin.limited"
                return OriginOutcome(
                    origin: origin, code: failure.code,
                    retryAfterSeconds: isNews ? retryAfterSeconds : nil)
            }
        }
    }

    /// Where the transfer under way asks.
    private(set) var url: String
    /// What is left to try.
    private var rest: ArraySlice<String>
    /// What the others came to, in order.
    private var endings: [(url: String, ending: Ending)] = []
    /// Of the job itself.
    private let main: String

    /// `urls` holds at least `main`.
    init(_ urls: [String], main: String) {
        self.main = main
        url = urls.first ?? main
        rest = urls.dropFirst()
    }

    /// Whether there is more than one way.
    var hasMirrors: Bool { !rest.isEmpty || !endings.isEmpty }

    /// Whether the job's own URL is asked.
    var isAtMain: Bool { url == main }

    /// Turns to the next URL after a failure, past origins that are left alone; false when there is none,
    /// or when it would end as this.
    mutating func advance(after ending: Ending, cooling: Set<String> = []) -> Bool {
        guard Self.isOfTheOrigin(ending.failure.code) else { return false }
        endings.append((url, ending))
        while let next = rest.popFirst() {
            if let name = originName(of: next), cooling.contains(name) { continue }
            url = next
            return true
        }
        return false
    }

    /// What the attempt came to: how the job's own URL failed, unless trying again may help elsewhere and
    /// not there.
    func result(_ last: Ending) -> Ending {
        guard hasMirrors, Self.isOfTheOrigin(last.failure.code) else { return last }
        let own = endings.first { $0.url == main }
        if let own, own.ending.failure.code.row.isRetryable { return own.ending }
        let other = endings.first { $0.ending.failure.code.row.isRetryable }
        return other?.ending ?? own?.ending ?? last
    }

    /// What each origin did that was asked in an attempt that came to nothing; nil when it was the job's
    /// own alone.
    func outcomes(_ last: Ending) -> [OriginOutcome]? {
        let outcomes = (hasMirrors ? endings.map(\.ending) : [last]).compactMap(\.outcome)
        let isOwn = !hasMirrors && outcomes.first.map { $0.origin == originName(of: main) } ?? true
        return isOwn || outcomes.isEmpty ? nil : outcomes
    }

    /// Which origins served the file, the last of them `origin`, after redirects, and which have failed before so
    /// that it matters to others; nil when it is booked on the job's own alone.
    ///
    /// - Parameter isSuspect: whether it is to be known that an origin that a redirect led to is well.
    func served(by origin: String?, isSuspect: (String) -> Bool) -> [OriginOutcome]? {
        let asked = originName(of: url)
        let isMain = asked == originName(of: main)
        guard let asked, let origin else { return nil }
        let failed = endings.compactMap(\.ending.outcome).filter { outcome in
            outcome.retryAfterSeconds ?? 0 > 0 || outcome.code?.speaksAgainstOrigin == true
        }
        if isMain, failed.isEmpty, origin == asked || !isSuspect(origin) { return nil }
        return [OriginOutcome(origin: asked)]
            + (origin == asked ? [] : [OriginOutcome(origin: origin)]) + failed
    }

    /// Another origin may do better: the bytes, or the way to them, were at fault.
    static func isOfTheOrigin(_ code: FailureCode) -> Bool {
        ["origin", "content", "integrity"].contains(code.rawValue.prefix { $0 != "." })
    }
}
