/// Any JSON value, for a walk over what other types encode.
enum JSONTree: Codable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case text(String)
    case list([JSONTree])
    case object([String: JSONTree])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([JSONTree].self) {
            self = .list(value)
        } else {
            self = .object(try container.decode([String: JSONTree].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .list(let values): try container.encode(values)
        case .object(let fields): try container.encode(fields)
        }
    }

    func hasList(longerThan maxItems: Int) -> Bool {
        switch self {
        case .null, .bool, .integer, .number, .text: false
        case .list(let values):
            values.count > maxItems || values.contains { $0.hasList(longerThan: maxItems) }
        case .object(let fields): fields.values.contains { $0.hasList(longerThan: maxItems) }
        }
    }

    /// Returns the value with each text, and each field's name, changed, and with the first `maxItems`
    /// of each list.
    ///
    /// - Parameter change: gets a text and the name of its field, nil for a name itself.
    func mapped(
        field: String = "", maxItems: Int,
        _ change: (_ text: String, _ field: String?) -> String
    ) -> JSONTree {
        switch self {
        case .null, .bool, .integer, .number: self
        case .text(let text): .text(change(text, field))
        case .list(let values):
            .list(
                values.prefix(maxItems).map {
                    $0.mapped(field: field, maxItems: maxItems, change)
                })
        case .object(let fields):
            .object(
                Dictionary(
                    fields.map { name, value in
                        (
                            change(name, nil),
                            value.mapped(field: name, maxItems: maxItems, change)
                        )
                    },
                    uniquingKeysWith: { first, _ in first }))
        }
    }
}
