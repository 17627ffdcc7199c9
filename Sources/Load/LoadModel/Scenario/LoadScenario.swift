package import Model

/// What a load test asks for, of whom, how often and for how long, and what must hold.
///
/// A value that has been read and checked (`LoadScenarioReader`, the command line); the same seed asks
/// for the same.
package struct LoadScenario: Sendable, Equatable {
    package var name = ""
    package var seed: UInt64 = 1
    package var targets: [LoadTarget] = []
    package var popularity = LoadPopularity.weights
    package var model = LoadModel.closed
    /// Arrivals a second (open) or users at a time (closed), one stage after another.
    package var stages: [LoadStage] = []
    package var user = LoadUser.requests
    /// What ends before it is left out of every figure, whole seconds, 0 or more.
    package var warmUpSeconds = 0.0
    package var caps = LoadCaps()
    package var http = LoadHTTP()
    package var think = ThinkTime.none
    package var bodies = LoadBodies.discarded
    /// Hosts and address blocks that requests may go to, beside the hosts of `targets`.
    package var allow: [String] = []
    /// Hosts that are asked where they have no public address only, in lower case.
    package var privateHosts: [String] = []
    package var thresholds: [LoadThreshold] = []

    package init() {}

    /// Of all stages.
    package var durationSeconds: Double {
        let stages = stages.reduce(0) { $0 + $1.seconds }
        return min(stages, caps.durationSeconds ?? .infinity)
    }

    /// How long a test that has gone on for `seconds` has measured: from the end of the warm-up to the end of
    /// the load, without the time in which the last requests are waited for. All rates are by it.
    package func measuredSeconds(atSeconds seconds: Double) -> Double {
        max(min(seconds, durationSeconds) - warmUpSeconds, 0)
    }

    /// Requests under way at a time at most in all of a share: as `http` says, or else 1,000, and a place for each
    /// user of a closed test as far as that is allowed.
    package var concurrency: Int { http.concurrency ?? max(1_000, placesForUsers) }

    /// Requests that a share has under way at a time at most: of a closed test, no more than it has users.
    package func mostRequests(of share: LoadShare) -> Int {
        guard case .closed = model else { return concurrency }
        return min(concurrency, max(1, Int(share.portion(of: Int64(placesForUsers)))))
    }

    /// Of a closed test, a place for each user as far as that is allowed; 0 of an open one.
    package var placesForUsers: Int {
        guard case .closed = model else { return 0 }
        let most = Double(LoadLimits.concurrency.upperBound)
        return Int(min((stages.map { max($0.from, $0.to) }.max() ?? 0).rounded(.up), most))
    }
}

/// Something to ask for: a file, a title, or all that a list names.
package struct LoadTarget: Sendable, Equatable {
    package enum Source: Sendable, Equatable {
        case url(String, AssetKind)
        /// A list's path, in any format that `dray prefetch` reads.
        case list(String)
    }

    package var name: String
    package var source: Source
    /// Its share, over 0, among those of all targets; assets of a list share it evenly.
    package var weight = 1.0
    /// Of a file, in lower-case hex, for `LoadBodies.checked`.
    package var sha256: String?
    /// It is asked for although it answers with an error or a redirect before the load.
    package var mayFail = false

    package init(name: String, source: Source) {
        self.name = name
        self.source = source
    }
}

/// How often each target is chosen.
package enum LoadPopularity: Sendable, Equatable {
    case weights
    /// The k-th target by 1/k to the power of `exponent`, 0 to 5.
    case zipf(exponent: Double)
}

/// Who decides when the next one comes.
package enum LoadModel: Sendable, Equatable {
    /// They come by a plan, however long the ones before take.
    case open(ArrivalProcess)
    /// One that ends, and has had its think time, is followed by the next.
    case closed

    package enum ArrivalProcess: String, Sendable, CaseIterable {
        /// As far apart as the rate says.
        case constant
        /// Independent of one another.
        case poisson
    }
}

/// A time in which the rate, or the number of users, goes evenly from one value to another.
package struct LoadStage: Sendable, Hashable {
    /// 0 for a jump.
    package var seconds: Double
    package var from: Double
    package var to: Double

    package init(seconds: Double, from: Double, to: Double) {
        self.seconds = seconds
        self.from = from
        self.to = to
    }
}

/// What one that comes does.
package enum LoadUser: Sendable, Equatable {
    /// One request; of a title the segments are asked for in turn.
    case requests
    /// Plays a title.
    case viewers(ViewerSettings)
}

/// How a viewer plays.
package struct ViewerSettings: Sendable, Equatable {
    /// Seconds in the buffer with which playing starts, and goes on after a stall.
    package var startupSeconds = 2.0
    /// Most seconds in the buffer; nothing is asked for while it is full.
    package var bufferSeconds = 30.0
    /// How much of a title is watched, at most; nil for all of it.
    package var watchSeconds: Double?
    /// Starts the title again at its end, until `watchSeconds` or the test's end.
    package var loops = false
    /// Of the measured throughput, the share that a rendition's bit rate may take, over 0 to 1.
    package var safety = 0.8
    /// The highest bit rate to start with; nil for the lowest there is.
    package var startBitsPerSecond: Int64?
    /// Plays one rendition all the time: the highest that this allows; nil to choose by throughput.
    package var fixedBitsPerSecond: Int64?
    /// Its first request opens a connection, as a player's does, so that there are as many as viewers.
    package var opensConnection = true

    package init() {}
}

/// What a test never goes beyond, all its shares together.
package struct LoadCaps: Sendable, Equatable {
    package var durationSeconds: Double?
    package var requests: Int64?
    /// Of bodies.
    package var bytes: Int64?

    package init() {}

    /// What of requests and bytes is left after a run; nil where nothing is, or may be: what a worker that was
    /// lost has sent last, nobody has told.
    package func left(after result: LoadResult) -> LoadCaps? {
        guard result.isWhole || requests == nil && bytes == nil else { return nil }
        var left = self
        let (warmUp, total) = (result.warmUp.counts, result.total.counts)
        left.requests = requests.map { $0 - warmUp.sent - total.sent }
        left.bytes = bytes.map { $0 - warmUp.bytes - total.bytes }
        return (left.requests ?? 1) > 0 && (left.bytes ?? 1) > 0 ? left : nil
    }
}

/// How requests are made.
package struct LoadHTTP: Sendable, Equatable {
    package enum Version: String, Sendable, CaseIterable {
        /// HTTP/2 over TLS where it is offered, else HTTP/1.1.
        case automatic
        case http1 = "1.1"
        /// Without TLS by prior knowledge.
        case http2 = "2"
    }

    package var version = Version.automatic
    /// False for a connection a request.
    package var keepsAlive = true
    /// Requests under way at a time at most in all of a share; one that is due beyond them waits, and its
    /// latency counts from when it was due. Nil for as many as `LoadScenario.concurrency` says.
    package var concurrency: Int?
    package var headers: [RequestHeader] = []
    package var connectTimeoutSeconds = 10.0
    /// Of one request, from when it is sent; what the last ones are waited for at most.
    package var timeoutSeconds = 60.0
    /// A PEM file of certificate authorities in place of the system's.
    package var caFile: String?

    package init() {}
}

/// How long a user rests between two requests or titles, in the closed model.
package enum ThinkTime: Sendable, Equatable {
    case none
    case constant(seconds: Double)
    case exponential(meanSeconds: Double)
}

/// What becomes of bodies.
package enum LoadBodies: String, Sendable, Equatable, CaseIterable {
    case discarded = "discard"
    /// Hashed, and compared with the digest that a target or its list has.
    case checked = "check"
}

/// One of `count` equal parts of a test, counted from 0.
package struct LoadShare: Sendable, Hashable {
    package var index: Int
    package var count: Int

    package static let whole = LoadShare(index: 0, count: 1)

    package init(index: Int, count: Int) {
        precondition(count > 0 && index >= 0 && index < count)
        self.index = index
        self.count = count
    }

    /// The `index`-th of `count` parts of this share: their arrivals and portions are together its own.
    package func part(_ index: Int, of count: Int) -> LoadShare {
        LoadShare(index: self.index + self.count * index, count: self.count * count)
    }

    /// How many of `total` things are this share's: what does not divide goes to the first ones.
    package func portion(of total: Int64) -> Int64 {
        total / Int64(count) + (Int64(index) < total % Int64(count) ? 1 : 0)
    }
}
