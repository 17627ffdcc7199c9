/// A setting of several commands: a variable of the environment, and a key of a configuration file
/// outside its tables.
package struct CommandSetting: Hashable, Sendable {
    /// Its key: `token-file`.
    package let name: String
    /// `DRAY_TOKEN_FILE`.
    package let variable: String
    /// Settings of one group exclude each other; the group's name is that of its first setting.
    package let group: String
    /// True if the value itself is a secret.
    package let isSecret: Bool
    /// Between several values in the variable; nil for a setting with one value.
    package let separator: Character?
    package let help: String

    package init(
        _ name: String, _ variable: String, group: String? = nil, secret: Bool = false,
        separator: Character? = nil, help: String
    ) {
        self.name = name
        self.variable = variable
        self.group = group ?? name
        isSecret = secret
        self.separator = separator
        self.help = help
    }
}

/// The origin of the value of a setting or an option. Later cases take precedence.
package enum ValueOrigin: Hashable, Sendable, CustomStringConvertible {
    case defaults
    case file(String, line: Int)
    case environment(String)
    case commandLine

    package var description: String {
        switch self {
        case .defaults: "default"
        case .file(let path, let line): "\(path):\(line)"
        case .environment(let variable): variable
        case .commandLine: "command line"
        }
    }
}
