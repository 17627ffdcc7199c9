import Client
import CommandLine
import Model

/// The destination of a list of `dray prefetch`.
enum PrefetchTarget: Sendable {
    /// A directory or storage URL.
    case path(String)
    /// Sites of a cluster.
    case sites(SiteNames)

    static let option = CommandOption(
        "site", .text(placeholder: "NAME,..."), repeatable: true,
        help: "Sites of the cluster to store the files at, instead of --to: names of their queues "
            + "or storage URLs. All but the first one fetch from those before it, where `dray "
            + "site set --serves` names their web servers.")

    /// Options that need the files here, or one site.
    private static let others = ["to", "accept-volume", MediaCheck.option.name]

    /// Reads `--to` or `--site`, of which one is needed.
    init(_ arguments: Arguments) throws {
        let names = arguments.texts(Self.option.name)
        // The command line wins over a configuration file.
        let isChosen = arguments.origin(of: Self.option.name) == .commandLine
        guard !names.isEmpty, isChosen || arguments.origin(of: "to") != .commandLine else {
            guard let path = arguments.text("to") else {
                throw UsageError(
                    "--to is missing",
                    hint: "Use --to DEST, or --site NAME with a cluster that has this site.")
            }
            self = .path(path)
            return
        }
        if let other = Self.others.first(where: { arguments.origin(of: $0) == .commandLine }) {
            throw UsageError(
                "--\(other) cannot be used with --site", hint: "Omit one of them.")
        }
        for other in Self.others + ["every", "max-drop", "verify"] {
            guard let origin = arguments.origin(of: other), origin != .commandLine else { continue }
            Console.note("--\(other) of \(origin) is ignored: it cannot be used with --site")
        }
        guard try ClusterEndpoint.named() != nil else {
            throw UsageError(
                "--site needs a cluster, whose sites it names",
                hint: "Set DRAY_COORDINATOR, or use --to DEST for a directory of this machine.")
        }
        self = .sites(try SiteNames(names))
    }
}
