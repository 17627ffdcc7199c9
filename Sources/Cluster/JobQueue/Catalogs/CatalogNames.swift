import API
import Model
import Postgres

/// Catalogs as requests name them: by number, or by name and site.
struct CatalogNames: Sendable {
    let database: QueueDatabase

    /// Returns the one catalog of a reference. Throws `input.notFound`, and `input.ambiguous` for a
    /// name that several sites have.
    ///
    /// - Parameter takesAll: true if the request may name the catalogs of all sites instead.
    func catalog(
        _ reference: CatalogReference, takesAll: Bool = false
    ) async throws(Failure) -> CatalogID {
        let found = try await catalogs(reference, failureCode: nil)
        if let id = reference.id, found.isEmpty { throw Failure.unknownCatalog(id) }
        let name = (reference.name ?? "").prefix(100)
        guard let first = found.first else {
            throw Failure.notFound(
                try await absence(of: name, reference), listedBy: "dray catalog list")
        }
        guard found.count == 1 else {
            throw Failure.ambiguous(catalog: String(name), numbers: found, takesAll: takesAll)
        }
        return first
    }

    func catalogs(of action: SelectionAction) async throws(Failure) -> [CatalogID] {
        guard let reference = action.catalog else {
            return try await catalogs(
                nil, failureCode: action.failureCode,
                AssetStates(action.states ?? []) ?? AssetStates())
        }
        let ofAll: [SelectionAction.Action] = [
            .cancel, .retry, .reprioritise, .pause, .resume, .pin, .unpin,
        ]
        return [try await catalog(reference, takesAll: ofAll.contains(action.action))]
    }

    /// Words the failure for an unknown catalog; it names catalogs of this name at other sites.
    private func absence(
        of name: Substring, _ reference: CatalogReference
    ) async throws(Failure) -> String {
        guard let site = reference.storageURL else { return "There is no catalog \(name)." }
        var anywhere = reference
        anywhere.storageURL = nil
        let others = try await catalogs(anywhere, failureCode: nil)
        let text = "There is no catalog \(name) at \(redacted(url: site).prefix(200))"
        guard !others.isEmpty else { return text + "." }
        return text + "; at other sites there is: \(Failure.shown(others))."
    }

    private func catalogs(
        _ reference: CatalogReference?, failureCode: FailureCode?,
        _ states: AssetStates = AssetStates()
    ) async throws(Failure) -> [CatalogID] {
        try await database.withConnection { connection in
            try await connection.query(
                SQL.Catalogs.select,
                [
                    "catalog": .optionalInt(reference?.id?.rawValue),
                    "name": .optionalText(reference?.name),
                    "storage_url": .optionalText(reference?.storageURL),
                    "failure_code": .optionalText(failureCode?.rawValue),
                    "states": states.named, "is_paused": .bool(states.includesPaused),
                ]
            ).rows.map { CatalogID(try $0.int64("id")) }
        }
    }
}
