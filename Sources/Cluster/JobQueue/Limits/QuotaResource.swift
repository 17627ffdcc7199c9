import API
import Model
import Postgres

/// An origin or a site whose limits concern a worker.
struct QuotaResource {
    enum Kind: String, CaseIterable { case origin, site }

    struct Key: Hashable {
        var kind: Kind
        var id: Int64

        init(_ kind: Kind, _ id: Int64) { (self.kind, self.id) = (kind, id) }
    }

    var kind: Kind
    var id: Int64
    /// True if the worker holds jobs of it.
    var isHeld: Bool

    init(row: PostgresRow) throws {
        kind = try row.string("kind") == "site" ? .site : .origin
        id = try row.int64("id")
        isHeld = try row.bool("is_held")
    }
}

/// A row of `Quotas.read`: a resource with the worker's quota of it.
struct QuotaEntry {
    let key: QuotaResource.Key
    /// URL of an origin.
    let url: String
    let isClosed: Bool
    let pool: Quota.Pool
    /// The part of the limit below one request per second.
    let requestsPerSecond: Double?
    let quota: Quota?
    let isUser: Bool
    let next: Int64

    init(row: PostgresRow) throws {
        key = QuotaResource.Key(
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

    func use(of origins: [OriginQuotaUse], _ sites: [SiteQuotaUse]) -> Quota.Use? {
        switch key.kind {
        case .origin:
            origins.first { $0.origin == url }.map { use in
                Quota.Use(
                    number: use.number,
                    used: QuotaAmounts(
                        connections: Int64(use.connections), requests: Int64(use.requests)),
                    isOver: use.isOver ?? false)
            }
        case .site:
            sites.first { $0.site.rawValue == key.id }.map { use in
                Quota.Use(number: use.number, isOver: use.isOver ?? false)
            }
        }
    }
}
