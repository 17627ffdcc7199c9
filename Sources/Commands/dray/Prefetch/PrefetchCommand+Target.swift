import API
import Client
import CommandLine
import CoordinatorClient
import ListSources
import Model
import Text

/// Checks and previews that depend on where the files go.
extension PrefetchCommand {
    /// Rejects options that only storage has at a cache, and `--verify` elsewhere.
    static func checkCache(
        _ arguments: Arguments, _ destination: Destination, isAdopting: Bool
    ) throws {
        guard destination.isCache else {
            guard arguments.flag("verify") else { return }
            throw UsageError(
                "--verify is for caches; \(destination.path) is storage",
                hint: "Run the command again without it: stored files are verified.")
        }
        let storageOptions = [
            "prune", "dry-run", SourceCommand.every.name, "accept-volume", MediaCheck.option.name,
            TimeOptions.expires.name,
            TimeOptions.keepFor.name,
        ]
        if let name = storageOptions.first(where: { arguments.origin(of: $0) == .commandLine }) {
            throw Failure(.inputCacheSite, "--\(name) is not for caches")
        }
        if arguments.text("live") == "record" {
            throw Failure(
                .inputCacheSite, "--live record is not for caches; allowed: --live snapshot")
        }
        if isAdopting {
            throw Failure(.inputCacheSite, "a mirror is adopted in a directory or bucket")
        }
        guard arguments.flag("verify"), arguments.flag("detach") else { return }
        throw UsageError(
            "--detach does not wait for the second pass of --verify", hint: "Omit one of them.")
    }

    /// Returns the directory or bucket of `--to`; nil for sites.
    static func destination(
        _ target: PrefetchTarget, isLocal: Bool
    ) throws(Failure) -> Destination? {
        guard case .path(let path) = target else { return nil }
        return isLocal ? try Destination(local: path) : try Destination(remote: path)
    }

    /// Prints what the list would change at each site.
    static func preview(
        _ arguments: Arguments, _ name: String, _ source: ListSource, _ list: ListSource.Reading,
        _ target: PrefetchTarget, _ destination: Destination?
    ) async -> ExitCode {
        let prunes = arguments.flag("prune")
        @Sendable func text(
            of storageURL: String, _ client: CoordinatorClient?
        ) async throws -> String {
            let catalog = CatalogReference(name: name, site: storageURL)
            return try await ListPreview(
                catalog: catalog, source: source, sharedKeys: list.sharedKeys, prunes: prunes
            ).text(client)
        }
        return await ClusterCall.preview(arguments) { client in
            if let destination { return try await text(of: destination.storageURL, client) }
            guard case .sites(let names) = target, let client else { return "" }
            var all = ""
            for site in try await names.sites(client) {
                all += "\(printable(site.queue)):\n"
                all += try await text(of: site.storageURL, client)
            }
            return all
        }
    }
}
