package import Model

/// A load test: targets, load, duration and thresholds.
///
/// A value that has been read and checked (`LoadScenarioReader`, the command line). The same seed
/// gives the same requests.
package struct LoadScenario: Sendable, Equatable {
    package var name = ""
    package var seed: UInt64 = 1
    package var targets: [LoadTarget] = []
    package var popularity = LoadPopularity.weights
    package var model = LoadModel.closed
    /// Arrivals per second (open) or concurrent users (closed), one stage after another.
    package var stages: [LoadStage] = []
    package var user = LoadUser.requests
    /// Whole seconds, 0 or more. No figure includes requests that end before.
    package var warmUpSeconds = 0.0
    package var caps = LoadCaps()
    package var http = LoadHTTP()
    package var think = ThinkTime.none
    package var bodies = LoadBodies.discarded
    /// Hosts and address blocks that requests may go to, beside the hosts of `targets`.
    package var allow: [String] = []
    /// Lowercase hosts that get requests only if they have no public address.
    package var privateHosts: [String] = []
    package var thresholds: [LoadThreshold] = []

    package init() {}

    /// Duration of all stages, limited by the cap.
    package var durationSeconds: Double {
        let stages = stages.reduce(0) { $0 + $1.seconds }
        return min(stages, caps.durationSeconds ?? .infinity)
    }

    /// Returns the measured time of a test that has sent requests for `seconds`: from the end of the
    /// warm-up to the end of the load, without the wait for the last requests. All rates refer to it.
    package func measuredSeconds(atSeconds seconds: Double) -> Double {
        max(min(seconds, durationSeconds) - warmUpSeconds, 0)
    }

    /// Maximum number of concurrent requests of a shard: from `http`, or 1,000, or more for one
    /// slot per user of a closed test within limits.
    package var concurrency: Int { http.concurrency ?? max(1_000, concurrencyForUsers) }

    /// Returns the maximum number of a shard's concurrent requests; in a closed test at most its
    /// users.
    package func maxRequests(of shard: LoadShard) -> Int {
        guard case .closed = model else { return concurrency }
        return min(concurrency, max(1, Int(shard.portion(of: Int64(concurrencyForUsers)))))
    }

    /// Slots of a closed test, one per user within limits; 0 for an open one.
    package var concurrencyForUsers: Int {
        guard case .closed = model else { return 0 }
        let most = Double(LoadLimits.concurrency.upperBound)
        return Int(min((stages.map { max($0.from, $0.to) }.max() ?? 0).rounded(.up), most))
    }
}

/// A target of requests: a file, a title, or all entries of a list.
package struct LoadTarget: Sendable, Equatable {
    package enum Source: Sendable, Equatable {
        case url(String, AssetKind)
        /// An object of a bucket, and its signed URL once the command has signed it.
        case object(BucketLocation, signedURL: String?)
        /// Path of a list, in any format that `dray prefetch` reads.
        case list(String)
        /// The requests of an access log; the only target.
        case replay(LoadReplay)
    }

    package var name: String
    package var source: Source
    /// Relative weight among all targets, above 0; assets of a list divide it evenly.
    package var weight = 1.0
    /// Digest of a file, in lowercase hex, for `LoadBodies.checked`.
    package var sha256: String?
    /// True if a failure in the preflight does not reject it, and the default bound on errors does
    /// not hold for it.
    package var mayFail = false

    package init(name: String, source: Source) {
        self.name = name
        self.source = source
    }
}

/// The popularity of targets.
package enum LoadPopularity: Sendable, Equatable {
    case weights
    /// The k-th target has weight 1/k to the power of `exponent`, 0 to 5.
    case zipf(exponent: Double)
}

/// The model of arrivals.
package enum LoadModel: Sendable, Equatable {
    /// Arrivals follow a schedule, independent of earlier responses.
    case open(ArrivalProcess)
    /// A user starts the next request when one ends, after its think time.
    case closed

    package enum ArrivalProcess: String, Sendable, CaseIterable {
        /// At equal intervals.
        case constant
        /// At random, independent of one another.
        case poisson
    }
}

/// A period in which the rate, or the number of users, changes linearly.
package struct LoadStage: Sendable, Hashable {
    /// 0 for a step.
    package var seconds: Double
    package var from: Double
    package var to: Double

    package init(seconds: Double, from: Double, to: Double) {
        self.seconds = seconds
        self.from = from
        self.to = to
    }
}

/// The activity of an arrival or user.
package enum LoadUser: Sendable, Equatable {
    /// One request; the segments of a title are requested in rotation.
    case requests
    /// Plays a title.
    case viewers(ViewerSettings)
}

/// Settings of a viewer.
package struct ViewerSettings: Sendable, Equatable {
    /// Seconds in the buffer at which playback starts, and resumes after a stall.
    package var startupSeconds = 2.0
    /// Maximum seconds in the buffer; a full buffer pauses requests.
    package var bufferSeconds = 30.0
    /// Maximum watched time; nil for the whole title.
    package var watchSeconds: Double?
    /// Restarts the title at its end, until `watchSeconds` or the test's end.
    package var loops = false
    /// Maximum ratio of a rendition's bit rate to the measured throughput, above 0, up to 1.
    package var safety = 0.8
    /// Maximum bit rate of the first rendition; nil for the lowest rendition.
    package var startBitsPerSecond: Int64?
    /// Plays one rendition all the time, the highest within this rate; nil to choose by throughput.
    package var fixedBitsPerSecond: Int64?
    /// True if its first request opens a connection, as a player's does, so that each viewer has
    /// one.
    package var opensConnection = true
    /// True if separate audio has requests of its own, beside those of the video; live titles
    /// always do.
    package var parallelRequests = false
    /// Classes of viewers; empty for viewers without limits.
    package var classes: [ViewerClass] = []
    /// Path of a file with what each viewer adds to its requests, see `ViewerData`; nil for none.
    package var data: String?

    package init() {}
}

/// Limits of a test for all its shards together.
package struct LoadCaps: Sendable, Equatable {
    package var durationSeconds: Double?
    package var requests: Int64?
    /// Bytes of bodies.
    package var bytes: Int64?

    package init() {}

    /// Returns the requests and bytes left after a run; nil if none are left, or if a lost worker's
    /// last requests are unknown.
    package func left(after result: LoadResult) -> LoadCaps? {
        guard result.isWhole || requests == nil && bytes == nil else { return nil }
        var left = self
        let (warmUp, total) = (result.warmUp.counts, result.total.counts)
        left.requests = requests.map { $0 - warmUp.requests.sent - total.requests.sent }
        left.bytes = bytes.map { $0 - warmUp.requests.bytes - total.requests.bytes }
        return (left.requests ?? 1) > 0 && (left.bytes ?? 1) > 0 ? left : nil
    }
}

/// Settings of requests.
package struct LoadHTTP: Sendable, Equatable {
    package enum Version: String, Sendable, CaseIterable {
        /// HTTP/2 over TLS if the origin offers it, otherwise HTTP/1.1.
        case automatic
        case http1 = "1.1"
        /// Without TLS by prior knowledge.
        case http2 = "2"
    }

    package var version = Version.automatic
    /// False opens a connection per request.
    package var keepsAlive = true
    /// Maximum number of a shard's concurrent requests. A request beyond it waits, and its latency
    /// counts from its due time. Nil for the default of `LoadScenario.concurrency`.
    package var concurrency: Int?
    package var headers: [RequestHeader] = []
    package var connectTimeoutSeconds = 10.0
    /// Timeout of a request, from sending; also the maximum wait for the last ones.
    package var timeoutSeconds = 60.0
    /// A PEM file of certificate authorities that replaces the system's.
    package var caFile: String?
    /// Maximum number of redirects of a request; nil for the default of
    /// `LoadScenario.maxRedirects`.
    package var maxRedirects: Int?

    package init() {}
}

/// Pause of a user between two requests or titles, in the closed model.
package enum ThinkTime: Sendable, Equatable {
    case none
    case constant(seconds: Double)
    case exponential(meanSeconds: Double)
}

/// The handling of bodies.
package enum LoadBodies: String, Sendable, Equatable, CaseIterable {
    case discarded = "discard"
    /// Hashed and compared with the digest of a target or its list.
    case checked = "check"
}

/// A shard: one of `count` equal parts of a test, from 0.
package struct LoadShard: Sendable, Hashable {
    package var index: Int
    package var count: Int

    package static let whole = LoadShard(index: 0, count: 1)

    package init(index: Int, count: Int) {
        precondition(count > 0 && index >= 0 && index < count)
        self.index = index
        self.count = count
    }

    /// Returns part `index` of `count` of this shard. The parts' arrivals and portions add up to
    /// its own.
    package func part(_ index: Int, of count: Int) -> LoadShard {
        LoadShard(index: self.index + self.count * index, count: self.count * count)
    }

    /// Returns this shard's portion of `total`: the remainder goes to the first shards.
    package func portion(of total: Int64) -> Int64 {
        total / Int64(count) + (Int64(index) < total % Int64(count) ? 1 : 0)
    }
}

extension LoadScenario {
    /// Maximum number of redirects that a player follows.
    private static let redirectsOfViewers = 10

    /// Maximum number of redirects of a request; 0 counts one as a failure. By default viewers
    /// follow redirects, as players do, and single requests do not.
    package var maxRedirects: Int {
        if let most = http.maxRedirects { return most }
        if case .viewers = user { return Self.redirectsOfViewers }
        return 0
    }
}
