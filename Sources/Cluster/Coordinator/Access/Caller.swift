import API
import JobQueue
import Model
import Synchronization

/// The sender of a request with a valid token: its role, and the queues or sites that it is bound to.
struct Caller: Sendable {
    let access: Access
    /// Nil for the token of the coordinator's environment.
    let token: Access.Token?

    /// The name of the environment's token in the audit log; no issued one may have it.
    static let environment = "environment"

    var id: AccessTokenID? { token?.known.id }
    var name: String { token?.known.name ?? Self.environment }
    var role: AccessRole { token?.known.role ?? .admin }
    /// Empty for all queues.
    private var queues: [String] { token?.known.queues ?? [] }
    /// Empty for all sites.
    private var sites: [String] { token?.known.sites ?? [] }
    var isBoundToQueues: Bool { !queues.isEmpty }
    var isBoundToSites: Bool { !sites.isEmpty }

    /// Storage URLs of the only sites whose events it may see; nil for all events.
    var visibleSites: [String]? { isBoundToSites ? sites : nil }

    /// Throws `cluster.outOfScope` for kinds of events that it sees none of: workers and origins are
    /// of no site.
    func require(_ kinds: Set<EventKind>) throws(Failure) {
        guard isBoundToSites else { return }
        let hidden = Set(kinds.map { String($0.subject) }).intersection(["worker", "origin"])
        guard !hidden.isEmpty else { return }
        throw Failure(
            .clusterOutOfScope,
            "The token \(name) is bound to sites; events of the subject "
                + "\(hidden.sorted().joined(separator: " and ")) are of no site, and it sees none.",
            hint:
                "Ask for other kinds, or ask an administrator for a token of the role reader, or of "
                + "the role submitter without --site (`dray token create`).")
    }

    /// True if it may get whole URLs of assets and files, with their signatures: not readers, nor
    /// submitters of some sites, who read the catalogs of others too.
    var seesSecrets: Bool { role != .reader && !isBoundToSites }

    /// Throws `cluster.unauthorized` if the token is no longer valid; for requests that wait.
    func requireCurrent() throws(Failure) {
        if let token { try access.requireCurrent(token) }
    }

    // MARK: Queues

    /// Returns the queues that a worker means: those of its token if it names none. Throws
    /// `cluster.outOfScope` for others.
    func narrowed(_ named: [String]) throws(Failure) -> [String] {
        guard isBoundToQueues else { return named }
        guard !named.isEmpty else { return queues }
        for queue in named where !queues.contains(queue) {
            throw outside("queue", queue, queues)
        }
        return named
    }

    /// Returns those of `sites` that belong to the token's queues.
    func allowed(
        _ sites: Set<SiteID>, _ tokens: AccessTokens
    ) async throws(Failure) -> Set<SiteID> {
        guard let token, isBoundToQueues else { return sites }
        let known = token.sites.withLock { $0.intersection(sites) }
        guard known.count < sites.count else { return sites }
        // Queues may be new.
        let found = try await tokens.sites(sites.subtracting(known), ofQueues: queues)
        token.sites.withLock { $0.formUnion(found) }
        return known.union(found)
    }

    /// Throws `cluster.outOfScope` for a site of other queues.
    func require(_ site: SiteID, _ tokens: AccessTokens) async throws(Failure) {
        guard try await allowed([site], tokens).isEmpty else { return }
        throw outside("site", "\(site)", queues)
    }

    /// Throws `cluster.outOfScope` for a load test of another queue; nil is one of all queues.
    func require(loadTestOf queue: String?) throws(Failure) {
        if let queue { _ = try narrowed([queue]) }
    }

    // MARK: Sites

    /// Throws `cluster.outOfScope` for a site that a submitter may not use. `storageURL` is
    /// canonical.
    func require(storageURL: String) throws(Failure) {
        guard isBoundToSites, !sites.contains(storageURL) else { return }
        throw outside("site", redacted(url: storageURL), sites)
    }

    /// Throws `cluster.outOfScope` for a catalog of another site. Without bounds it queries nothing.
    func require(_ catalog: CatalogID, _ tokens: AccessTokens) async throws(Failure) {
        guard isBoundToSites else { return }
        try require(storageURL: try await tokens.site(of: catalog))
    }

    private func outside(_ kind: String, _ given: String, _ bounds: [String]) -> Failure {
        let bounds = bounds.prefix(5).map { redacted(url: $0) }.joined(separator: ", ")
        let option = role == .worker ? "--role worker --queue NAME" : "--role submitter --site SITE"
        return Failure(
            .clusterOutOfScope,
            "The token \(name) is bound to \(bounds); the \(kind) \(given.prefix(200)) is not allowed.",
            hint: "Ask an administrator for a token that is bound to that \(kind) too "
                + "(`dray token create \(option)`, repeatable), or to none.")
    }
}
