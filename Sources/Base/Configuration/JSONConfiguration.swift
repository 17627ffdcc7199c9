import JSON
import Model

/// Reads a configuration file in JSON: an object of settings, with an object for each table.
enum JSONConfiguration {
    static func read(_ bytes: [UInt8]) throws(Failure) -> [ConfigurationEntry] {
        var cursor = JSONCursor(bytes)
        var entries: [ConfigurationEntry] = []
        guard try cursor.peek() == .object else {
            throw cursor.malformed("expected an object", at: cursor.index)
        }
        try table(&cursor, [], into: &entries)
        try cursor.finish()
        return entries
    }

    private static func table(
        _ cursor: inout JSONCursor, _ path: [String], into entries: inout [ConfigurationEntry]
    ) throws(Failure) {
        var found: [ConfigurationEntry] = []
        try cursor.object { (cursor, name, start) throws(Failure) in
            if try cursor.peek() == .object {
                try table(&cursor, path + [name], into: &found)
            } else {
                let line = cursor.position(start).line
                let value = try value(&cursor, isNested: false)
                found.append(
                    ConfigurationEntry(table: path, key: name, value: value, line: line))
            }
        }
        entries += found
    }

    private static func value(
        _ cursor: inout JSONCursor, isNested: Bool
    ) throws(Failure) -> ConfigurationValue {
        switch try cursor.peek() {
        case .string: return .text(try cursor.string())
        case .number: return .number(try cursor.number())
        case .boolean: return .boolean(try cursor.boolean(""))
        case .array where !isNested:
            var values: [ConfigurationValue] = []
            try cursor.array { (cursor) throws(Failure) in
                values.append(try value(&cursor, isNested: true))
            }
            return .array(values)
        case .array, .object, .null:
            throw cursor.malformed(
                "expected a string, a number, true or false", at: cursor.index)
        }
    }
}
