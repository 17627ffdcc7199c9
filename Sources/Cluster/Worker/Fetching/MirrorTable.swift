import API
import Model

/// Speeds and failures of the origins of mirrored files, as this worker measured them.
///
/// Times are in seconds on any steady clock, passed in. The type is a value; its owner locks it.
struct MirrorTable {
    /// Seconds for which an origin is tried last after a failure.
    static let failingSeconds = 60.0
    /// Seconds after which a speed is measured again.
    static let measuredSeconds = 300.0
    /// Seconds for which one file alone tries an origin without a measured speed first.
    static let trialSeconds = 30.0
    /// Maximum number of origins in the table; beyond it, the table is cleared.
    static let maximumOrigins = 10_000

    private struct Origin {
        var bytesPerSecond: Double?
        var measuredAt = -Double.infinity
        var failedAt = -Double.infinity
        var triedAt = -Double.infinity
    }

    private var origins: [String: Origin] = [:]

    /// Returns the URLs of one file in the order in which a worker should try them.
    ///
    /// An origin without a recent measurement comes first, so that its speed becomes known; then
    /// the fastest. Failing origins and those of `inCooldown` come last. The list's order
    /// breaks ties.
    mutating func order(_ urls: [String], inCooldown: Set<String>, now: Double) -> [String] {
        if origins.count > Self.maximumOrigins { origins = [:] }
        var ordered = ranked(urls, inCooldown, now)
        let untried = ordered.indices.filter { index in
            let origin = ordered[index].origin
            return !isFailing(origin, ordered[index].name, inCooldown, now)
                && now - origin.measuredAt > Self.measuredSeconds
                && now - origin.triedAt > Self.trialSeconds
        }.min { ordered[$0].index < ordered[$1].index }
        if let untried {
            ordered.insert(ordered.remove(at: untried), at: 0)
            origins[ordered[0].name, default: Origin()].triedAt = now
        }
        return ordered.map(\.url)
    }

    /// Orders like `order(_:inCooldown:now:)`, but puts the URLs of one origin first and measures
    /// none.
    func order(
        _ urls: [String], first origin: String, inCooldown: Set<String>, now: Double
    ) -> [String] {
        let ordered = ranked(urls, inCooldown, now)
        return (ordered.filter { $0.name == origin } + ordered.filter { $0.name != origin })
            .map(\.url)
    }

    private struct Candidate {
        var index: Int
        var url: String
        var name: String
        var origin: Origin
    }

    /// Sorts by speed, the fastest first and the failing ones last.
    private func ranked(_ urls: [String], _ inCooldown: Set<String>, _ now: Double) -> [Candidate] {
        let candidates = urls.enumerated().map { index, url in
            let name = originName(of: url) ?? url
            return Candidate(index: index, url: url, name: name, origin: origins[name] ?? Origin())
        }
        return candidates.sorted { left, right in
            let leftFails = isFailing(left.origin, left.name, inCooldown, now)
            let rightFails = isFailing(right.origin, right.name, inCooldown, now)
            if leftFails != rightFails { return rightFails }
            let leftSpeed = left.origin.bytesPerSecond ?? 0
            let rightSpeed = right.origin.bytesPerSecond ?? 0
            return leftSpeed != rightSpeed ? leftSpeed > rightSpeed : left.index < right.index
        }
    }

    private func isFailing(
        _ origin: Origin, _ name: String, _ inCooldown: Set<String>, _ now: Double
    ) -> Bool {
        now - origin.failedAt < Self.failingSeconds || inCooldown.contains(name)
    }

    /// Records a complete transfer from `url` at `bytesPerSecond`.
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

    /// Records a failed transfer for which the origin or the network was at fault.
    mutating func failed(_ url: String, now: Double) {
        guard let name = originName(of: url) else { return }
        origins[name, default: Origin()].failedAt = now
    }
}

/// The URLs that one attempt at a file tries, and their failures.
struct MirrorPlan: Sendable {
    /// The failure of a request for one of the URLs.
    struct Ending: Sendable {
        var failure: Failure
        /// The origin of the last request, after redirects; nil if there was none.
        var origin: String?
        var retryAfterSeconds: Double?

        /// The outcome for the origin; nil without a request.
        var outcome: OriginOutcome? {
            origin.map { origin in
                // The cooldown is recorded already.
                let isOfOrigin = failure.code != .originLimited
                return OriginOutcome(
                    origin: origin, code: failure.code,
                    retryAfterSeconds: isOfOrigin ? retryAfterSeconds : nil)
            }
        }
    }

    /// URL of the running transfer.
    private(set) var url: String
    /// URLs not tried yet.
    private var rest: ArraySlice<String>
    /// Failures of the URLs tried so far, in order.
    private var endings: [(url: String, ending: Ending)] = []
    /// The job's own URL.
    private let main: String

    /// Creates a plan; `urls` must contain `main`.
    init(_ urls: [String], main: String) {
        self.main = main
        url = urls.first ?? main
        rest = urls.dropFirst()
    }

    /// True if the file has more than one URL.
    var hasMirrors: Bool { !rest.isEmpty || !endings.isEmpty }

    /// True if the current URL is the job's own.
    var isAtMain: Bool { url == main }

    /// Moves to the next URL after a failure, skipping origins in cooldown. Returns false if none
    /// is left, or if another origin would not help.
    mutating func advance(after ending: Ending, inCooldown: Set<String> = []) -> Bool {
        guard ending.failure.code.mayBeOriginsAlone else { return false }
        endings.append((url, ending))
        while let next = rest.popFirst() {
            if let name = originName(of: next), inCooldown.contains(name) { continue }
            url = next
            return true
        }
        return false
    }

    /// Returns the attempt's failure: that of the job's own URL, unless only a mirror's failure is
    /// retryable.
    func result(_ last: Ending) -> Ending {
        guard hasMirrors, last.failure.code.mayBeOriginsAlone else { return last }
        let own = endings.first { $0.url == main }
        if let own, own.ending.failure.code.row.isRetryable { return own.ending }
        let other = endings.first { $0.ending.failure.code.row.isRetryable }
        return other?.ending ?? own?.ending ?? last
    }

    /// Returns the outcome of each origin in a failed attempt; nil if only the job's own was used.
    func outcomes(_ last: Ending) -> [OriginOutcome]? {
        let outcomes = (hasMirrors ? endings.map(\.ending) : [last]).compactMap(\.outcome)
        let isOwn = !hasMirrors && outcomes.first.map { $0.origin == originName(of: main) } ?? true
        return isOwn || outcomes.isEmpty ? nil : outcomes
    }

    /// Returns the origins that served the file, and the earlier failures of others. `origin` is the
    /// last origin, after redirects. Returns nil if only the job's own origin gets the credit.
    ///
    /// - Parameter isSuspect: true if the cluster must learn that the origin of a redirect works.
    func served(by origin: String?, isSuspect: (String) -> Bool) -> [OriginOutcome]? {
        let asked = originName(of: url)
        let isMain = isAtMain || asked == originName(of: main)
        guard let asked, let origin else { return nil }
        let failed = endings.compactMap(\.ending.outcome)
        if isMain, failed.isEmpty, origin == asked || !isSuspect(origin) { return nil }
        return [OriginOutcome(origin: asked)]
            + (origin == asked ? [] : [OriginOutcome(origin: origin)]) + failed
    }
}
