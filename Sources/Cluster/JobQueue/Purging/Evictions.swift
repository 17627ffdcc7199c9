package import API
package import Model
import Postgres

/// Evictions: the removal of assets that make room for others.
package struct Evictions: Sendable {
    let database: QueueDatabase
    let purges: Purges
    let shared: SharedFiles

    /// Maximum number of assets of one eviction.
    private static let assetsPerEviction = 10_000
    /// Seconds that a coordinator has for the assets of a catalog: after that, another one continues.
    private static let catalogSeconds = 120.0
    /// Time after which a request counts half, in seconds: a week.
    static let halfLifeSeconds = 604_800.0

    /// Evicts assets of the sites that need room and may evict. Safe to run on all coordinators at
    /// once. Returns the number of evicted assets.
    ///
    /// Does what it can for the other sites before it throws the failure of one.
    @discardableResult
    package func run() async throws(Failure) -> Int {
        let rooms = try await database.withConnection { connection in
            try await connection.query(SQL.Evicting.room, ["site": .null]).rows.map(SiteRoom.init)
        }
        var evicted = 0
        var failure: Failure?
        for room in rooms where room.isEvicting || !room.isPostponed && room.neededBytes > 0 {
            do throws(Failure) {
                // Another coordinator counts, and then evicts.
                if !room.isEvicting, try await !shared.count(at: room.site) { continue }
                evicted += try await run(room.site)
            } catch {
                if error.code != .clusterBusy { failure = failure ?? error }
            }
        }
        if let failure { throw failure }
        return evicted
    }

    private func run(_ site: Int64) async throws(Failure) -> Int {
        let begun = try await decided(site) { room, connection -> Begun? in
            let id: SQLValues = ["site": .int(site)]
            if room.isEvicting {
                guard !room.isFreeing else { return nil }
                _ = try await connection.query(SQL.Evicting.end, id)
                return nil
            }
            let needed = room.neededBytes
            guard needed > 0 else { return nil }
            let begun = Begun(order: room.order, chosen: try await choose(room, needed, connection))
            try await begin(begun, at: site, connection)
            return begun
        }
        guard let begun else { return 0 }
        return try await remove(begun, at: site).assets.count
    }

    /// Evicts assets of a site: `bytes` of them, or as much as the site needs now; or returns which
    /// ones that would be.
    ///
    /// Throws `input.notFound` for an unknown site, and `cluster.busy` while another eviction of it
    /// runs.
    package func evict(_ request: SiteEviction) async throws(Failure) -> SiteEvictionAnswer {
        let site = try await site(request.site)
        let isDry = request.dryRun == true
        try await shared.count(at: site)
        let (needed, begun) = try await decided(site) { room, connection in
            let needed = request.bytes ?? room.neededBytes
            let begun = Begun(
                order: room.order,
                chosen: try await choose(room, needed, connection))
            if !isDry { try await begin(begun, at: site, connection) }
            return (needed, begun)
        }
        let evicted = isDry ? begun.chosen : try await remove(begun, at: site)
        return SiteEvictionAnswer(
            order: begun.order, neededBytes: needed, assets: evicted.assets.count,
            bytes: evicted.bytes, isDryRun: isDry,
            first: Array(evicted.assets.prefix(WireLimits.evictedAssets)))
    }

    /// Runs `body` while nothing else decides about the site, and no other eviction removes assets of
    /// it.
    private func decided<Value: Sendable>(
        _ site: Int64,
        _ body: @escaping @Sendable (SiteRoom, PostgresConnection) async throws -> Value
    ) async throws(Failure) -> Value {
        let busy = Failure(
            .clusterBusy, "site: another eviction of it runs. Try again after it.")
        return try await database.transaction { connection in
            let id: SQLValues = ["site": .int(site)]
            guard try await connection.query(SQL.Evicting.tryLock, id).only().bool("locked") else {
                throw busy
            }
            try await database.allowCatalogTime(connection)
            let room = try SiteRoom(try await connection.query(SQL.Evicting.room, id).only())
            guard !room.isRemoving else { throw busy }
            return try await body(room, connection)
        }
    }

    private func site(_ name: String) async throws(Failure) -> Int64 {
        try await database.withConnection { connection in
            guard
                let row = try await connection.query(SQL.Evicting.site, ["site": .text(name)])
                    .firstRow
            else { throw Failure.unknownSite(name) }
            guard try !row.bool("is_cache") else {
                throw Failure(.inputCacheSite, "The site \(name) is a cache.")
            }
            return try row.int64("id")
        }
    }

    // MARK: Assets

    private struct Chosen: Sendable {
        var assets: [EvictedAsset] = []
        var bytes: Int64 { assets.reduce(0) { $0 + $1.bytes } }

        /// The catalogs, in the order in which their first assets go, with all that go of each.
        var byCatalog: [(id: CatalogID, assets: [Int64])] {
            let all = Dictionary(grouping: assets, by: \.catalog)
            var seen: Set<CatalogID> = []
            return assets.map(\.catalog).filter { seen.insert($0).inserted }.map { catalog in
                (catalog, (all[catalog] ?? []).map(\.id.rawValue))
            }
        }
    }

    private func choose(
        _ room: SiteRoom, _ bytes: Int64, _ connection: PostgresConnection
    ) async throws -> Chosen {
        let rows = try await connection.query(
            SQL.Evicting.candidates,
            [
                "site": .int(room.site), "bytes": .int(bytes),
                "by_popularity": .bool(room.order == .leastPopular),
                "half_life": .double(Self.halfLifeSeconds),
                "limit": .int(Int64(Self.assetsPerEviction)),
            ]
        ).rows
        return Chosen(assets: try rows.map(EvictedAsset.init))
    }

    /// Targets of an eviction. Its beginning is committed before anything is removed: one that
    /// fails half-way is not repeated until workers have deleted what it has removed.
    private struct Begun: Sendable {
        var order: EvictionOrder
        var chosen: Chosen
    }

    private func begin(
        _ begun: Begun, at site: Int64, _ connection: PostgresConnection
    ) async throws {
        let id: SQLValues = ["site": .int(site)]
        if begun.chosen.assets.isEmpty {
            _ = try await connection.query(SQL.Evicting.postpone, id)
        } else {
            _ = try await connection.query(
                SQL.Evicting.begin, id + ["seconds": .double(Self.catalogSeconds)])
        }
    }

    /// Removes assets, one catalog after the other. Returns those that are removed: meanwhile some
    /// may be wanted again.
    private func remove(_ begun: Begun, at site: Int64) async throws(Failure) -> Chosen {
        guard !begun.chosen.assets.isEmpty else { return begun.chosen }
        var gone: Set<Int64> = []
        var failure: Failure?
        do throws(Failure) {
            for (catalog, assets) in begun.chosen.byCatalog {
                gone.formUnion(
                    try await purges.change(catalog.rawValue, orElse: []) {
                        try await $0.evict(assets, of: site, begun.order, $1)
                    })
                try await note(SQL.Evicting.extend, site, ["seconds": .double(Self.catalogSeconds)])
            }
        } catch {
            failure = error
        }
        try await note(SQL.Evicting.stop, site, ["removed": .bool(!gone.isEmpty)])
        if gone.isEmpty { try await note(SQL.Evicting.postpone, site) }
        if let failure { throw failure }
        let evicted = begun.chosen.assets.filter { gone.contains($0.id.rawValue) }
        return Chosen(assets: evicted)
    }

    private func note(
        _ statement: SQL.Evicting, _ site: Int64, _ values: SQLValues = [:]
    ) async throws(Failure) {
        try await database.withConnection { connection in
            _ = try await connection.query(statement, values + ["site": .int(site)])
        }
    }

    // MARK: Popularity

    /// Adds requests that an access log shows. Throws `input.notFound` for an unknown site.
    package func note(
        _ requests: SiteRequests, key: RequestKey? = nil
    ) async throws(Failure) -> SiteRequestsAnswer {
        let site = try await site(requests.site)
        return try await database.once(key) { connection in
            let row = try await connection.query(
                SQL.Evicting.notePopularity,
                [
                    "site": .int(site), "noted_at": .double(requests.time),
                    "keys": .optionalTextArray(requests.files.map(\.key)),
                    "requests": .doubleArray(requests.files.map(\.requests)),
                    "bytes": .doubleArray(requests.files.map(\.bytes)),
                    "half_life": .double(Self.halfLifeSeconds),
                ]
            ).only()
            return SiteRequestsAnswer(
                assets: Int(try row.int64("assets")),
                unknownFiles: Int(try row.int64("unknown")))
        }
    }

    /// Returns stored assets of a site, the most popular ones first, or the least popular ones.
    /// Throws `input.notFound` for an unknown site.
    package func popularity(
        of name: String, order: PopularityOrder, limit: Int
    ) async throws(Failure) -> SitePopularity {
        let site = try await site(name)
        return try await database.withConnection { connection in
            let rows = try await connection.query(
                SQL.Evicting.popularity,
                [
                    "site": .int(site), "is_ascending": .bool(order == .least),
                    "limit": .int(Int64(limit)), "half_life": .double(Self.halfLifeSeconds),
                ]
            ).rows
            return SitePopularity(assets: try rows.map(PopularAsset.init))
        }
    }
}

extension Selection {
    /// Removes those of `assets` that may still be removed, and returns them. The catalog's lock is
    /// held.
    fileprivate func evict(
        _ assets: [Int64], of site: Int64, _ order: EvictionOrder, _ connection: PostgresConnection
    ) async throws -> Set<Int64> {
        let still = try await connection.query(
            SQL.Evicting.still,
            [
                "catalog": .int(catalog.rawValue), "site": .int(site),
                "assets": .int64Array(assets),
            ]
        ).rows.map { try $0.int64("id") }
        guard !still.isEmpty else { return [] }
        _ = try await connection.query(
            SQL.Evicting.note,
            ["assets": .int64Array(still), "reason": .text("evicted: \(order.reason)")])
        _ = try await purge(still, [], by: .evict, connection)
        return Set(still)
    }
}

extension EvictionOrder {
    fileprivate var reason: String {
        switch self {
        case .leastPopular: "among the least popular assets of the site"
        case .off, .leastRecentlyWanted: "among the least recently wanted assets of the site"
        }
    }
}

extension EvictedAsset {
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            catalog: CatalogID(try row.int64("catalog_id")),
            catalogName: try row.string("catalog"), id: AssetID(try row.int64("id")),
            name: redacted(url: try row.string("name")), bytes: try row.int64("freed_bytes"))
        requests = try row.optionalDouble("requests")
        servedBytes = try row.optionalDouble("served_bytes")
    }
}

extension PopularAsset {
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            catalog: CatalogID(try row.int64("catalog_id")),
            catalogName: try row.string("catalog"), id: AssetID(try row.int64("id")),
            name: redacted(url: try row.string("name")), bytes: try row.int64("bytes"),
            requests: try row.double("requests"), servedBytes: try row.double("served_bytes"),
            wantedAt: try row.double("wanted_at"), isPinned: try row.bool("is_pinned"))
    }
}
