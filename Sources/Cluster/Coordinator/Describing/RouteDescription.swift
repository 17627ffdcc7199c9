import API
import Model

/// Describes a route, its parameters and its answers, for `/openapi.json` and `docs/api.md`.
///
/// Method, path, roles and the statuses that follow from them are the route's own.
struct RouteDescription: Sendable {
    typealias Message = any (Decodable & Sendable).Type

    /// The body of an answer.
    enum Answer: Sendable {
        /// 204.
        case nothing
        case json(Message)
        /// JSON, or rows if the request accepts them.
        case rows(Message)
        /// JSON, or server-sent events if the request accepts them.
        case events(Message)
        /// Text of these types.
        case text([String])
        /// An OpenAPI document.
        case document
    }

    struct Parameter: Sendable {
        var name: String
        var schema: Schema
        var isRequired = false
        var text: String

        init(_ name: String, _ schema: Schema, _ text: String, isRequired: Bool = false) {
            self.name = name
            self.schema = schema
            self.text = text
            self.isRequired = isRequired
        }
    }

    /// One sentence.
    var summary: String
    var query: [Parameter]
    /// The message of the request; nil for a GET.
    var body: Message?
    var answer: Answer
    /// Statuses of failures besides those that follow from the route.
    var failures: [Int]

    init(
        _ summary: String, query: [Parameter] = [], body: Message? = nil, _ answer: Answer,
        failures: [Int] = []
    ) {
        self.summary = summary
        self.query = query
        self.body = body
        self.answer = answer
        self.failures = failures
    }

    /// True if the request may be in rows.
    var takesRows: Bool { body.map { $0 is any WireMessage.Type } ?? false }
}

extension RouteDescription.Parameter {
    static let limit = Self(
        "limit", Schema(.integer, .range(1...WireLimits.pageRows)),
        "Maximum number of elements; \(WireLimits.pageRows) without it.")
    static let after = Self(
        "after", Schema(.string, .characters(1...PageCursor.maximumBytes)),
        "The `next` of the previous page of this list.")
    static let page = [after, limit]
    static let siteOfCatalog = Self(
        "site", Schema(.string, .characters(1...2_048)),
        "The catalog's site, if several have the name: its storage URL or the name of its queue. A "
            + "catalog of another site is not found.")

    /// One of the values of an enumeration.
    static func choice<Value: RawRepresentable<String> & CaseIterable>(
        _ name: String, _ type: Value.Type, _ text: String
    ) -> Self {
        Self(name, Schema(.string, .values(type.allCases.map(\.rawValue))), text)
    }

    /// The parameters of paths, by name.
    static let ofPaths: [String: Self] = [
        "catalog": Self(
            "catalog", Schema(.integer, .range(1...Int.max)), "The catalog's number.",
            isRequired: true),
        "queue": Self(
            "queue", Schema(.string, .characters(1...200)), "The queue's name.", isRequired: true),
        "test": Self(
            "test", Schema(.string, .pattern("^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")),
            "The load test's id.", isRequired: true),
        "audit": Self(
            "audit", Schema(.integer, .range(1...Int.max)), "The audit's number.",
            isRequired: true),
        "webhook": Self(
            "webhook", Schema(.integer, .range(1...Int.max)), "The webhook's number.",
            isRequired: true),
        "delivery": Self(
            "delivery", Schema(.integer, .range(1...Int.max)), "The delivery's number.",
            isRequired: true),
        "token": Self(
            "token", Schema(.string, .characters(1...100)), "The token's number or name.",
            isRequired: true),
    ]
}

extension Route {
    /// Statuses of failures that every request can have, as the HTTP server itself answers them.
    static let commonFailures = [400, 405, 408, 413, 414, 429, 431, 500, 501, 503, 505]

    /// Statuses of failures that this route can answer, in order.
    func failures(_ description: RouteDescription) -> [Int] {
        var statuses = Set(Self.commonFailures + description.failures)
        if rule != nil { statuses.formUnion([401, 403]) }
        let hasParameters = path.parts.contains {
            if case .parameter = $0 { true } else { false }
        }
        if hasParameters || method == .post { statuses.insert(404) }
        if method == .post { statuses.insert(409) }
        if isCreating { statuses.insert(422) }
        return statuses.sorted()
    }
}
