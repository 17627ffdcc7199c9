package import API
package import Model
import Postgres

/// Lists of a catalog's assets for people.
package struct AssetListings: Sendable {
    let database: QueueDatabase
    let names: CatalogNames

    /// Maximum number of assets to read for a page sorted by name.
    static let browsedAtOnce = 50_000

    /// Returns a page of a catalog's assets.
    ///
    /// Sorted by name, it takes a bounded time for any catalog and search; otherwise each page
    /// reads the whole catalog. Throws `input.notFound` for an unknown catalog, and `input.field`
    /// for a position that is not from a page's `next`.
    package func browse(
        _ query: AssetQuery, lookingAt: Int = AssetListings.browsedAtOnce
    ) async throws(Failure) -> AssetListing {
        let catalog = try await names.catalog(query.catalog)
        let position = try Self.position(query)
        let search = query.search.map { "%\(Self.escaped($0))%" }
        let filter: SQLValues = [
            "catalog": .int(catalog.rawValue), "limit": .int(Int64(query.limit)),
            "states": query.states.named, "is_paused": .bool(query.states.includesPaused),
            "kind": .optionalText(query.kind?.rawValue),
            "failure_code": .optionalText(query.failureCode.map(Self.pattern)),
            "name": .optionalText(query.name.map(Self.pattern)), "search": .optionalText(search),
            "min_bytes": .optionalInt(query.minimumBytes),
            "max_bytes": .optionalInt(query.maximumBytes),
        ]
        let statement = SQL.Browsing.assets(by: query.order, isDescending: query.isDescending)
        let bound: SQLValues =
            query.order == .name ? ["looked_at": .int(Int64(lookingAt))] : [:]
        return try await database.withConnection { connection in
            try Self.listing(
                query, of: catalog,
                Array(try await connection.query(statement, filter + position + bound).rows))
        }
    }

    private static func listing(
        _ query: AssetQuery, of catalog: CatalogID, _ rows: [PostgresRow]
    ) throws -> AssetListing {
        let found = try rows.filter { try $0.optionalInt64("id") != nil }
        return AssetListing(
            catalog: catalog,
            assets: try found.map { row in
                var asset = try AssetStatus(row: row)
                asset.bytes += try row.int64("received_bytes")
                asset.path = try row.string("key")
                asset.warnings = try row.warnings
                asset.changed = Double(try row.int64("changed_microseconds")) / 1e6
                return asset
            },
            next: try next(query, rows: rows, found: found))
    }

    private static func next(
        _ query: AssetQuery, rows: [PostgresRow], found: [PostgresRow]
    ) throws -> String? {
        if found.count == query.limit, let last = found.last {
            guard query.order != .name else { return try last.string("name") }
            return PagePosition([try last.int64("value"), try last.int64("id")]).description
        }
        guard query.order == .name, let first = rows.first, try !first.bool("is_end") else {
            return nil
        }
        return try first.string("last")
    }

    /// Returns the start of a page: a name, or a value and a number.
    private static func position(
        _ query: AssetQuery
    ) throws(Failure) -> SQLValues {
        guard query.order != .name else { return ["after": .optionalText(query.after)] }
        guard let after = query.after else { return ["after_value": .null, "after_asset": .null] }
        let position = try PagePosition(after, first: [0, 0], endsInOrdinal: false)
        return ["after_value": .int(position[0]), "after_asset": .int(position[1])]
    }

    /// Returns a pattern for LIKE in which only `*` has a meaning.
    static func pattern(_ text: String) -> String {
        escaped(text).replacing("*", with: "%")
    }

    private static func escaped(_ text: String) -> String {
        var out = ""
        for character in text.unicodeScalars {
            if character == "%" || character == "_" || character == "\\" { out += "\\" }
            out.unicodeScalars.append(character)
        }
        return out
    }
}

extension AssetStates {
    /// The states without `paused`, or null for all.
    var named: PostgresValue { isEmpty ? .null : .textArray(states.map(\.rawValue)) }
}
