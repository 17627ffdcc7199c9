import API
import HTTPServer
import JobQueue
import Model

extension AssetQuery {
    /// Name of the list in cursors.
    static let list = "assets"

    /// Reads the parameters of a request. Throws `input.field` for an unknown or out-of-range one.
    static func read(_ request: HTTPRequest) throws(Failure) -> AssetQuery {
        let names = [
            "catalog", "site", "state", "kind", "code", "name", "search", "minimumBytes",
            "maximumBytes", "sort", "descending", "after", "limit",
        ]
        if let other = request.query.first(where: { !names.contains($0.name) }) {
            throw Validation.wrong("the query", other.name, names.joined(separator: ", "))
        }
        var query = AssetQuery(try reference(request))
        if let text = request.queryValue("state") {
            let names = text.split(separator: ",").map(String.init)
            guard let states = AssetStates(names) else {
                throw Validation.wrong(
                    "state", text, AssetStates.allNames.joined(separator: ", "))
            }
            query.states = states
        }
        if let kind = request.queryValue("kind") { query.kind = try choice("kind", kind) }
        for (field, path) in [
            ("code", \AssetQuery.failureCode), ("name", \.name), ("search", \.search),
        ] {
            guard let text = request.queryValue(field) else { continue }
            try Validation.text(text, field, 1...1_000)
            query[keyPath: path] = text
        }
        for (field, path) in [
            ("minimumBytes", \AssetQuery.minimumBytes), ("maximumBytes", \.maximumBytes),
        ] {
            guard let text = request.queryValue(field) else { continue }
            guard let bytes = Int64(text), bytes >= 0 else {
                throw Validation.wrong(field, text, "a number of bytes, 0 or more")
            }
            query[keyPath: path] = bytes
        }
        if let sort = request.queryValue("sort") { query.order = try choice("sort", sort) }
        if let value = try Validation.flag(request.queryValue("descending"), "descending") {
            query.isDescending = value
        }
        if let after = try PageCursor.position(in: request, of: list) {
            try Validation.text(after, "after", 1...1_000)
            query.after = after
        }
        query.limit = try Validation.limit(request.queryValue("limit"))
        return query
    }

    private static func reference(_ request: HTTPRequest) throws(Failure) -> CatalogReference {
        guard let text = request.queryValue("catalog") else {
            throw Validation.wrong("catalog", "none", "its number or name")
        }
        return try CatalogReference.read(text, site: request.queryValue("site"))
    }

    private static func choice<Value: RawRepresentable<String> & CaseIterable>(
        _ field: String, _ text: String
    ) throws(Failure) -> Value {
        guard let value = Value(rawValue: text) else {
            throw Validation.wrong(
                field, text, Value.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return value
    }
}

extension CatalogReference {
    /// Reads the parameters of a request: a catalog's number or name, and its site. Throws
    /// `input.field`.
    static func read(_ text: String, site: String?) throws(Failure) -> CatalogReference {
        var reference = CatalogReference(name: text)
        if let number = Int64(text) { reference = CatalogReference(CatalogID(number)) }
        reference.site = site
        try Validation.check(reference, siteField: "site")
        return reference
    }
}
