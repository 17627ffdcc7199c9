import API
import Client
import CommandLine
import Embedded
import Model
import Storage
import Text

/// Options of several commands.
enum CommonOptions {
    static let state = CommandOption(
        "state", .directory(placeholder: "DIR"),
        help: "Directory of the private cluster's database. Default: $XDG_STATE_HOME/dray, for "
            + "root /var/lib/dray.")
    static let workers = CommandOption(
        "workers", .integer(placeholder: "N", range: 1...64),
        help: "Number of workers of the private cluster, 1 to 64. Default: \(defaultWorkers).")
    static let connections = CommandOption(
        "connections", .integer(placeholder: "N", range: 1...1_000),
        help: "Concurrent transfers of each worker, 1 to 1000. Default: \(defaultConnections).")

    static let durability = CommandOption(
        "durability",
        .choice(placeholder: "WHEN", of: Durability.allCases.map(\.rawValue)),
        help: "When a file counts as stored: batch syncs many files together, file syncs each "
            + "one, none does not sync, so a power failure may lose files. Default: batch.")

    static let defaultWorkers = 1
    static let defaultConnections = 32

    /// Returns `--state`, or else the user's default directory.
    static func statePath(_ arguments: Arguments) throws(Failure) -> String {
        if let path = arguments.text(state.name) { return path }
        return try StateDirectory.defaultPath(environment: ClientSettings.environment)
    }

    /// Returns the arguments of a command that selects assets by `filter`, with the states of a
    /// `--state paused,interrupted` in it: a directory of that name is no private cluster's.
    static func readingStates(_ arguments: Arguments, filter: String) -> Arguments {
        guard let text = arguments.text(state.name), arguments.text(filter) == nil,
            arguments.origin(of: state.name) == .commandLine, !StateDirectory.isUsed(text),
            AssetStates(text.split(separator: ",").map(String.init)) != nil, !text.isEmpty
        else { return arguments }
        var arguments = arguments
        arguments.move(state.name, to: filter)
        return arguments
    }

    /// Throws if `--state` has states of assets or catalogs instead of a directory.
    ///
    /// - Parameter filter: the command's option for such states; nil if it has none.
    static func checkState(
        _ arguments: Arguments, filter: String? = nil
    ) throws(UsageError) {
        guard let text = arguments.text(state.name), !text.contains("/"),
            !StateDirectory.isUsed(text)
        else { return }
        let names = text.split(separator: ",").map(String.init)
        let areStates =
            !names.isEmpty
            && names.allSatisfy {
                AssetState(rawValue: $0) != nil || CatalogState(rawValue: $0) != nil
            }
        let unknown = names.filter { AssetStates([$0]) == nil }
        if filter != nil, !areStates, let first = unknown.first, unknown.count < names.count {
            throw UsageError(
                "--state: '\(printable(String(first.prefix(40))))' is no state of an asset",
                hint: "Use \(AssetStates.allNames.joined(separator: ", ")).")
        }
        guard areStates || filter != nil else { return }
        let given = printable(String(text.prefix(100)))
        let option = filter.map { "--\($0)" + (areStates ? " \(given)" : "") }
        throw UsageError(
            "--state is '\(given)', where no private cluster exists; --state sets its directory",
            hint: option.map { "To select assets by their state, use \($0)." }
                ?? "This command does not select by state. Omit --state.")
    }

    /// Returns `--durability`; the default is `batch`.
    static func durability(_ arguments: Arguments) -> Durability {
        arguments.choice("durability", Durability.self) ?? .batch
    }
}
