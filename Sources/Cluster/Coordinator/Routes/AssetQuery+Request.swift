import API
import HTTPServer
import JobQueue
import Model

extension AssetQuery {
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
        for name in (request.queryValue("state") ?? "").split(separator: ",") {
            query.states.append(try choice("state", String(name)))
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
        if let after = request.queryValue("after") {
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
        var reference: CatalogReference
        if let number = Int64(text) {
            reference = CatalogReference(CatalogID(number))
        } else {
            reference = CatalogReference(name: text)
        }
        reference.storageURL = request.queryValue("site")
        try Validation.check(reference)
        return reference
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
