import API
package import Model
import Postgres

/// Renditions that titles may lack: those that list a file that cannot be fetched are left out.
///
/// A title whose list permits it does not end while files of it have failed. Once nothing of it is under
/// way, its manifest is resolved again without the renditions that list these files; what is stored of
/// the others stays. The worker that reads the manifest decides whether the title can do without them, else
/// the resolution fails with the failure of the file, and ends the title. So each resolution leaves out one
/// more rendition at least.
package struct OptionalRenditions: Sendable {
    let database: QueueDatabase

    private static let titlesPerPass: Int64 = 100
    /// Codes of files that the origins do not serve, or serve wrongly.
    private static let codes = FailureCode.table.map(\.code).filter(\.mayBeOriginsAlone)
        .map(\.rawValue)

    /// Queues titles that lack files for another resolution, and ends those that it cannot help.
    /// Returns the number of the queued ones. Safe to run on all coordinators at once.
    @discardableResult
    package func leaveOut() async throws(Failure) -> Int {
        let short = try await database.withConnection { connection in
            try await connection.query(
                SQL.OptionalRenditions.short, ["limit": .int(Self.titlesPerPass)]
            ).rows.map { (asset: try $0.int64("id"), catalog: try $0.int64("catalog_id")) }
        }
        var queued = 0
        for title in short where try await leaveOut(title.asset, of: title.catalog) { queued += 1 }
        return queued
    }

    /// Returns true if the title's manifest is to be resolved again.
    private func leaveOut(_ asset: Int64, of catalog: Int64) async throws(Failure) -> Bool {
        try await database.transaction { connection in
            let id: SQLValues = ["asset": .int(asset)]
            let catalog: SQLValues = ["catalog": .int(catalog)]
            guard
                try await connection.query(SQL.Catalogs.tryLock, catalog).only().bool("locked"),
                try await connection.query(SQL.OptionalRenditions.lock, id).firstRow != nil
            else { return false }
            let mayBe = try await connection.query(
                SQL.OptionalRenditions.losses, id + ["codes": .textArray(Self.codes)]
            ).only().bool("may_be_left_out")
            guard mayBe else {
                _ = try await connection.query(SQL.OptionalRenditions.fail, id)
                try await AssetSettlement.record(asset, nil, connection)
                return false
            }
            _ = try await connection.query(
                SQL.OptionalRenditions.leaveOut,
                id + catalog + ["limit": .int(Int64(WireLimits.lostFilesPerReading))])
            _ = try await connection.query(SQL.OptionalRenditions.resolve, id)
            _ = try await connection.query(SQL.Common.notifyWork)
            return true
        }
    }

    /// Records the renditions that a title's manifest was resolved without.
    static func note(
        _ leftOut: [LeftOutRendition], of asset: Int64, _ connection: PostgresConnection
    ) async throws {
        let text = try leftOut.isEmpty ? nil : WireJSON.encode(leftOut)
        _ = try await connection.query(
            SQL.OptionalRenditions.note,
            [
                "asset": .int(asset),
                "left_out": .optionalText(text.map { String(decoding: $0, as: UTF8.self) }),
                "codes": .textArray(Set(leftOut.map(\.code.rawValue)).sorted()),
            ])
    }
}
