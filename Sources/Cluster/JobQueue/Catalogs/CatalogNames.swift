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
        guard let first = found.first else { throw try await absence(of: name, reference) }
        guard found.count == 1 else {
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

    /// Returns the failure for an unknown catalog or site; it names catalogs of this name at other
    /// sites.
    private func absence(
        of name: Substring, _ reference: CatalogReference
    ) async throws(Failure) -> Failure {
        guard let site = reference.site else {
            return .notFound("There is no catalog \(name).", listedBy: "dray catalog list")
        }
        let isKnown = try await database.withConnection { connection in
            try await Sites.storageURL(of: site, connection) != nil
        }
        var anywhere = reference
        anywhere.site = nil
        let others = try await catalogs(anywhere, failureCode: nil)
        let shownSite = redacted(url: site).prefix(200)
        return .notFound(
            (isKnown
                ? "There is no catalog \(name) at \(shownSite)" : "There is no site \(shownSite)")
                + (others.isEmpty ? "." : "; other sites have one: \(Self.shown(others))."),
            listedBy: isKnown ? "dray catalog list" : "dray site list")
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
