package import Model

/// A reason why no job of a catalog runs, and none of its removed files is deleted.
package struct CatalogWait: Hashable, Sendable {
    package var reason: Reason
    /// Seconds until it ends, by the database's clock; nil if unknown.
    package var seconds: Double?
    /// The same in seconds since 1970.
    package var until: Double?

    package enum Reason: Hashable, Sendable {
        /// The catalog's earliest start is in the future.
        case notBefore
        /// No job is ready, and assets wait for their own time or their site's; until the first of them may start.
        case assetsNotBefore
        /// The site's schedule is closed.
        case schedule
        case queuePaused(queue: String)
        /// None of the live workers, whose total is given, leases jobs of the queue.
        case noWorker(queue: String, workers: Int)
        /// Jobs wait for their next attempt; the code of the first job's last failure, nil if it
        /// was returned.
        case retry(FailureCode?)
        /// Jobs are leased by workers without heartbeats, until the first of the leases ends.
        case workerSilent(worker: String?, leases: Int)
        /// Workers may still be storing files of jobs that were taken away from them; these files are
        /// deleted after that.
        case workerStoring
        /// Origins are in cooldown; the first one, and their number.
        case originCooldown(origin: String, code: FailureCode?, origins: Int)
        /// The limits of origins are used up; the first one, and their number.
        case originLimit(origin: String, origins: Int)
        /// Assets are paused, until somebody resumes them.
        case paused(assets: Int)
        /// Assets wait until another site has stored them; the first one asked.
        case neighbour(queue: String, assets: Int)
        /// The site's bandwidth is used up.
        case siteLimit
        /// Workers are busy with other catalogs of higher priority.
        case otherCatalogs(Int)
        /// A reason that only newer coordinators know.
        case other(String)
    }

    package init(_ reason: Reason, seconds: Double? = nil, until: Double? = nil) {
        self.reason = reason
        self.seconds = seconds
        self.until = until
    }

    /// True if nothing happens before it ends; a limit only slows work down.
    package var stopsWork: Bool {
        switch reason {
        case .originLimit, .siteLimit, .otherCatalogs: false
        default: true
        }
    }

    /// Returns the earliest time at which a job can start, in seconds from now; infinite for a
    /// schedule that does not open.
    ///
    /// All waits of the whole catalog must end. Of the waits of some jobs, the first end suffices.
    /// A wait without a known end may end at any time.
    package static func earliestStart(_ waits: [CatalogWait], hasReadyJobs: Bool) -> Double {
        var catalogSeconds = 0.0
        var jobSeconds = hasReadyJobs ? [0.0] : []
        for wait in waits {
            switch wait.reason {
            case .notBefore, .queuePaused, .noWorker:
                catalogSeconds = max(catalogSeconds, wait.seconds ?? 0)
            case .schedule: catalogSeconds = max(catalogSeconds, wait.seconds ?? .infinity)
            case .paused: jobSeconds.append(.infinity)
            case .assetsNotBefore, .retry, .workerSilent, .workerStoring, .originCooldown,
                .originLimit, .neighbour, .siteLimit, .otherCatalogs, .other:
                jobSeconds.append(wait.seconds ?? 0)
            }
        }
        return max(catalogSeconds, jobSeconds.min() ?? 0)
    }

    /// Maximum number of reported reasons.
    package static let maxReported = 5

    /// Returns the waits to report: first those without a known end, then those that end last.
    package static func ordered(_ waits: [CatalogWait]) -> [CatalogWait] {
        let sorted = waits.enumerated().sorted { first, second in
            let ends = [first, second].map { $0.element.seconds ?? .infinity }
            return ends[0] != ends[1] ? ends[0] > ends[1] : first.offset < second.offset
        }
        return sorted.prefix(maxReported).map(\.element)
    }
}

extension CatalogWait: Codable {
    private enum Keys: String, CodingKey {
        case reason, seconds, until, queue, workers, code, worker, leases, origin, origins,
            catalogs, assets
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Keys.self)
        seconds = try fields.decodeIfPresent(Double.self, forKey: .seconds)
        until = try fields.decodeIfPresent(Double.self, forKey: .until)
        func text(_ key: Keys) throws -> String { try fields.decode(String.self, forKey: key) }
        func number(_ key: Keys) throws -> Int { try fields.decode(Int.self, forKey: key) }
        let code = try fields.decodeIfPresent(FailureCode.self, forKey: .code)
        switch try text(.reason) {
        case "notBefore": reason = .notBefore
        case "assetsNotBefore": reason = .assetsNotBefore
        case "schedule": reason = .schedule
        case "queuePaused": reason = .queuePaused(queue: try text(.queue))
        case "noWorker":
            reason = .noWorker(queue: try text(.queue), workers: try number(.workers))
        case "retry": reason = .retry(code)
        case "workerSilent":
            reason = .workerSilent(
                worker: try fields.decodeIfPresent(String.self, forKey: .worker),
                leases: try number(.leases))
        case "workerStoring": reason = .workerStoring
        case "originCooldown":
            reason = .originCooldown(
                origin: try text(.origin), code: code, origins: try number(.origins))
        case "originLimit":
            reason = .originLimit(origin: try text(.origin), origins: try number(.origins))
        case "paused": reason = .paused(assets: try number(.assets))
        case "neighbour":
            reason = .neighbour(queue: try text(.queue), assets: try number(.assets))
        case "siteLimit": reason = .siteLimit
        case "otherCatalogs": reason = .otherCatalogs(try number(.catalogs))
        case let name: reason = .other(name)
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Keys.self)
        try fields.encode(reason.name, forKey: .reason)
        try fields.encodeIfPresent(seconds, forKey: .seconds)
        try fields.encodeIfPresent(until, forKey: .until)
        switch reason {
        case .notBefore, .assetsNotBefore, .schedule, .workerStoring, .siteLimit, .other: break
        case .queuePaused(let queue): try fields.encode(queue, forKey: .queue)
        case .noWorker(let queue, let workers):
            try fields.encode(queue, forKey: .queue)
            try fields.encode(workers, forKey: .workers)
        case .retry(let code): try fields.encodeIfPresent(code, forKey: .code)
        case .workerSilent(let worker, let leases):
            try fields.encodeIfPresent(worker, forKey: .worker)
            try fields.encode(leases, forKey: .leases)
        case .originCooldown(let origin, let code, let origins):
            try fields.encode(origin, forKey: .origin)
            try fields.encodeIfPresent(code, forKey: .code)
            try fields.encode(origins, forKey: .origins)
        case .originLimit(let origin, let origins):
            try fields.encode(origin, forKey: .origin)
            try fields.encode(origins, forKey: .origins)
        case .paused(let assets): try fields.encode(assets, forKey: .assets)
        case .neighbour(let queue, let assets):
            try fields.encode(queue, forKey: .queue)
            try fields.encode(assets, forKey: .assets)
        case .otherCatalogs(let count): try fields.encode(count, forKey: .catalogs)
        }
    }
}

extension CatalogWait.Reason {
    /// Name on the wire.
    package var name: String {
        switch self {
        case .notBefore: "notBefore"
        case .assetsNotBefore: "assetsNotBefore"
        case .schedule: "schedule"
        case .queuePaused: "queuePaused"
        case .noWorker: "noWorker"
        case .retry: "retry"
        case .workerSilent: "workerSilent"
        case .workerStoring: "workerStoring"
        case .originCooldown: "originCooldown"
        case .originLimit: "originLimit"
        case .paused: "paused"
        case .neighbour: "neighbour"
        case .siteLimit: "siteLimit"
        case .otherCatalogs: "otherCatalogs"
        case .other(let name): name
        }
    }
}

/// Outlook for a catalog's deadline that is not met.
package struct DeadlineOutlook: Codable, Hashable, Sendable {
    package var kind: Kind
    /// Delay after the deadline in seconds: at least `missed` while it runs, an estimate for
    /// `late`; nil if unknown.
    package var seconds: Double?

    package enum Kind: String, Codable, CaseIterable, Sendable {
        /// The deadline has passed: the catalog still runs, or ended later.
        case missed
        /// Nothing of the catalog can happen before it.
        case blocked
        /// At the present rate the catalog ends later.
        case late
    }

    package init(_ kind: Kind, seconds: Double? = nil) {
        self.kind = kind
        self.seconds = seconds
    }

    /// Tolerance of the estimate: a catalog is late beyond this part of the remaining time.
    private static let margin = 0.1
    private static let marginSeconds = 5.0

    /// Returns nil while the deadline may be met, and for a catalog without a deadline or ended by
    /// an operator.
    ///
    /// - Parameters:
    /// - deadlineSeconds: Seconds to the deadline, from now or from the catalog's end; negative
    ///   after it.
    /// - waits: All waits, not only the reported ones.
    /// - hasReadyJobs: True if some of its jobs wait only for a worker.
    /// - secondsLeft: Estimated remaining time; nil if unknown.
    package static func of(
        _ state: CatalogState, deadlineSeconds: Double?, waits: [CatalogWait],
        hasReadyJobs: Bool = false, secondsLeft: Double?
    ) -> DeadlineOutlook? {
        guard let deadlineSeconds, [.running, .completed, .failed].contains(state) else {
            return nil
        }
        if deadlineSeconds < 0 { return DeadlineOutlook(.missed, seconds: -deadlineSeconds) }
        guard state == .running else { return nil }
        let start = CatalogWait.earliestStart(waits, hasReadyJobs: hasReadyJobs)
        if start > deadlineSeconds {
            return DeadlineOutlook(
                .blocked, seconds: start.isFinite ? start - deadlineSeconds : nil)
        }
        guard let secondsLeft,
            secondsLeft > deadlineSeconds * (1 + margin) + marginSeconds
        else { return nil }
        return DeadlineOutlook(.late, seconds: secondsLeft - deadlineSeconds)
    }
}
