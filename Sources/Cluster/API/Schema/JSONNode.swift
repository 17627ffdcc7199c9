/// A JSON value that is composed in code, such as a part of an OpenAPI document.
package indirect enum JSONNode: Hashable, Sendable {
    case object([String: JSONNode])
    case array([JSONNode])
    case string(String)
    case integer(Int64)
    case number(Double)
    case bool(Bool)
    case null
}

extension JSONNode: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral,
    ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral
{
    package init(dictionaryLiteral elements: (String, JSONNode)...) {
        self = .object(Dictionary(uniqueKeysWithValues: elements))
    }

    package init(arrayLiteral elements: JSONNode...) { self = .array(elements) }
    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension JSONNode: Encodable {
    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let members):
            var container = encoder.container(keyedBy: Name.self)
            for (name, value) in members {
                try container.encode(value, forKey: Name(stringValue: name))
            }
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        case .string(let text): try Self.encode(text, to: encoder)
        case .integer(let number): try Self.encode(number, to: encoder)
        case .number(let number): try Self.encode(number, to: encoder)
        case .bool(let value): try Self.encode(value, to: encoder)
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        }
    }

    private static func encode(_ value: some Encodable, to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}
