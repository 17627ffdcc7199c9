import API
import Model
import Postgres

extension Selection {
    /// Throws `input.notFound` where nothing was selected because the catalog has no asset of that
    /// name. A pattern may match none.
    func checkNames(_ connection: PostgresConnection) async throws {
        if let name = action.asset, action.failureCode == nil { throw unknown(name) }
        let pattern = action.name.flatMap { $0.contains("*") ? nil : $0 }
        guard let name = action.asset ?? pattern, action.catalog != nil else { return }
        let hasName = try await connection.query(
            SQL.Selecting.hasName,
            ["catalog": .int(catalog.rawValue), "name": .text(name)]
        ).only().bool("has_name")
        if !hasName { throw unknown(name) }
    }

    private func unknown(_ name: String) -> Failure {
        Failure.notFound(
            "There is no asset \(name.prefix(100)) in catalog \(catalog).",
            listedBy: "dray assets list \(catalog)")
    }
}
