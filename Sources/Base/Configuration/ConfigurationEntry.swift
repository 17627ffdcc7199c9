/// A value of a configuration file.
package enum ConfigurationValue: Hashable, Sendable {
    case text(String)
    /// A number as it is written.
    case number(String)
    case boolean(Bool)
    case array([ConfigurationValue])

    /// Its kind, for messages.
    var kind: String {
        switch self {
        case .text: "a string"
        case .number: "a number"
        case .boolean: "true or false"
        case .array: "an array"
        }
    }
}

/// A key of a configuration file and its value.
package struct ConfigurationEntry: Hashable, Sendable {
    /// Names of its tables: `catalog`, `check` for `[catalog.check]`; empty outside them.
    package var table: [String]
    package var key: String
    package var value: ConfigurationValue
    package var line: Int
}

/// A configuration file that cannot be read, with the line.
package struct ConfigurationSyntaxError: Error, Hashable, Sendable {
    package var line: Int
    package var message: String
}
