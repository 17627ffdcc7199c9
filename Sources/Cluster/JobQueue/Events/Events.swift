package import API
package import Model
import Postgres

/// The recorded changes of states, of the last days.
///
/// Statements that change the state of assets record events in the same transaction, and triggers do
/// for all else. Readers get an event once all transactions that began before its own have ended. So
/// a reader that continues after the last event it got misses none, whatever the order of commits.
package struct Events: Sendable {
    let database: QueueDatabase
    package let webhooks: Webhooks

    /// Seconds for which events are kept.
    package static let keptSeconds = 7.0 * 86_400
    /// Events that are kept.
    package static let maxRows: Int64 = 1_000_000
    /// Events that one request reads at most, to find those that it asks for.
    package static let maxScanned = 10_000
    private static let rowsPerTrim = 10_000

    /// The events to read; the default is all of them.
    package struct Filter: Sendable, Hashable {
        package var catalog: CatalogID?
        /// Empty for all kinds.
        package var kinds: Set<EventKind>
        /// Storage URLs of sites; nil for all events, also those of no site.
        package var sites: [String]?
        /// Seconds since 1970.
        package var since: Double?

        package init(
            catalog: CatalogID? = nil, kinds: Set<EventKind> = [], sites: [String]? = nil,
            since: Double? = nil
        ) {
            self.catalog = catalog
            self.kinds = kinds
            self.sites = sites
            self.since = since
        }

        /// True if an event is to be read. The same as the conditions of `Events.page`.
        package func matches(_ event: ClusterEvent) -> Bool {
            (catalog == nil || catalog == event.catalog)
                && (kinds.isEmpty || kinds.contains(event.kind))
                && (sites.map { sites in event.site.map(sites.contains) ?? false } ?? true)
                && (since.map { event.time >= $0 } ?? true)
        }
    }

    /// Some events, with the position after them.
    package struct Page: Sendable {
        package var events: [(cursor: EventCursor, event: ClusterEvent)]
        package var next: EventCursor
        /// True if there may be more of them now.
        package var hasMore: Bool
    }

    /// Returns the position after which all events come that can be read from now on.
    package func now() async throws(Failure) -> EventCursor {
        try await database.withConnection { connection in
            EventCursor(
                transaction: try await connection.query(SQL.Events.now).only().int64("xact"),
                number: 0)
        }
    }

    /// Returns the position before all events that are kept.
    package func beginning() async throws(Failure) -> EventCursor {
        try await database.withConnection { connection in
            let row = try await connection.query(SQL.Events.beginning).only()
            return EventCursor(transaction: try row.int64("xact"), number: try row.int64("id"))
        }
    }

    /// Returns the events after a cursor, the oldest first, at most `limit`.
    ///
    /// Throws `cluster.eventsGone` if some after the cursor were deleted already.
    package func page(
        after cursor: EventCursor, _ filter: Filter = Filter(), limit: Int,
        scan: Int = maxScanned
    ) async throws(Failure) -> Page {
        try await database.withConnection { connection in
            try await Self.page(connection, after: cursor, filter, limit: limit, scan: scan)
        }
    }

    /// Returns the same on a connection, which may be in a transaction.
    static func page(
        _ connection: PostgresConnection, after cursor: EventCursor, _ filter: Filter, limit: Int,
        scan: Int
    ) async throws -> Page {
        // Without a filter, each event that is read is one of the page.
        let scan = filter == Filter() ? min(scan, limit) : scan
        let values: SQLValues = [
            "xact": .int(cursor.transaction), "id": .int(cursor.number), "scan": .int(scan),
            "limit": .int(limit), "catalog": .optionalInt(filter.catalog?.rawValue),
            "kinds": filter.kinds.isEmpty
                ? .null : .textArray(filter.kinds.map(\.rawValue).sorted()),
            "storage_urls": filter.sites.map { .textArray($0) } ?? .null,
            "since": filter.since.map { .double($0) } ?? .null,
        ]
        let rows = try await connection.query(SQL.Events.page, values).rows
        guard let head = rows.first else {
            throw Failure(.workerInternal, "PostgreSQL does not report which events it has.")
        }
        guard try !head.bool("is_gone") else { throw gone }
        var page = Page(events: [], next: cursor, hasMore: false)
        page.events = try rows.dropFirst().map { row in
            let cursor = EventCursor(
                transaction: try row.int64("xact"), number: try row.int64("id"))
            return (cursor, try ClusterEvent(row: row, cursor))
        }
        if page.events.count >= limit, let last = page.events.last {
            page.next = last.cursor
            page.hasMore = true
        } else if let transaction = try head.optionalInt64("xact") {
            page.next = EventCursor(transaction: transaction, number: try head.int64("id"))
            page.hasMore = try head.int64("rows") >= Int64(scan)
        }
        return page
    }

    private static let gone = Failure(
        .clusterEventsGone,
        "Events after this cursor were deleted: they are kept for "
            + "\(Int(keptSeconds / 86_400)) days, and \(maxRows) of them.")

    /// Deletes events older than `seconds`, and those beyond `rows`, in up to `batches` bounded
    /// transactions. Returns the number of deleted rows, of which one may be several events.
    @discardableResult
    package func trim(
        olderThanSeconds seconds: Double = keptSeconds, rows: Int64 = maxRows, batches: Int = 5
    ) async throws(Failure) -> Int {
        try await database.withConnection { connection in
            _ = try await connection.query(SQL.Events.disown)
            var deleted = 0
            for _ in 0..<batches {
                let gone = Int(
                    try await connection.query(
                        SQL.Events.trim,
                        [
                            "seconds": .double(seconds), "rows": .int(rows),
                            "limit": .int(Self.rowsPerTrim),
                        ]
                    ).only().int64("events"))
                deleted += gone
                guard gone == Self.rowsPerTrim else { break }
            }
            return deleted
        }
    }
}

extension ClusterEvent {
    /// Decodes a row of `Events.page`; without secrets.
    fileprivate init(row: PostgresRow, _ cursor: EventCursor) throws {
        self.init(
            id: cursor.description, time: try row.double("recorded"),
            kind: EventKind(rawValue: try row.string("kind")))
        let asset = try row.optionalString("asset_name")
        let url = try row.optionalString("asset_url") ?? ""
        name =
            try asset.map { Redaction.message(Redaction.name($0, ofURL: url)) }
            ?? row.optionalString("name").map { redacted(url: $0) }
        catalog = try row.optionalInt64("catalog_id").map { CatalogID($0) }
        catalogName = try row.optionalString("catalog_name").map { Redaction.message($0) }
        self.asset = try row.optionalInt64("asset_id").map { AssetID($0) }
        worker = try row.optionalUUID("worker_id")
        site = try row.optionalString("storage_url")
        code = try row.optionalString("code").map { FailureCode($0) }
        message = try row.optionalMessage("message").map { Redaction.message($0) }
        assets = try row.optionalInt64("assets")
        failed = try row.optionalInt64("failed")
    }
}
