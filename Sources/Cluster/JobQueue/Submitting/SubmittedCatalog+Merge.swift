import API
import FoundationEssentials
import Model
import Postgres

extension SubmittedCatalog {
    /// Merges assets into the open submission, within the transaction that holds the lock.
    ///
    /// - Parameter keptGeneration: see `Submissions.add`.
    func merge(
        _ submitted: [AssetSubmission], keptGeneration: Int?, _ connection: PostgresConnection
    ) async throws {
        let values: SQLValues = ["catalog": .int(id.rawValue)]
        let assets = try cache.map { try CachedAssets(cache: $0).each(submitted) } ?? submitted
        try await Self.stage(assets, connection)
        _ = try await connection.query(SQL.Submitting.origins)
        _ = try await connection.query(
            SQL.Submitting.directories, values + ["site": .int(siteID)])
        _ = try await connection.query(
            SQL.Submitting.mergeAssets,
            values + [
                "generation": .int(Int64(openedGeneration)),
                "renews": .bool(cache != nil && state.isTerminal),
                "kept_generation": .optionalInt(keptGeneration.map { Int64($0) }),
            ])
        let found = assets.filter { $0.found != nil || $0.adopts == true }
        if !found.isEmpty {
            _ = try await connection.query(
                SQL.Submitting.noteFound,
                values + [
                    "names": .optionalTextArray(found.map(\.name)),
                    "bytes": .optionalIntArray(found.map { $0.found?.bytes ?? 0 }),
                    "sha256": .optionalTextArray(found.map { $0.found?.sha256 ?? "" }),
                    "validators": .optionalTextArray(
                        found.map { $0.found?.validator ?? FoundFile.unread }),
                ])
        }
        guard hasMirrors || assets.contains(where: { $0.mirrors != nil }) else { return }
        _ = try await connection.query(SQL.Submitting.mergeMirrors, values)
    }

    private static func stage(
        _ assets: [AssetSubmission], _ connection: PostgresConnection
    ) async throws {
        _ = try await connection.simple(SQL.Submitting.stageAssets.text)
        var origins = OriginNames()
        let arePlain = assets.allSatisfy(\.isPlain)
        let copy = arePlain ? SQL.Submitting.copyPlainAssets : SQL.Submitting.copyAssets
        try await connection.copyIn(copy.text, rows: assets.enumerated()) { encoder, row in
            let asset = row.element
            encoder.field(row.offset)
            encoder.field(asset.name)
            encoder.field(asset.url)
            encoder.field(asset.kind.rawValue)
            encoder.field(asset.key)
            encoder.field(asset.bytes)
            encoder.field(asset.sha256)
            encoder.field(asset.digests)
            encoder.field(try origins.name(of: asset.url))
            encoder.field(directory(of: asset.key))
            encoder.field(asset.mirrors?.joined(separator: "\n"))
            encoder.field(try sidecars(of: asset))
            if arePlain { return }
            encoder.field(asset.notBefore)
            encoder.field(asset.expiresAt)
            encoder.field(asset.keepSeconds)
            encoder.field(asset.title)
            encoder.field(asset.maxFetches.map { Int64($0.count) })
            encoder.field(asset.maxFetches?.periodSeconds)
            encoder.field(asset.maxSites.map { Int64($0) })
            let refresh = RefreshTime(asset.refreshSeconds, byOrigin: asset.refreshByOrigin)
            encoder.field(refresh.seconds)
            encoder.field(refresh.byOrigin ? "t" : "f")
            encoder.field(asset.modified)
        }
    }

    /// Returns the text of `asset.sidecars`; nil for none.
    private static func sidecars(of asset: AssetSubmission) throws(Failure) -> String? {
        guard let sidecars = asset.sidecars, !sidecars.isEmpty else { return nil }
        struct Row: Encodable {
            var url: String
            var key: String
            var origin: String
            var role: SegmentRole
            var required: Bool
            var bytes: Int64?
            var sha256: String?
            var digests: String?
        }
        let rows = try sidecars.map { sidecar throws(Failure) in
            Row(
                url: sidecar.url, key: sidecar.key, origin: try originURL(of: sidecar.url),
                role: sidecar.role, required: sidecar.required, bytes: sidecar.bytes,
                sha256: sidecar.sha256, digests: sidecar.digests)
        }
        guard let text = try? JSONEncoder().encode(rows) else {
            throw Failure(.workerInternal, "The sidecars of \(asset.name) are no JSON.")
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension AssetSubmission {
    /// True if it has no times, rights or refreshes of its own.
    fileprivate var isPlain: Bool {
        notBefore == nil && expiresAt == nil && keepSeconds == nil && title == nil
            && maxFetches == nil && maxSites == nil && refreshSeconds == nil
            && refreshByOrigin != true && modified == nil
    }
}
