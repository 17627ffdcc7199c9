package import CommandLine
import Model
import Text

/// A configuration file whose keys and values are those of a table of commands.
package struct ConfigurationFile: Sendable {
    /// The largest file that is read.
    package static let maximumBytes = 256 << 10

    package let path: String
    /// Settings of all commands, by name.
    private var settings: [String: (texts: [String], line: Int)] = [:]
    /// Options by the command's words and their name; a flag's text is `true` or `false`.
    private var options: [[String]: [String: (texts: [String], line: Int)]] = [:]

    /// Reads and checks a file; its name ends with `.json` if it is JSON, and is TOML otherwise.
    ///
    /// - Parameter isPrivate: true if no other user can read it, so that it may hold secrets.
    package init(
        _ bytes: [UInt8], path: String, isPrivate: Bool, of tree: CommandTree
    ) throws(UsageError) {
        self.path = path
        let tables = Dictionary(
            tree.nodes.map { (Array($0.path.dropFirst()), $0) },
            uniquingKeysWith: { first, _ in first })
        for entry in try Self.entries(bytes, path) {
            guard !entry.table.isEmpty else {
                try add(entry, isPrivate: isPrivate, tree)
                continue
            }
            guard let node = tables[entry.table] else {
                throw Self.failure(
                    entry, path, "unknown table [\(entry.table.joined(separator: "."))]",
                    suggestion(
                        for: entry.table.joined(separator: "."),
                        from: tables.keys.map { $0.joined(separator: ".") })
                        ?? "Tables are commands: [prefetch], [catalog.check].")
            }
            let options = Self.configurable(node)
            guard let option = options.first(where: { $0.name == entry.key }) else {
                throw Self.failure(
                    entry, path,
                    "unknown key \(entry.key) of [\(entry.table.joined(separator: "."))]",
                    suggestion(for: entry.key, from: options.map(\.name))
                        ?? "`\(node.path.joined(separator: " ")) --help` lists the options, "
                        + "which are the keys.")
            }
            if option.isSecret { try Self.checkPrivate(entry, path, isPrivate) }
            self.options[entry.table, default: [:]][entry.key] = (
                try Self.texts(entry, of: option, path), entry.line
            )
        }
    }

    /// Options that a file or the environment may set.
    static func configurable(_ node: CommandTree.Node) -> [CommandOption] {
        node.options.filter { !["help", "version", "config"].contains($0.name) }
    }

    func setting(_ name: String) -> (texts: [String], origin: ValueOrigin)? {
        settings[name].map { ($0.texts, .file(path, line: $0.line)) }
    }

    /// - Parameter command: the words that lead to the command, without the program's name.
    func option(_ name: String, of command: [String]) -> (texts: [String], origin: ValueOrigin)? {
        options[command]?[name].map { ($0.texts, .file(path, line: $0.line)) }
    }

    // MARK: Reading

    private static func entries(
        _ bytes: [UInt8], _ path: String
    ) throws(UsageError) -> [ConfigurationEntry] {
        let hint = "`dray config check FILE` checks a file."
        guard path.hasSuffix(".json") else {
            do throws(ConfigurationSyntaxError) { return try TOMLReader.read(bytes) } catch {
                throw UsageError("\(printable(path)):\(error.line): \(error.message)", hint: hint)
            }
        }
        do throws(Failure) { return try JSONConfiguration.read(bytes) } catch {
            throw UsageError("\(printable(path)): \(error.message)", hint: hint)
        }
    }

    private mutating func add(
        _ entry: ConfigurationEntry, isPrivate: Bool, _ tree: CommandTree
    ) throws(UsageError) {
        guard let setting = tree.settings.first(where: { $0.name == entry.key }) else {
            throw Self.failure(
                entry, path, "unknown key \(entry.key)",
                suggestion(for: entry.key, from: tree.settings.map(\.name))
                    ?? "Outside tables: \(tree.settings.map(\.name).joined(separator: ", ")). "
                    + "Options of commands belong in tables: [prefetch].")
        }
        if setting.isSecret { try Self.checkPrivate(entry, path, isPrivate) }
        let rival = tree.settings.first {
            $0.group == setting.group && $0.name != setting.name && settings[$0.name] != nil
        }
        if let rival {
            throw Self.failure(
                entry, path, "\(entry.key) and \(rival.name) are both set", "Remove one of them.")
        }
        let texts: [String]
        switch entry.value {
        case .text(let text): texts = [text]
        case .number(let text): texts = [text]
        case .array(let values) where setting.separator != nil:
            texts = values.compactMap { if case .text(let text) = $0 { text } else { nil } }
            guard texts.count == values.count else {
                throw Self.failure(
                    entry, path, "\(entry.key) has \(entry.value.kind)", "Use strings.")
            }
        case .array, .boolean:
            throw Self.failure(
                entry, path, "\(entry.key) is \(entry.value.kind)", "Write a string in quotes.")
        }
        settings[entry.key] = (texts, entry.line)
    }

    private static func texts(
        _ entry: ConfigurationEntry, of option: CommandOption, _ path: String
    ) throws(UsageError) -> [String] {
        let source = "\(printable(path)):\(entry.line): \(entry.key)"
        if case .flag = option.kind {
            guard case .boolean(let isSet) = entry.value else {
                throw UsageError("\(source) is \(entry.value.kind)", hint: "Write true or false.")
            }
            return ["\(isSet)"]
        }
        var texts: [String] = []
        let values: [ConfigurationValue] =
            if case .array(let values) = entry.value { values } else { [entry.value] }
        for value in values {
            switch value {
            case .text(let text), .number(let text): texts.append(text)
            case .boolean, .array:
                throw UsageError(
                    "\(source) is \(value.kind)", hint: "Write the value of --\(option.name).")
            }
        }
        if case .array = entry.value, !option.isRepeatable {
            guard case .choices = option.kind else {
                throw UsageError("\(source) is an array", hint: "It has one value.")
            }
            texts = [texts.joined(separator: ",")]
        }
        for text in texts { try option.check(text, source: source) }
        return texts
    }

    private static func checkPrivate(
        _ entry: ConfigurationEntry, _ path: String, _ isPrivate: Bool
    ) throws(UsageError) {
        guard !isPrivate else { return }
        throw failure(
            entry, path, "\(entry.key) is a secret, and other users can read the file",
            "Run: chmod 600 on it, or name a file with the secret instead: token-file.")
    }

    private static func failure(
        _ entry: ConfigurationEntry, _ path: String, _ message: String, _ hint: String
    ) -> UsageError {
        UsageError("\(printable(path)):\(entry.line): \(printable(message))", hint: hint)
    }
}
