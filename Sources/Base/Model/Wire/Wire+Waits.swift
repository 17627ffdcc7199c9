/// A reason why nothing of a running catalog is under way.
package struct CatalogWait: Hashable, Sendable {
    package var reason: Reason
    /// Seconds until it ends, by the database's clock; nil when that is not known.
    package var seconds: Double?
    /// The same in seconds since 1970.
    package var until: Double?

    package enum Reason: Hashable, Sendable {
        /// The catalog may not begin yet.
        case notBefore
        /// The site's schedule is closed.
        case schedule
        case queuePaused(queue: String)
        /// None of the workers that are heard of, so many in all, takes jobs of the queue.
        case noWorker(queue: String, workers: Int)
        /// Jobs wait for their next try; the code of the last one of the first of them, nil if it was returned.
        case retry(FailureCode?)
        /// Jobs are leased by workers that send no heartbeats, until the first of the leases ends.
        case workerSilent(worker: String?, leases: Int)
        /// Origins, the first of so many, are in cooldown.
        case originCooldown(origin: String, code: FailureCode?, origins: Int)
        /// The limits of origins, the first of so many, are used up.
        case originLimit(origin: String, origins: Int)
        /// The site's bandwidth is used up.
        case siteLimit
        /// Workers are busy with other catalogs, which come first.
        case otherCatalogs(Int)
        /// One that only newer coordinators know.
        case other(String)
    }

    package init(_ reason: Reason, seconds: Double? = nil, until: Double? = nil) {
        self.reason = reason
        self.seconds = seconds
        self.until = until
    }

    /// Whether nothing at all happens before it ends; a limit only slows work down.
    package var stopsWork: Bool {
        switch reason {
        case .originLimit, .siteLimit, .otherCatalogs: false
        default: true
        }
    }

    /// The earliest time at which a job can begin, in seconds from now; infinite for a schedule that does not open.
    ///
    /// Each wait for the whole catalog has to end. Of the waits for some of its jobs the first end is enough. A wait
    /// without a known end may end at any time.
    static func earliestStart(_ waits: [CatalogWait], hasReadyJobs: Bool) -> Double {
        var catalogSeconds = 0.0
        var jobSeconds = hasReadyJobs ? [0.0] : []
        for wait in waits {
            switch wait.reason {
            case .notBefore, .queuePaused, .noWorker:
                catalogSeconds = max(catalogSeconds, wait.seconds ?? 0)
            case .schedule: catalogSeconds = max(catalogSeconds, wait.seconds ?? .infinity)
            case .retry, .workerSilent, .originCooldown, .originLimit, .siteLimit,
                .otherCatalogs, .other:
                jobSeconds.append(wait.seconds ?? 0)
            }
        }
        return max(catalogSeconds, jobSeconds.min() ?? 0)
    }

    /// Most reasons that are reported.
    package static let mostReported = 5

    /// What is reported of these: those that end last first, before them those of which no end is known.
    package static func ordered(_ waits: [CatalogWait]) -> [CatalogWait] {
        let sorted = waits.enumerated().sorted { first, second in
            let ends = [first, second].map { $0.element.seconds ?? .infinity }
            return ends[0] != ends[1] ? ends[0] > ends[1] : first.offset < second.offset
        }
        return sorted.prefix(mostReported).map(\.element)
    }
}

extension CatalogWait: Codable {
    private enum Keys: String, CodingKey {
        case reason, seconds, until, queue, workers, code, worker, leases, origin, origins, catalogs
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
        case "schedule": reason = .schedule
        case "queuePaused": reason = .queuePaused(queue: try text(.queue))
        case "noWorker":
            reason = .noWorker(queue: try text(.queue), workers: try number(.workers))
        case "retry": reason = .retry(code)
        case "workerSilent":
            reason = .workerSilent(
                worker: try fields.decodeIfPresent(String.self, forKey: .worker),
                leases: try number(.leases))
        case "originCooldown":
            reason = .originCooldown(
                origin: try text(.origin), code: code, origins: try number(.origins))
        case "originLimit":
            reason = .originLimit(origin: try text(.origin), origins: try number(.origins))
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
        case .notBefore, .schedule, .siteLimit, .other: break
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
        case .otherCatalogs(let count): try fields.encode(count, forKey: .catalogs)
        }
    }
}

extension CatalogWait.Reason {
    /// As it is called on the wire.
    package var name: String {
        switch self {
        case .notBefore: "notBefore"
        case .schedule: "schedule"
        case .queuePaused: "queuePaused"
        case .noWorker: "noWorker"
        case .retry: "retry"
        case .workerSilent: "workerSilent"
        case .originCooldown: "originCooldown"
        case .originLimit: "originLimit"
        case .siteLimit: "siteLimit"
        case .otherCatalogs: "otherCatalogs"
        case .other(let name): name
        }
    }
}

/// What becomes of a catalog's deadline, where that is not kept.
package struct DeadlineOutlook: Codable, Hashable, Sendable {
    package var kind: Kind
    /// By how much it ends after the deadline: at least `missed` while it runs, an estimate of `late`; nil when
    /// that is not known.
    package var seconds: Double?

    package enum Kind: String, Codable, Sendable {
        /// It is over: the catalog runs still, or ended later.
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

    /// Estimates are only good for so much: a catalog is late beyond this part of the time that is left.
    private static let margin = 0.1
    private static let marginSeconds = 5.0

    /// Nil while the deadline may be met, and for a catalog that has none or was ended.
    ///
    /// - Parameters:
    ///   - deadlineSeconds: until the deadline, from now or from the catalog's end; negative when it was over.
    ///   - waits: all there are, not only those that are reported.
    ///   - hasReadyJobs: whether some of its jobs wait for nothing but a worker.
    ///   - secondsLeft: the time that the rest takes; nil when that is not known.
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

extension CatalogTotals {
    /// The time that the rest takes at the pace of a while of `seconds` in which so many segments ended and so many
    /// bytes were fetched; nil when that says nothing: a short while, or one in which nothing came.
    package func secondsLeft(seconds: Double, segments: Double, bytes: Double) -> Double? {
        guard seconds >= 10 else { return nil }
        let rest: Double
        let done: Double
        if let expectedBytes, expectedBytes > 0 {
            (rest, done) = (Double(max(0, expectedBytes - self.bytes - receivingBytes)), bytes)
        } else {
            (rest, done) = (
                Double(max(0, self.segments - segmentsDone - segmentsFailed)), segments
            )
        }
        guard done > 0 else { return nil }
        return rest * seconds / done
    }
}
