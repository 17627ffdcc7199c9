import API
import Model

/// The OpenAPI 3.1 document of the API, made from the table of routes.
struct OpenAPIDocument {
    let node: JSONNode

    init(_ api: APIDescription) {
        var paths: [String: JSONNode] = [:]
        for entry in api.entries {
            var operations: [String: JSONNode] = [:]
            if case .object(let known)? = paths["\(entry.route.path)"] { operations = known }
            operations[entry.route.method.rawValue.lowercased()] = Self.operation(entry, api)
            paths["\(entry.route.path)"] = .object(operations)
        }
        let schemas = api.components.map { name, schema in
            (name, schema.json(isClosed: api.requests.contains(name)))
        }
        node = [
            "openapi": "3.1.0",
            "info": [
                "title": "Dray coordinator", "version": .string(drayVersion),
                "description": .string(Self.introduction),
            ],
            "paths": .object(paths),
            "components": [
                "schemas": .object(Dictionary(uniqueKeysWithValues: schemas)),
                "securitySchemes": [
                    "token": [
                        "type": "http", "scheme": "bearer",
                        "description": "An access token; x-roles names the roles that suffice.",
                    ]
                ],
                "responses": ["Problem": Self.problem],
                "headers": ["X-Request-Id": Self.requestID],
            ],
            "security": [["token": []]],
        ]
    }

    private static let introduction = """
        Distributed downloads: catalogs, queues, workers and load tests. Failures are problem \
        documents (RFC 9457) with a stable code. docs/api.md has this API as a page, with the \
        format of rows (\(WireFormat.rows.contentType)) of frequent messages.
        """

    private static let requestID: JSONNode = [
        "description": "The request's X-Request-Id, or a random one.",
        "schema": ["type": "string", "maxLength": 128],
    ]

    private static let requestIDHeader: JSONNode = [
        "X-Request-Id": ["$ref": "#/components/headers/X-Request-Id"]
    ]

    private static let problem: JSONNode = [
        "description": "A failure; docs/failures.md lists the codes.",
        "headers": requestIDHeader,
        "content": .object([
            ErrorAnswer.contentType: ["schema": ["$ref": "#/components/schemas/ErrorAnswer"]]
        ]),
    ]

    // MARK: Operations

    private static func operation(_ entry: APIDescription.Entry, _ api: APIDescription) -> JSONNode
    {
        let (route, description) = (entry.route, entry.description)
        var members: [String: JSONNode] = [
            "summary": .string(description.summary),
            "operationId": .string(
                ([route.method.rawValue.lowercased()] + route.path.parts.map(\.text))
                    .joined(separator: "-")),
            "responses": .object(responses(entry, api)),
        ]
        let parameters = parameters(entry)
        if !parameters.isEmpty { members["parameters"] = .array(parameters) }
        if let rule = route.rule {
            let roles = AccessRole.allCases.filter(rule.allows).map { JSONNode.string($0.rawValue) }
            members["x-roles"] = .array(roles)
        } else {
            members["security"] = []
        }
        if let body = description.body {
            let types = description.takesRows ? [WireFormat.json, .rows] : [.json]
            members["requestBody"] = [
                "required": true, "content": .object(content(api.schema(of: body), types)),
            ]
        }
        return .object(members)
    }

    /// Returns the media types of a message; rows are text, which no schema describes.
    private static func content(_ schema: Schema, _ formats: [WireFormat]) -> [String: JSONNode] {
        var content: [String: JSONNode] = [:]
        for format in formats {
            content[format.contentType] =
                switch format {
                case .json: ["schema": schema.json()]
                case .rows: ["schema": ["type": "string", "contentMediaType": "text/plain"]]
                }
        }
        return content
    }

    private static func parameters(_ entry: APIDescription.Entry) -> [JSONNode] {
        var parameters: [JSONNode] = []
        for part in entry.route.path.parts {
            guard case .parameter(let name) = part,
                let parameter = RouteDescription.Parameter.ofPaths[name]
            else { continue }
            parameters.append(node(parameter, "path"))
        }
        parameters += entry.description.query.map { node($0, "query") }
        parameters += headers(entry).map { node($0, "header") }
        return parameters
    }

    /// Returns the headers of requests that the route itself honours.
    private static func headers(_ entry: APIDescription.Entry) -> [RouteDescription.Parameter] {
        var headers: [RouteDescription.Parameter] = []
        if entry.route.isCreating {
            headers.append(
                RouteDescription.Parameter(
                    IdempotencyKeys.header,
                    Schema(.string, .pattern("^[!-~]{1,\(IdempotencyKeys.maximumBytes)}$")),
                    "The same for a repeated request, which then creates nothing."))
        }
        if entry.hasEntityTag {
            headers.append(
                RouteDescription.Parameter(
                    "If-None-Match", Schema(.string),
                    "The ETag of an earlier answer: an equal one is 304."))
        }
        return headers
    }

    private static func node(
        _ parameter: RouteDescription.Parameter, _ location: JSONNode
    ) -> JSONNode {
        [
            "name": .string(parameter.name), "in": location,
            "required": .bool(parameter.isRequired),
            "description": .string(parameter.text), "schema": parameter.schema.json(),
        ]
    }

    // MARK: Answers

    private static func responses(
        _ entry: APIDescription.Entry, _ api: APIDescription
    ) -> [String: JSONNode] {
        var responses: [String: JSONNode] = [:]
        func add(_ status: Int, _ description: JSONNode, _ content: [String: JSONNode] = [:]) {
            var members: [String: JSONNode] = [
                "description": description, "headers": requestIDHeader,
            ]
            if !content.isEmpty { members["content"] = .object(content) }
            responses["\(status)"] = .object(members)
        }
        switch entry.description.answer {
        case .nothing: add(204, "Done.")
        case .json(let type): add(200, "Done.", content(api.schema(of: type), [.json]))
        case .rows(let type): add(200, "Done.", content(api.schema(of: type), [.json, .rows]))
        case .events(let type):
            var content = content(api.schema(of: type), [.json])
            content["text/event-stream"] = ["schema": ["type": "string"]]
            add(200, "Done.", content)
        case .text(let types):
            let text: JSONNode = ["schema": ["type": "string"]]
            add(200, "Done.", Dictionary(uniqueKeysWithValues: types.map { ($0, text) }))
        case .document: add(200, "Done.", ["application/json": ["schema": ["type": "object"]]])
        }
        if entry.hasEntityTag { add(304, "The answer is that of If-None-Match.") }
        for status in entry.route.failures(entry.description) {
            responses["\(status)"] = ["$ref": "#/components/responses/Problem"]
        }
        return responses
    }
}

extension APIDescription.Entry {
    /// True if answers have an ETag.
    var hasEntityTag: Bool {
        guard route.method == .get, route.rule != .workers else { return false }
        return switch description.answer {
        case .json, .events, .document: true
        case .nothing, .rows, .text: false
        }
    }
}

extension RoutePath.Part {
    /// The text of a literal, or the name of a parameter.
    var text: String {
        switch self {
        case .literal(let text), .parameter(let text): text
        }
    }
}
