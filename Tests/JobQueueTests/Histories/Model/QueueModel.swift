import API
import Model
import TestSupport

/// The queue as a value: what it must hold after each step, and nothing of how it holds it.
///
/// It keeps no counts but derives them from what it keeps, so that counters that drift are seen.
struct QueueModel: Equatable, Sendable {
    var catalogs: [Int: Catalog] = [:]
    /// Work that is to be done: waiting, or held by a ticket.
    var jobs: [Work: Job] = [:]
    /// By their numbers; those that were ended are not here.
    var leases: [Int: Lease] = [:]
    /// Origins in cooldown.
    var originsInCooldown: Set<String> = []
    /// Sites that could not be written: nothing of them is handed out.
    var faultySites: Set<Int> = []
    /// By site; made with the site's first catalog.
    var queues: [Int: QueueState] = [:]
    /// By site; missing while none is recorded.
    var volumes: [Int: Int] = [:]
    /// By site, the file systems that they were last found on.
    var fileSystems: [Int: Int] = [:]

    struct Job: Equatable, Sendable {
        /// Tries that have begun and count.
        var attempt = 0
        var isDelayed = false
        /// That is why, when it is delayed.
        var waitsForSpace = false
        var hold: Ticket?
        /// It waits for a fresh URL; what its origin answered to the last one.
        var awaitsURL: FailureCode?
        /// Of the lane that it is in; nil for its catalog's, `paused` while its asset is.
        var priority: Int?

        static let paused = -2
    }

    struct Lease: Equatable, Sendable {
        var worker: Int
        /// Its time is over, and no sweep has ended it yet.
        var isOverdue = false
        /// What was cancelled while it held it.
        var cancelled: [Work] = []
    }

    struct Catalog: Equatable, Sendable {
        var site: Int
        /// The submission last opened, and the one last started.
        var opened = 1
        var generation = 0
        var state = CatalogState.open
        var assets: [String: Asset] = [:]
        /// Directories with running jobs, as far as they have been folded.
        var busy: Set<String> = []
        /// Directories whose list of digests is still to be written.
        var checksumsOwed: Set<String> = []
        var checksumsFailed = 0
        var checksumsRetries = 0
        /// Its time has not come.
        var isHeldBack = false
        /// What was started last has a deadline, which was over before it was opened.
        var isOverdue = false
        /// So has what was opened last.
        var isOpenedOverdue = false
    }

    struct Asset: Equatable, Sendable {
        /// As named last; what was started may differ until the next start.
        var spec: AssetSpec
        /// Where it was started.
        var directory: String
        var generation: Int
        var state = AssetState.new {
            didSet { if hasEnded { isPaused = false } }
        }
        var isPaused = false
        var isRedefined = false
        /// Named again with another signature, and not started since.
        var hasOtherURL = false
        /// Its manifest is read again for fresh URLs.
        var isRenewing = false
        /// How often in a row without a segment stored since, and how many were stored then.
        var renewals = 0
        var renewedDone = 0
        /// Its manifest was read.
        var isResolved = false
        /// Part of the submission that was started last.
        var isCounted = false
        /// Its segments count: those of a list that is still being read do not.
        var isTallied = false
        var segments: [Int: Segment] = [:]
        var adoptedBytes: Int64 = 0
        var retries = 0
        /// Its own, before its catalog's.
        var priority: Int?
        /// The failure that is shown; several when a batch brought them together.
        var failures: Set<FailureCode> = []
        /// What its refresh has handed in of its first file.
        var handedIn: HandedIn?
        /// Totals of its files since a refresh changed them.
        var refreshedBytes: Int64?
    }

    struct HandedIn: Equatable, Sendable {
        var object: StoredObject
        var by: Ticket
        var isStaged: Bool
    }

    struct Segment: Equatable, Sendable {
        var spec: SegmentSpec
        /// Its manifest, read again, has listed it.
        var isFresh = false
        var whole = Piece()
        /// While, and after, it is fetched in parts.
        var multipart: MultipartFile?
    }

    struct MultipartFile: Equatable, Sendable {
        /// Number in the history of the split that made it.
        var split: Int
        var totalBytes: Int64
        var parts: [Int64: Piece]
        var lengths: [Int64: Int64]
        /// The try of the whole that was split.
        var attempt: Int
        var isFailed = false
        /// Under its final key; the parts are history, and count until the next start.
        var isVerified = false
    }

    struct Piece: Equatable, Sendable {
        var result: Result?
        /// What of the result counts since the last start.
        var tally: Tally?

        var isStored: Bool {
            if case .stored = result { true } else { false }
        }
    }

    enum Result: Equatable, Sendable {
        case stored(StoredObject)
        case failed(FailureCode)
    }

    struct Tally: Equatable, Sendable {
        var isDone: Bool
        var bytes: Int64 = 0
    }
}

extension QueueModel.Segment {
    /// What is fetched of it: itself, or its parts.
    var pieces: [QueueModel.Piece] { multipart.map { Array($0.parts.values) } ?? [whole] }

    var awaitsVerification: Bool { multipart?.isVerified == false }
}

/// What is derived.
extension QueueModel.Asset {
    private var tallies: [QueueModel.Tally] {
        isTallied ? segments.values.flatMap { $0.pieces.compactMap(\.tally) } : []
    }

    private var multipartFiles: [QueueModel.MultipartFile] {
        isTallied ? segments.values.compactMap(\.multipart) : []
    }

    var segmentCount: Int {
        isTallied ? segments.values.reduce(0) { $0 + $1.pieces.count } : 0
    }
    var doneCount: Int { tallies.count { $0.isDone } }
    var failedCount: Int { tallies.count { !$0.isDone } }
    var bytes: Int64 { refreshedBytes ?? tallies.reduce(0) { $0 + $1.bytes } }
    var verifyCount: Int { multipartFiles.count }
    var verifiedCount: Int { multipartFiles.count { $0.isVerified } }
    var verifyFailedCount: Int { multipartFiles.count { $0.isFailed } }

    /// The state that follows from its counts once a result is recorded.
    var stateByCounts: AssetState {
        if doneCount + failedCount < segmentCount { return .inProgress }
        if verifiedCount + verifyFailedCount < verifyCount { return .verifying }
        return failedCount + verifyFailedCount > 0 ? .failed : .completed
    }

    /// Of the lanes that its jobs belong in.
    var lanePriority: Int? { isPaused ? QueueModel.Job.paused : priority }

    var hasEnded: Bool { [.completed, .failed, .cancelled].contains(state) }

    /// Keeps the first failure: of those given together, any.
    mutating func note(_ codes: Set<FailureCode>) {
        if failures.isEmpty { failures = codes }
    }
}

/// Looking up.
extension QueueModel {
    subscript(key: AssetKey) -> Asset? {
        get { catalogs[key.catalog]?.assets[key.name] }
        set { catalogs[key.catalog]?.assets[key.name] = newValue }
    }

    /// The work that a ticket holds now, for this worker: the fence.
    func held(_ ticket: Ticket, by worker: Int) -> Work? {
        guard leases[ticket.lease]?.worker == worker else { return nil }
        return jobs.first { $0.value.hold == ticket }?.key
    }

    func jobs(of asset: AssetKey) -> [Work] { jobs.keys.filter { $0.asset == asset } }

    /// A job of it that waits: in a lane of the asset's priority.
    func newJob(of key: AssetKey?, attempt: Int = 0, isDelayed: Bool = false) -> Job {
        Job(
            attempt: attempt, isDelayed: isDelayed,
            priority: key.flatMap { self[$0]?.lanePriority })
    }

    /// Whether something waits for time to pass.
    var isWaiting: Bool {
        !originsInCooldown.isEmpty || !faultySites.isEmpty
            || jobs.values.contains(where: \.isDelayed)
    }

    /// Whether a lease holds work.
    func holdsWork(_ lease: Int) -> Bool { jobs.values.contains { $0.hold?.lease == lease } }

    /// Whose cooldown a piece of work waits for.
    func origin(of work: Work) -> String? {
        guard let key = work.asset, let asset = self[key] else { return nil }
        switch work.kind {
        case .resolve, .refresh: return originOf(asset.spec.url)
        case .fetch, .verify: return asset.segments[work.ordinal].map { originOf($0.spec.url) }
        case .checksums, .publish, .purge: return nil
        }
    }

    /// Whether another origin may serve it.
    func hasMirror(_ work: Work) -> Bool {
        work.kind == .fetch && work.offset == nil
            && work.asset.flatMap { self[$0]?.spec.hasMirror } == true
    }

    func site(of work: Work) -> Int { catalogs[work.catalog]?.site ?? -1 }

    /// How long a part is.
    func length(of work: Work) -> Int64? {
        guard let key = work.asset, let offset = work.offset else { return nil }
        return self[key]?.segments[work.ordinal]?.multipart?.lengths[offset]
    }
}
