package import Model
import Postgres
import Synchronization

/// Quotas of the limits of origins and sites: a part of each for every worker that holds jobs there.
///
/// How they are divided is `Model.Quota`. Here they are read and written, under the locks of the origins' rows
/// and then of the sites' rows, each in the order of their numbers.
extension JobQueue {
    /// What an answer to a worker carries of its quotas; nil for nothing.
    struct Quotas: Sendable {
        var origins: [OriginShare]?
        var sites: [SiteShare]?
    }

    /// When quotas are looked at: a claim granted jobs, it found none, or the worker reports what it uses.
    enum QuotaOccasion: Sendable { case claim, claimInVain, report }

    /// Divides what concerns a worker, and answers its quotas.
    func quotas(
        of worker: WorkerID, after occasion: QuotaOccasion, origins: [OriginShareUse] = [],
        sites: [SiteShareUse] = [], busy: Set<String> = [], _ connection: PostgresConnection
    ) async throws -> Quotas {
        let resources = try await connection.query(
            SQL.Quotas.concerned,
            [
                "worker": .uuid(worker), "origins": .textArray(origins.map(\.origin)),
                "sites": .int64Array(sites.map(\.site.rawValue)),
            ]
        ).rows.map { try QuotaResource(row: $0) }
        guard !resources.isEmpty else { return Quotas() }
        let ids = { (kind: QuotaResource.Kind) in
            PostgresValue.int64Array(resources.filter { $0.kind == kind }.map(\.id))
        }
        return try await connection.transaction { connection in
            let results = try await connection.pipeline([
                PostgresStatement(SQL.Quotas.lockOrigins, ["origins": ids(.origin)]),
                PostgresStatement(SQL.Quotas.lockSites, ["sites": ids(.site)]),
                PostgresStatement(
                    SQL.Quotas.read,
                    [
                        "worker": .uuid(worker),
                        "kinds": .textArray(resources.map(\.kind.rawValue)),
                        "resources": .int64Array(resources.map(\.id)),
                    ]),
            ])
            let held = Set(resources.filter(\.isHeld).map { QuotaResource.Place($0.kind, $0.id) })
            var division = QuotaDivision(seconds: settings.leaseSeconds, occasion)
            for row in results[2].rows {
                let entry = try QuotaEntry(row: row)
                division.take(
                    entry, isHeld: held.contains(entry.place), isBusy: busy.contains(entry.url),
                    use: entry.use(of: origins, sites),
                    active: origins.first { $0.origin == entry.url }.map { Int64($0.active) })
            }
            _ = try await connection.pipeline(division.statements(for: worker))
            return division.answer
        }
    }

    /// Ends quotas of workers that hold nothing of what they are of, as those that have gone; true when there were any.
    package func endQuotas() async throws(Failure) -> Bool {
        guard areLimitsSet.load(ordering: .relaxed) else { return false }
        return try await withConnection { connection in
            try await connection.query(SQL.Quotas.end).only().int64("ended") > 0
        }
    }
}

/// An origin or a site whose limits concern a worker.
private struct QuotaResource {
    enum Kind: String { case origin, site }

    struct Place: Hashable {
        var kind: Kind
        var id: Int64

        init(_ kind: Kind, _ id: Int64) { (self.kind, self.id) = (kind, id) }
    }

    var kind: Kind
    var id: Int64
    /// The worker holds jobs of it.
    var isHeld: Bool

    init(row: PostgresRow) throws {
        kind = try row.string("kind") == "site" ? .site : .origin
        id = try row.int64("id")
        isHeld = try row.bool("is_held")
    }
}

/// A row of `Quotas.read`: a resource with the worker's quota of it.
private struct QuotaEntry {
    let place: QuotaResource.Place
    /// Of an origin.
    let url: String
    let isClosed: Bool
    let pool: Quota.Pool
    /// What of the limit is below one request a second.
    let requestsPerSecond: Double?
    let quota: Quota?
    let isUser: Bool
    let next: Int64

    init(row: PostgresRow) throws {
        place = QuotaResource.Place(
            try row.string("kind") == "site" ? .site : .origin, try row.int64("id"))
        url = try row.string("url")
        isClosed = try row.bool("is_closed")
        requestsPerSecond = try row.optionalDouble("requests_per_second")
        next = try row.int64("next")
        isUser = try row.bool("is_user")
        pool = Quota.Pool(
            limit: QuotaAmounts(
                connections: try row.optionalInt64("max_connections"),
                requests: requestsPerSecond.map { Int64(max($0.rounded(.down), 1)) },
                bytes: try row.optionalInt64("bytes_per_second")),
            users: try row.int64("users") + 1, index: try row.int64("before"),
            heldByOthers: QuotaAmounts(
                connections: try row.int64("others_connections"),
                requests: try row.int64("others_requests"), bytes: try row.int64("others_bytes")))
        quota = try row.optionalInt64("number").map { number in
            Quota(
                number: number, since: try row.int64("since"),
                granted: QuotaAmounts(
                    connections: try row.optionalInt64("connections"),
                    requests: try row.optionalInt64("requests"),
                    bytes: try row.optionalInt64("bytes")),
                held: QuotaAmounts(
                    connections: try row.optionalInt64("held_connections"),
                    requests: try row.optionalInt64("held_requests"),
                    bytes: try row.optionalInt64("held_bytes")))
        }
    }

    func use(of origins: [OriginShareUse], _ sites: [SiteShareUse]) -> Quota.Use? {
        switch place.kind {
        case .origin:
            origins.first { $0.origin == url }.map { use in
                Quota.Use(
                    number: use.number,
                    used: QuotaAmounts(
                        connections: Int64(use.connections), requests: Int64(use.requests)),
                    isOver: use.isOver ?? false)
            }
        case .site:
            sites.first { $0.site.rawValue == place.id }.map { use in
                Quota.Use(number: use.number, isOver: use.isOver ?? false)
            }
        }
    }
}

/// Divides one resource after the other for a worker, and collects what is to be written and answered.
private struct QuotaDivision {
    private struct Change {
        var place: QuotaResource.Place
        var quota: Quota
        var active: Int64?
        var seconds: Double
    }

    private let seconds: Double
    private let occasion: JobQueue.QuotaOccasion
    private var isClaim: Bool { occasion == .claim }
    private var changes: [Change] = []
    private var dropped: [QuotaResource.Place] = []
    /// A place among the users of a resource that had none left has become free.
    private var isPlaceFree = false
    private(set) var answer = JobQueue.Quotas()

    init(seconds: Double, _ occasion: JobQueue.QuotaOccasion) {
        self.seconds = seconds
        self.occasion = occasion
    }

    mutating func take(
        _ entry: QuotaEntry, isHeld: Bool, isBusy: Bool, use: Quota.Use?, active: Int64?
    ) {
        // A site's user holds jobs of it; at an origin it may have done all that it holds.
        var request = Quota.Request(
            entry.quota, of: entry.pool,
            isHeld: isHeld && (entry.isUser || isClaim || isBusy || entry.place.kind == .site),
            isBusy: isClaim || isBusy || entry.place.kind == .site, use: use, number: entry.next)
        request.isFrozen = entry.isClosed
        let decision = Quota.decide(request)
        // A worker without a lease hears of nothing; what was prepared for its first jobs is taken back.
        guard occasion != .claimInVain || decision == .drop else { return }
        switch decision {
        case .nothing: break
        case .grant(let quota): grant(quota, entry, active)
        case .end(let quota):
            changes.append(Change(place: entry.place, quota: quota, active: 0, seconds: 0))
            noteFreePlace(entry)
        case .drop:
            dropped.append(entry.place)
            noteFreePlace(entry)
        case .lift:
            if entry.quota != nil { dropped.append(entry.place) }
            lift(entry)
        }
    }

    private mutating func grant(_ quota: Quota, _ entry: QuotaEntry, _ active: Int64?) {
        changes.append(
            Change(place: entry.place, quota: quota, active: active, seconds: seconds))
        let again = entry.isClosed ? nil : quota.askAgainSeconds(in: entry.pool)
        switch entry.place.kind {
        case .origin:
            var share = OriginShare(
                origin: entry.url, connections: quota.granted.connections.map { Int($0) },
                requestsPerSecond: quota.granted.requests.map { requests in
                    requests == 0 ? 0 : min(Double(requests), entry.requestsPerSecond ?? .infinity)
                }, bytesPerSecond: quota.granted.bytes, seconds: seconds)
            share.number = quota.number
            share.againSeconds = again
            answer.origins = (answer.origins ?? []) + [share]
        case .site:
            var share = SiteShare(
                site: SiteID(entry.place.id), number: quota.number,
                bytesPerSecond: quota.granted.bytes ?? 0, seconds: seconds)
            share.againSeconds = again
            answer.sites = (answer.sites ?? []) + [share]
        }
    }

    /// Answers that there is no limit any more.
    private mutating func lift(_ entry: QuotaEntry) {
        switch entry.place.kind {
        case .origin:
            answer.origins =
                (answer.origins ?? []) + [OriginShare(origin: entry.url, seconds: seconds)]
        case .site:
            answer.sites =
                (answer.sites ?? []) + [
                    SiteShare(
                        site: SiteID(entry.place.id), number: nil, bytesPerSecond: 0,
                        seconds: seconds)
                ]
        }
    }

    private mutating func noteFreePlace(_ entry: QuotaEntry) {
        guard entry.isUser, let most = entry.pool.limit.maxUsers else { return }
        if entry.pool.users >= most { isPlaceFree = true }
    }

    func statements(for worker: WorkerID) -> [PostgresStatement] {
        var statements: [PostgresStatement] = []
        if !changes.isEmpty {
            let amounts = { (amount: (Quota) -> Int64?) in
                PostgresValue.optionalIntArray(changes.map { amount($0.quota) })
            }
            statements.append(
                PostgresStatement(
                    SQL.Quotas.store,
                    [
                        "worker": .uuid(worker),
                        "kinds": .textArray(changes.map(\.place.kind.rawValue)),
                        "resources": .int64Array(changes.map(\.place.id)),
                        "numbers": .int64Array(changes.map(\.quota.number)),
                        "since": .int64Array(changes.map(\.quota.since)),
                        "connections": amounts(\.granted.connections),
                        "requests": amounts(\.granted.requests), "bytes": amounts(\.granted.bytes),
                        "held_connections": amounts(\.held.connections),
                        "held_requests": amounts(\.held.requests),
                        "held_bytes": amounts(\.held.bytes),
                        "active": .optionalIntArray(changes.map(\.active)),
                        "seconds": .doubleArray(changes.map(\.seconds)),
                    ]))
        }
        if !dropped.isEmpty {
            statements.append(
                PostgresStatement(
                    SQL.Quotas.drop,
                    [
                        "worker": .uuid(worker), "kinds": .textArray(dropped.map(\.kind.rawValue)),
                        "resources": .int64Array(dropped.map(\.id)),
                    ]))
        }
        if isPlaceFree { statements.append(PostgresStatement(SQL.Common.notifyWork)) }
        return statements
    }
}
