package import Model

/// The estimated end of a running catalog, the reason for it, and whether that is in time.
package struct CatalogFinish: Hashable, Sendable {
    package var estimate: Estimate
    package var deadline: Deadline

    package enum Estimate: Hashable, Sendable {
        /// In seconds since 1970, and from now.
        case finishes(at: Double, seconds: Double, Bound)
        case unknown(UnknownCause)
    }

    /// The limit that determines the time that is left.
    package enum Bound: Hashable, Sendable {
        /// The rate of so many workers.
        case workers(Int)
        /// The limits of origins; the first one, and their number.
        case originLimit(origin: String, origins: Int)
        /// The bandwidth of the site.
        case siteBandwidth
        /// The site's schedule is closed at times until then.
        case schedule
        /// Its last assets may not start before.
        case notBefore
        /// Other catalogs that share the workers.
        case otherCatalogs(Int)
        /// All segments have ended; checksum files may be missing.
        case nothingLeft
        /// A reason that only newer coordinators know.
        case other(String)
    }

    /// The reason why the end is not known.
    package enum UnknownCause: Hashable, Sendable {
        case noWorker(queue: String)
        case queuePaused(queue: String)
        /// All assets that are left are paused.
        case paused
        /// Nothing can be written to the site.
        case siteFailing(FailureCode)
        /// The storage lacks so many bytes for what is left.
        case noRoom(missingBytes: Int64)
        /// The schedule does not open long enough within the forecast.
        case scheduleClosed
        /// No rate was seen yet, and no limit gives one.
        case noRate
        /// Manifests that are not read yet hide what is left.
        case noSize
        /// A reason that only newer coordinators know.
        case other(String)
    }

    package enum Deadline: String, Codable, CaseIterable, Sendable {
        /// It has no deadline.
        case noDeadline = "none"
        /// It will end in time, within the tolerance of the estimate.
        case met
        /// It will end after it.
        case missed
        /// The end is not known.
        case unknown
    }

    package init(_ estimate: Estimate, deadline: Deadline) {
        self.estimate = estimate
        self.deadline = deadline
    }

    /// Time left in seconds; nil if unknown.
    package var seconds: Double? {
        if case .finishes(_, let seconds, _) = estimate { seconds } else { nil }
    }
}

extension CatalogFinish.Bound {
    /// Name on the wire.
    package var name: String {
        switch self {
        case .workers: "workers"
        case .originLimit: "originLimit"
        case .siteBandwidth: "siteBandwidth"
        case .schedule: "schedule"
        case .notBefore: "notBefore"
        case .otherCatalogs: "otherCatalogs"
        case .nothingLeft: "nothingLeft"
        case .other(let name): name
        }
    }
}

extension CatalogFinish.UnknownCause {
    /// Name on the wire.
    package var name: String {
        switch self {
        case .noWorker: "noWorker"
        case .queuePaused: "queuePaused"
        case .paused: "paused"
        case .siteFailing: "siteFailing"
        case .noRoom: "noRoom"
        case .scheduleClosed: "scheduleClosed"
        case .noRate: "noRate"
        case .noSize: "noSize"
        case .other(let name): name
        }
    }
}

extension CatalogFinish: Codable {
    private enum Keys: String, CodingKey {
        case state, at, seconds, reason, workers, origin, origins, catalogs, queue, code
        case missingBytes, deadline
    }

    private enum State: String, Codable {
        case finishes, unknown
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Keys.self)
        deadline = try fields.decode(Deadline.self, forKey: .deadline)
        let reason = try fields.decode(String.self, forKey: .reason)
        func number(_ key: Keys) throws -> Int { try fields.decode(Int.self, forKey: key) }
        func text(_ key: Keys) throws -> String { try fields.decode(String.self, forKey: key) }
        switch try fields.decode(State.self, forKey: .state) {
        case .finishes:
            let bound: Bound =
                switch reason {
                case "workers": .workers(try number(.workers))
                case "originLimit":
                    .originLimit(origin: try text(.origin), origins: try number(.origins))
                case "siteBandwidth": .siteBandwidth
                case "schedule": .schedule
                case "notBefore": .notBefore
                case "otherCatalogs": .otherCatalogs(try number(.catalogs))
                case "nothingLeft": .nothingLeft
                default: .other(reason)
                }
            estimate = .finishes(
                at: try fields.decode(Double.self, forKey: .at),
                seconds: try fields.decode(Double.self, forKey: .seconds), bound)
        case .unknown:
            let cause: UnknownCause =
                switch reason {
                case "noWorker": .noWorker(queue: try text(.queue))
                case "queuePaused": .queuePaused(queue: try text(.queue))
                case "paused": .paused
                case "siteFailing": .siteFailing(FailureCode(try text(.code)))
                case "noRoom":
                    .noRoom(missingBytes: try fields.decode(Int64.self, forKey: .missingBytes))
                case "scheduleClosed": .scheduleClosed
                case "noRate": .noRate
                case "noSize": .noSize
                default: .other(reason)
                }
            estimate = .unknown(cause)
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Keys.self)
        try fields.encode(deadline, forKey: .deadline)
        switch estimate {
        case .finishes(let at, let seconds, let bound):
            try fields.encode(State.finishes, forKey: .state)
            try fields.encode(at, forKey: .at)
            try fields.encode(seconds, forKey: .seconds)
            try fields.encode(bound.name, forKey: .reason)
            switch bound {
            case .workers(let count): try fields.encode(count, forKey: .workers)
            case .originLimit(let origin, let origins):
                try fields.encode(origin, forKey: .origin)
                try fields.encode(origins, forKey: .origins)
            case .otherCatalogs(let count): try fields.encode(count, forKey: .catalogs)
            case .siteBandwidth, .schedule, .notBefore, .nothingLeft, .other: break
            }
        case .unknown(let cause):
            try fields.encode(State.unknown, forKey: .state)
            try fields.encode(cause.name, forKey: .reason)
            switch cause {
            case .noWorker(let queue), .queuePaused(let queue):
                try fields.encode(queue, forKey: .queue)
            case .siteFailing(let code): try fields.encode(code, forKey: .code)
            case .noRoom(let bytes): try fields.encode(bytes, forKey: .missingBytes)
            case .paused, .scheduleClosed, .noRate, .noSize, .other: break
            }
        }
    }
}
