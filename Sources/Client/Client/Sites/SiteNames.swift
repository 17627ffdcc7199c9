package import API
package import CoordinatorClient
package import Model
import Text

/// The sites that a command line names, in its order.
package struct SiteNames: Sendable {
    /// Names of queues or storage URLs.
    private let names: [String]

    /// Reads texts that are each one name or several, separated by commas.
    package init(_ texts: [String]) throws(Failure) {
        names = texts.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
            .map(String.init)
        let allowed = 1...WireLimits.neighboursPerCatalog + 1
        guard allowed.contains(names.count), !names.contains(where: \.isEmpty) else {
            throw Failure(
                .inputField,
                "--site: \(names.count) names were given, one of them empty or too many; allowed: "
                    + "\(allowed.lowerBound) to \(allowed.upperBound) names, separated by commas.")
        }
    }

    /// Help of operands that name a site.
    package static let help = "Name of the site's queue, its directory or its storage URL."

    /// Reads a site as the cluster names it: a name of a queue as it is, and a directory or storage URL
    /// as `--to` takes it. A directory below the current one begins with `./`. The cluster answers for
    /// what is no site.
    package static func site(_ text: String) -> String { (try? checkedSite(text)) ?? text }

    /// Reads a site in the same way. Throws `input.notFound` for what can be no site.
    package static func checkedSite(_ text: String) throws(Failure) -> String {
        guard !StorageURL.isQueueName(text) || [".", ".."].contains(text) else { return text }
        // Links are resolved on this machine, as for `dray prefetch`; a site that cannot be written is
        // still accepted.
        if ClientSettings.coordinator == nil, let local = try? Destination(local: text) {
            return local.storageURL
        }
        guard let destination = try? Destination(remote: text) else { throw Self.unknown(text) }
        return destination.storageURL
    }

    private static func unknown(_ site: String) -> Failure {
        .notFound(
            "There is no site \(printable(redacted(url: site)).prefix(200)).",
            listedBy: "dray site list")
    }

    /// Returns the sites. Throws `input.notFound` for one that the cluster does not have, and
    /// `input.duplicate` for one that is named twice.
    package func sites(_ client: CoordinatorClient) async throws(Failure) -> [SiteStatus] {
        let known = try await client.sites(retrySeconds: 3).sites
        var sites: [SiteStatus] = []
        for given in names {
            let name = Self.site(given)
            let found =
                known.first { $0.storageURL == name } ?? known.first { $0.queue == name }
            guard let found else { throw Self.unknown(name) }
            guard !sites.contains(where: { $0.id == found.id }) else {
                throw Failure(
                    .inputDuplicate,
                    "--site: \(printable(found.queue)) is named twice; name each site once.")
            }
            sites.append(found)
        }
        return sites
    }
}
