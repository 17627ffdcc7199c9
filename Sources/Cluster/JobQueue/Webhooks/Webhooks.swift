package import API
package import Model
import Postgres
import Services
import Statistics

/// Webhooks: where events are sent, and the deliveries of each.
///
/// An event is sent at least once, by one coordinator at a time, and in no certain order. Secrets are
/// read to sign, and for nothing else.
package struct Webhooks: Sendable {
    let database: QueueDatabase
    private let delays: RetryDelays

    package static let maxWebhooks = 100
    /// Deliveries of a webhook that may wait. Beyond, its events wait where they are recorded.
    package static let maxWaiting = 10_000
    /// Attempts at one delivery: the last comes one to three and a half hours after the first, and
    /// later where the receiver asks for it.
    package static let maxAttempts = 12
    /// Seconds for which a delivery may wait, whatever its receiver asks for: as long as events are
    /// kept.
    package static let maxWaitingSeconds = Events.keptSeconds
    /// Seconds for which deliveries are kept after their end.
    package static let keptSeconds = 7.0 * 86_400
    /// Numbers up to the latest delivery's within which those that ended are kept.
    package static let maxRows: Int64 = 1_000_000
    /// Deliveries of one webhook that are leased at once, so that a slow receiver delays no others.
    package static let maxAtOncePerWebhook = 4
    private static let eventsAtOnce = 500
    private static let rowsAtOnce = 10_000

    init(database: QueueDatabase, random: SeededRandom) {
        self.database = database
        delays = RetryDelays(Backoff(firstSeconds: 10, maxSeconds: 3_600), random)
    }

    /// The end of an attempt to send a delivery: the answer's status, if any, and a failure for all
    /// but 2xx.
    package struct Attempt: Sendable {
        package var status: Int?
        package var failure: Failure?
        /// Seconds for which the receiver asks for no requests; nil for none.
        package var retryAfterSeconds: Double?

        package init(status: Int? = nil, failure: Failure? = nil) {
            self.status = status
            self.failure = failure
        }
    }

    /// The effect of an attempt on its delivery.
    package enum Outcome: String, CaseIterable, Sendable {
        case delivered
        /// Another attempt follows.
        case retried
        /// It was the last attempt.
        case dead
    }

    /// A delivery that this caller is to send.
    package struct Leased: Sendable {
        package var id: WebhookDeliveryID
        package var webhook: WebhookID
        package var kind: EventKind
        package var body: String
        package var url: String
        /// Key of the signature; never shown.
        package var secret: String
        /// Number of this attempt, from 1.
        package var attempt: Int
        /// The database's time in seconds since 1970.
        package var now: Int64
    }

    // MARK: Webhooks

    /// Creates a webhook of the events from now on.
    ///
    /// Throws `input.tooLarge` beyond `maxWebhooks`.
    package func create(
        _ submission: WebhookSubmission, catalog: CatalogID?, kinds: [EventKind],
        by creator: String, key: RequestKey? = nil
    ) async throws(Failure) -> WebhookStatus {
        try await database.once(key) { connection in
            _ = try await connection.query(SQL.Webhooks.lock)
            let present = try await connection.query(SQL.Webhooks.count).only()
            guard try present.int64("webhooks") < Self.maxWebhooks else {
                throw Failure(
                    .inputTooLarge,
                    "There are \(Self.maxWebhooks) webhooks, which is the maximum; remove some first."
                )
            }
            let row = try await connection.query(
                SQL.Webhooks.create,
                [
                    "url": .text(submission.url), "secret": .text(submission.secret),
                    "catalog": .optionalInt(catalog?.rawValue),
                    "kinds": .textArray(kinds.map(\.rawValue)), "created_by": .text(creator),
                ]
            ).only()
            return try WebhookStatus(row: row)
        }
    }

    package func list() async throws(Failure) -> WebhookList {
        try await database.withConnection { connection in
            WebhookList(
                webhooks: try await connection.query(SQL.Webhooks.list).rows.map {
                    try WebhookStatus(row: $0)
                })
        }
    }

    /// Changes where events are sent, and the key of their signatures; nil for what stays. Its
    /// deliveries stay, and a cooldown ends. Throws `input.notFound`.
    package func change(
        _ webhook: WebhookID, _ change: WebhookChange
    ) async throws(Failure) -> WebhookStatus {
        try await database.withConnection { connection in
            let changed = try await connection.query(
                SQL.Webhooks.change,
                [
                    "webhook": .int(webhook.rawValue), "url": .optionalText(change.url),
                    "secret": .optionalText(change.secret),
                ])
            guard let row = changed.firstRow else { throw Self.unknown(webhook) }
            return try WebhookStatus(row: row)
        }
    }

    private static func unknown(_ webhook: WebhookID) -> Failure {
        .notFound("There is no webhook \(webhook).", listedBy: "dray webhook list")
    }

    /// Removes a webhook with its deliveries. Throws `input.notFound`.
    package func remove(_ webhook: WebhookID) async throws(Failure) -> WebhookStatus {
        try await database.withConnection { connection in
            let removed = try await connection.query(
                SQL.Webhooks.remove, ["webhook": .int(webhook.rawValue)])
            guard let row = removed.firstRow else { throw Self.unknown(webhook) }
            return try WebhookStatus(row: row)
        }
    }

    // MARK: Deliveries

    /// Makes deliveries of new events; returns how many.
    ///
    /// Each webhook has a transaction of its own: the failure of one is thrown after the others had
    /// their turn.
    @discardableResult
    package func enqueue() async throws(Failure) -> Int {
        let behind = try await database.withConnection { connection in
            try await connection.query(
                SQL.Webhooks.behind, ["waiting": .int(Self.maxWaiting), "webhook": .null]
            ).rows.map { try $0.int64("id") }
        }
        var count = 0
        var failed: Failure?
        for webhook in behind {
            do throws(Failure) {
                count += try await database.transaction { connection in
                    try await Self.enqueue(connection, webhook)
                }
            } catch {
                failed = failed ?? error
            }
        }
        if let failed { throw failed }
        return count
    }

    /// Makes deliveries of a webhook's next events, unless another caller does or too many wait.
    private static func enqueue(
        _ connection: PostgresConnection, _ webhook: Int64
    ) async throws -> Int {
        let found = try await connection.query(
            SQL.Webhooks.behind, ["waiting": .int(maxWaiting), "webhook": .int(webhook)])
        guard let row = found.firstRow else { return 0 }
        let cursor = EventCursor(
            transaction: try row.int64("xact"), number: try row.int64("event_id"))
        let filter = Events.Filter(
            catalog: try row.optionalInt64("catalog_id").map { CatalogID($0) },
            kinds: Set(
                try row.textArray("kinds").compactMap(\.self).map { EventKind(rawValue: $0) }))
        let (events, next) = try await Self.events(connection, after: cursor, filter)
        guard next != cursor else { return 0 }
        if !events.isEmpty {
            let bodies = try events.map { String(decoding: try WireJSON.encode($0), as: UTF8.self) }
            _ = try await connection.query(
                SQL.Webhooks.enqueue,
                [
                    "webhook": .int(webhook), "bodies": .textArray(bodies),
                    "kinds": .textArray(events.map(\.kind.rawValue)),
                ])
        }
        _ = try await connection.query(
            SQL.Webhooks.advance,
            [
                "webhook": .int(webhook), "xact": .int(next.transaction),
                "event": .int(next.number),
            ])
        return events.count
    }

    /// Returns the next events; of those that were deleted meanwhile none.
    private static func events(
        _ connection: PostgresConnection, after cursor: EventCursor, _ filter: Events.Filter
    ) async throws -> ([ClusterEvent], EventCursor) {
        do {
            let page = try await Events.page(
                connection, after: cursor, filter, limit: eventsAtOnce, scan: Events.maxScanned)
            return (page.events.map(\.event), page.next)
        } catch let failure as Failure where failure.code == .clusterEventsGone {
            let row = try await connection.query(SQL.Events.beginning).only()
            return (
                [], EventCursor(transaction: try row.int64("xact"), number: try row.int64("id"))
            )
        }
    }

    /// Leases deliveries that are due: no other coordinator sends them for `seconds`.
    ///
    /// At most `each` of one webhook, and none of those in `busy`.
    package func lease(
        _ limit: Int, each: Int = maxAtOncePerWebhook, busy: [WebhookID] = [], seconds: Double
    ) async throws(Failure) -> [Leased] {
        let excluded = busy.map(\.rawValue)
        return try await database.withConnection { connection in
            try await connection.query(
                SQL.Webhooks.lease,
                [
                    "limit": .int(limit), "each": .int(each), "busy": .int64Array(excluded),
                    "seconds": .double(seconds),
                ]
            ).rows.map { row in
                Leased(
                    id: WebhookDeliveryID(try row.int64("id")),
                    webhook: WebhookID(try row.int64("webhook_id")),
                    kind: EventKind(rawValue: try row.string("kind")),
                    body: try row.string("body"), url: try row.string("url"),
                    secret: try row.string("secret"), attempt: Int(try row.int64("attempts")),
                    now: try row.int64("now"))
            }
        }
    }

    /// Records an attempt. Another one follows a failure, but not the last. A Retry-After starts a
    /// cooldown of the webhook: no delivery is sent to it meanwhile.
    ///
    /// Returns nil if the attempt does not count, because its lease has ended.
    @discardableResult
    package func record(
        _ attempt: Attempt, of delivery: Leased
    ) async throws(Failure) -> Outcome? {
        let isLast = delivery.attempt >= Self.maxAttempts
        let delay = delays.seconds(
            attempt: delivery.attempt, retryAfter: attempt.retryAfterSeconds)
        let values: SQLValues = [
            "delivery": .int(delivery.id.rawValue), "attempts": .int(delivery.attempt),
            "status": .optionalInt(attempt.status.map { Int64($0) }),
        ]
        return try await database.withConnection { connection -> Outcome? in
            guard let failure = attempt.failure else {
                let recorded = try await connection.query(SQL.Webhooks.delivered, values)
                return recorded.affectedRowCount > 0 ? .delivered : nil
            }
            let recorded = try await connection.query(
                SQL.Webhooks.failed,
                values + [
                    "delay": .optionalDouble(isLast ? nil : delay),
                    "code": .text(failure.code.rawValue),
                    "message": .text(Redaction.message(failure.message)),
                    "cooldown": .optionalDouble(attempt.retryAfterSeconds),
                ])
            guard recorded.affectedRowCount > 0 else { return nil }
            return isLast ? .dead : .retried
        }
    }

    /// Gives back a delivery whose attempt was not made: it is due at once, and the attempt does not
    /// count.
    package func giveBack(_ delivery: Leased) async throws(Failure) {
        try await database.withConnection { connection in
            _ = try await connection.query(
                SQL.Webhooks.failed,
                [
                    "delivery": .int(delivery.id.rawValue), "attempts": .int(delivery.attempt),
                    "delay": .double(0), "status": .null, "code": .null, "message": .null,
                    "cooldown": .null,
                ])
        }
    }

    /// Returns a page, the latest first; `after` is the previous page's `next`. Throws
    /// `input.notFound` for an unknown webhook.
    package func deliveries(
        after: Int64?, webhook: WebhookID? = nil, state: WebhookDelivery.State?, limit: Int
    ) async throws(Failure) -> WebhookDeliveryPage {
        try await database.withConnection { connection in
            let found = try await connection.query(
                SQL.Webhooks.deliveries,
                [
                    "after": .optionalInt(after), "state": .optionalText(state?.rawValue),
                    "webhook": .optionalInt(webhook?.rawValue), "limit": .int(limit),
                ]
            ).rows.map { try WebhookDelivery(row: $0) }
            if let webhook, found.isEmpty {
                let known = try await connection.query(
                    SQL.Webhooks.exists, ["webhook": .int(webhook.rawValue)])
                guard try known.only().bool("is_known") else { throw Self.unknown(webhook) }
            }
            return WebhookDeliveryPage(
                deliveries: found,
                next: found.count < limit ? nil : found.last.map { "\($0.id)" })
        }
    }

    /// Sends a delivery once more, that has ended or waits, and ends a cooldown of its webhook. Throws
    /// `input.notFound`, also for one that is being sent.
    package func redeliver(
        _ delivery: WebhookDeliveryID
    ) async throws(Failure) -> WebhookDelivery {
        try await database.withConnection { connection in
            let found = try await connection.query(
                SQL.Webhooks.redeliver, ["delivery": .int(delivery.rawValue)])
            guard let row = found.firstRow else {
                throw Failure.notFound(
                    "There is no delivery \(delivery), or it is being sent now.",
                    listedBy: "dray webhook deliveries")
            }
            return try WebhookDelivery(row: row)
        }
    }

    /// Ends deliveries that have waited for too long, because their receiver answers too slowly or
    /// asks for too much time; a bounded number at once. They are dead with
    /// `cluster.deliveryExpired`. Returns how many.
    package func expire(
        afterSeconds seconds: Double = maxWaitingSeconds
    ) async throws(Failure) -> Int {
        try await database.withConnection { connection in
            try await connection.query(
                SQL.Webhooks.expire,
                [
                    "seconds": .double(seconds), "limit": .int(Self.rowsAtOnce),
                    "code": .text(FailureCode.clusterDeliveryExpired.rawValue),
                    "days": .int(Int64(Self.maxWaitingSeconds / 86_400)),
                ]
            ).affectedRowCount
        }
    }

    /// Deletes deliveries that ended long ago, and those that ended beyond `rows`; a bounded number at
    /// once. Returns true if there may be more.
    @discardableResult
    package func trim(
        olderThanSeconds seconds: Double = keptSeconds, rows: Int64 = maxRows
    ) async throws(Failure) -> Bool {
        try await database.withConnection { connection in
            let deleted = try await connection.query(
                SQL.Webhooks.trim,
                [
                    "seconds": .double(seconds), "rows": .int(rows),
                    "limit": .int(Self.rowsAtOnce),
                ]
            ).affectedRowCount
            return deleted == Self.rowsAtOnce
        }
    }
}
