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
        let states = names.filter {
            AssetStates([$0]) != nil || CatalogState(rawValue: $0) != nil
        }
        guard filter != nil || (!names.isEmpty && states.count == names.count) else { return }
        if filter != nil, !states.isEmpty,
            let wrong = names.first(where: { AssetStates([$0]) == nil })
        {
            throw UsageError(
                "--state: '\(printable(String(wrong.prefix(40))))' is not a state of an asset",
                hint: "Use \(AssetStates.allNames.joined(separator: ", ")).")
        }
        let given = printable(String(text.prefix(100)))
        throw UsageError(
            "--state is '\(given)', where no private cluster exists; --state sets its directory",
            hint: filter.map { "To select assets by their state, use --\($0)." }
                ?? "This command does not select by state. Omit --state.")
    }

    /// Returns `--durability`; the default is `batch`.
    static func durability(_ arguments: Arguments) -> Durability {
        arguments.choice("durability", Durability.self) ?? .batch
    }
}
