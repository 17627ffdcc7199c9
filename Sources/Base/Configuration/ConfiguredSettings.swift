package import CommandLine

/// Joins a configuration file, the environment and the command line: each takes precedence over the
/// one before it.
package struct ConfiguredSettings: Sendable {
    private let file: ConfigurationFile?
    private let environment: [String: String]
    private let tree: CommandTree

    package init(file: ConfigurationFile?, environment: [String: String], of tree: CommandTree) {
        self.file = file
        self.environment = environment
        self.tree = tree
    }

    /// A setting and where its value comes from.
    package struct Value: Sendable {
        package let setting: CommandSetting
        /// Empty if it has no value.
        package let text: String
        package let origin: ValueOrigin
    }

    /// Sets the options that the command line leaves open: from the variable of the command and the
    /// option, or else from the command's table of the file.
    package func complete(
        _ arguments: inout Arguments, of node: CommandTree.Node
    ) throws(UsageError) {
        let command = Array(node.path.dropFirst())
        let groups = Set(
            node.options.compactMap { option in
                arguments.origin(of: option.name) == nil ? nil : option.setting?.group
            })
        for option in ConfigurationFile.configurable(node)
        where arguments.origin(of: option.name) == nil {
            if let setting = option.setting {
                // The command line or the environment has decided on this, or on what excludes it.
                guard !groups.contains(setting.group), !isInEnvironment(setting.group) else {
                    continue
                }
            } else if let text = variable(Self.variable(of: option.name, command)) {
                try set(
                    option, text.split(separator: "\n").map(String.init),
                    .environment(Self.variable(of: option.name, command)), &arguments)
                continue
            }
            if let value = file?.option(option.name, of: command) {
                try set(option, value.texts, value.origin, &arguments)
            }
        }
    }

    /// Returns every setting of all commands.
    ///
    /// - Parameter arguments: the completed command line, whose options take precedence.
    package func settings(_ arguments: Arguments, of node: CommandTree.Node?) -> [Value] {
        let given = (node?.options ?? []).filter { arguments.origin(of: $0.name) != nil }
        let decided = Dictionary(
            given.compactMap { option in option.setting.map { ($0.group, option) } },
            uniquingKeysWith: { first, _ in first })
        return tree.settings.map { setting in
            let none = Value(setting: setting, text: "", origin: .defaults)
            if let option = decided[setting.group] {
                guard option.setting == setting, let origin = arguments.origin(of: option.name)
                else { return none }
                return Value(
                    setting: setting, text: joined(arguments.texts(option.name), setting),
                    origin: origin)
            }
            if isInEnvironment(setting.group) {
                guard let text = variable(setting.variable) else { return none }
                return Value(
                    setting: setting, text: text, origin: .environment(setting.variable))
            }
            guard let value = file?.setting(setting.name) else { return none }
            return Value(
                setting: setting, text: joined(value.texts, setting), origin: value.origin)
        }
    }

    /// Returns `DRAY_CATALOG_CHECK_ERRORS` for `--errors` of `dray catalog check`.
    package static func variable(of option: String, _ command: [String]) -> String {
        (["DRAY"] + command + [option]).joined(separator: "_").replacing("-", with: "_")
            .uppercased()
    }

    private func joined(_ texts: [String], _ setting: CommandSetting) -> String {
        texts.joined(separator: setting.separator.map { String($0) } ?? ",")
    }

    private func variable(_ name: String) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    private func isInEnvironment(_ group: String) -> Bool {
        tree.settings.contains { $0.group == group && variable($0.variable) != nil }
    }

    private func set(
        _ option: CommandOption, _ texts: [String], _ origin: ValueOrigin,
        _ arguments: inout Arguments
    ) throws(UsageError) {
        guard case .flag = option.kind else {
            for text in texts { try option.check(text, source: origin.description) }
            let last = option.isRepeatable ? texts : texts.suffix(1)
            return arguments.set(option.name, last, from: origin)
        }
        switch texts.last {
        case "true", "1": arguments.set(option.name, [], from: origin)
        case "false", "0": return
        default:
            throw UsageError(
                "\(origin) is '\(texts.last ?? "")'", hint: "Write true or false.")
        }
    }
}
