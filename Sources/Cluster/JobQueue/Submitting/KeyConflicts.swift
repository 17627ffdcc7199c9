import Postgres

/// Assets of a catalog whose keys hold other objects, or that claim the keys of each other.
enum KeyConflicts {
    /// Statements that reject assets whose keys hold other objects.
    ///
    /// - Parameters:
    ///   - both: a catalog and its generation.
    ///   - assets: the started ones, null for all.
    static func statements(
        _ both: SQLValues, _ assets: PostgresValue, hasHolders: Bool
    ) -> [PostgresStatement] {
        let values = both + ["assets": assets]
        let holders = PostgresStatement(SQL.KeyConflicts.refuseHeld, values)
        return [PostgresStatement(SQL.KeyConflicts.free, both)] + (hasHolders ? [holders] : [])
            + [PostgresStatement(SQL.KeyConflicts.refuseRivals, values)]
    }
}
