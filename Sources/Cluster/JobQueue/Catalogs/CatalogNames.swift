import API
import Model
import Postgres

/// Catalogs as requests name them: by number, or by name and site.
struct CatalogNames: Sendable {
    let database: QueueDatabase

    /// Returns the one catalog of a reference. Throws `input.notFound`, also for one of another site,
    /// and `input.ambiguous` for a name that several sites have.
    ///
    /// - Parameter takesAll: true if the request may name the catalogs of all sites instead.
    func catalog(
        _ reference: CatalogReference, takesAll: Bool = false
    ) async throws(Failure) -> CatalogID {
        let found = try await catalogs(reference, failureCode: nil)
        guard let first = found.first else { throw try await absence(of: reference) }
        guard found.count == 1 else {
            let name = (reference.name ?? "").prefix(100)
            throw Failure(
                .inputAmbiguous,
                "Several sites have a catalog \(name): \(Self.shown(found)). Specify its site "
                    + "(--site \(first.site)), or its number"
                    + (takesAll ? "; --all-sites takes all." : "."))
        }
        return first.id
    }

    func catalogs(of action: SelectionAction) async throws(Failure) -> [CatalogID] {
        guard let reference = action.catalog else {
            return try await catalogs(
                nil, failureCode: action.failureCode,
                AssetStates(action.states ?? []) ?? AssetStates()
            ).map(\.id)
        }
        let ofAll: [SelectionAction.Action] = [
            .cancel, .retry, .reprioritise, .pause, .resume, .pin, .unpin,
        ]
        return [try await catalog(reference, takesAll: ofAll.contains(action.action))]
    }

    /// Returns the failure for an unknown catalog or site; it names the site of a catalog that has
    /// the number, and catalogs of the name at other sites.
    private func absence(of reference: CatalogReference) async throws(Failure) -> Failure {
        let name = (reference.name ?? "").prefix(100)
        guard let site = reference.site else {
            if let id = reference.id { return .unknownCatalog(id) }
            return .notFound("There is no catalog \(name).", listedBy: "dray catalog list")
        }
        let isKnown = try await database.withConnection { connection in
            try await Sites.storageURL(of: site, connection) != nil
        }
        var anywhere = reference
        anywhere.site = nil
        let others = try await catalogs(anywhere, failureCode: nil)
        let shownSite = redacted(url: site).prefix(200)
        let none = "There is no site \(shownSite)"
        let list = isKnown ? "dray catalog list" : "dray site list"
        if let id = reference.id {
            guard let site = others.first?.site else { return .unknownCatalog(id) }
            return .notFound(
                isKnown
                    ? "Catalog \(id) is of the site \(site), not of \(shownSite). Omit the site, or "
                        + "specify that one (--site \(site))."
                    : "\(none); catalog \(id) is of the site \(site).", listedBy: list)
        }
        return .notFound(
            (isKnown ? "There is no catalog \(name) at \(shownSite)" : none)
                + (others.isEmpty ? "." : "; other sites have one: \(Self.shown(others))."),
            listedBy: list)
    }

    /// A catalog, and the name of its site's queue.
    private struct Found {
        let id: CatalogID
        let site: String
    }

    /// Formats the first catalogs as they can be named, and how many more there are.
    private static func shown(_ catalogs: [Found]) -> String {
        let rest = catalogs.count - 5
        return catalogs.prefix(5).map { "\($0.id) at \($0.site)" }.joined(separator: ", ")
            + (rest > 0 ? " and \(rest) more" : "")
    }

    private func catalogs(
        _ reference: CatalogReference?, failureCode: FailureCode?,
        _ states: AssetStates = AssetStates()
    ) async throws(Failure) -> [Found] {
        try await database.withConnection { connection in
            try await connection.query(
                SQL.Catalogs.select,
                [
                    "catalog": .optionalInt(reference?.id?.rawValue),
                    "name": .optionalText(reference?.name),
                    "site": .optionalText(reference?.site),
                    "failure_code": .optionalText(failureCode?.rawValue),
                    "states": states.named, "is_paused": .bool(states.includesPaused),
                ]
            ).rows.map {
                Found(id: CatalogID(try $0.int64("id")), site: try $0.string("queue"))
            }
        }
    }
}
