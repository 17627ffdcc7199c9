import Foundation

/// Compares JSON with a schema of an OpenAPI document, as far as Dray's documents use schemas.
///
/// Stricter than JSON Schema: an object must not have fields that its schema does not name.
struct SchemaCheck {
    /// The schemas of the document by name.
    let components: [String: Any]

    /// Returns what does not fit, with its place; empty if all does.
    func problems(_ value: Any, _ schema: [String: Any], at place: String = "$") -> [String] {
        if let reference = schema["$ref"] as? String {
            let name = String(reference.split(separator: "/").last ?? "")
            guard let component = components[name] as? [String: Any] else {
                return ["\(place): no schema \(name)"]
            }
            return problems(value, component, at: place)
        }
        if let any = schema["anyOf"] as? [[String: Any]] {
            let all = any.map { problems(value, $0, at: place) }
            return all.contains { $0.isEmpty } ? [] : all.first ?? []
        }
        let types = schema["type"] as? [String] ?? [schema["type"] as? String ?? ""]
        guard types.contains(where: { Self.isOfType(value, $0) }) else {
            return ["\(place): \(value) is not \(types)"]
        }
        if let values = schema["enum"] as? [Any], let text = value as? String,
            !values.contains(where: { $0 as? String == text })
        {
            return ["\(place): \(text) is none of \(values)"]
        }
        if let number = value as? Double, let least = schema["minimum"] as? Double,
            let most = schema["maximum"] as? Double, !(least...most).contains(number)
        {
            return ["\(place): \(number) is out of range"]
        }
        if let text = value as? String, let pattern = schema["pattern"] as? String,
            text.range(of: pattern, options: .regularExpression) == nil
        {
            return ["\(place): \(text) is not \(pattern)"]
        }
        if let list = value as? [Any] {
            let element = schema["items"] as? [String: Any] ?? [:]
            return list.enumerated().flatMap { problems($1, element, at: "\(place)[\($0)]") }
        }
        return (value as? [String: Any]).map { object($0, schema, place) } ?? []
    }

    private func object(
        _ object: [String: Any], _ schema: [String: Any], _ place: String
    ) -> [String] {
        if let element = schema["additionalProperties"] as? [String: Any] {
            return object.flatMap { problems($1, element, at: "\(place).\($0)") }
        }
        let properties = schema["properties"] as? [String: Any] ?? [:]
        let missing = (schema["required"] as? [String] ?? []).filter { object[$0] == nil }
        return missing.map { "\(place).\($0) is missing" }
            + object.flatMap { name, value in
                guard let property = properties[name] as? [String: Any] else {
                    return ["\(place).\(name) is not in the schema"]
                }
                return problems(value, property, at: "\(place).\(name)")
            }
    }

    private static func isOfType(_ value: Any, _ type: String) -> Bool {
        let isBool = isBool(value)
        return switch type {
        case "null": value is NSNull
        case "string": value is String
        case "boolean": isBool
        case "integer":
            !isBool
                && (value as? NSNumber).map { $0.doubleValue.rounded() == $0.doubleValue } == true
        case "number": !isBool && value is NSNumber
        case "array": value is [Any]
        case "object": value is [String: Any]
        default: false
        }
    }

    /// Returns true for `true` and `false`, which Foundation reads as numbers.
    private static func isBool(_ value: Any) -> Bool {
        (value as? NSNumber).map { ["c", "B"].contains(String(cString: $0.objCType)) }
            ?? (value is Bool)
    }
}
