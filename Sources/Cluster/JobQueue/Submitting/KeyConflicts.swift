import Postgres

/// Assets of a catalog whose keys hold other objects, or that claim the keys of each other.
enum KeyConflicts {
    /// Why an asset is refused: the key and the URL of what is stored there are without secrets.
    static func message(
        _ key: String, _ holder: String, of catalog: String, isOther: Bool = false
    ) -> String {
        "\(key): \(holder) of catalog \(catalog) is stored there"
            + (isOther ? "; submit under the name \(catalog) to replace it" : "")
    }

    /// Statements that refuse assets whose keys hold other objects.
    ///
    /// - Parameters:
    ///   - both: a catalog and its generation.
    ///   - assets: the started ones, null for all.
    static func statements(
        _ both: SQLValues, _ assets: PostgresValue, hasHolders: Bool
    ) -> [PostgresStatement] {
        let (key, holder, catalog) = ("%1$s", "%2$s", "%3$s")
        let values =
            both + [
                "assets": assets, "message": .text(message(key, holder, of: catalog)),
                "other_message": .text(message(key, holder, of: catalog, isOther: true)),
            ]
        let holders = PostgresStatement(SQL.KeyConflicts.refuseHeld, values)
        return [PostgresStatement(SQL.KeyConflicts.free, both)] + (hasHolders ? [holders] : [])
            + [PostgresStatement(SQL.KeyConflicts.refuseRivals, values)]
    }
}
