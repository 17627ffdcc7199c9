/// The objects that refresh assets at the edge.
struct Refreshing: Sendable {
    let refreshes: Mailbox<Refresh>
    let refresher: Refresher

    init(
        _ core: WorkerCore, _ sites: Sites, _ reporter: Reporter, _ manifests: ManifestReader
    ) {
        refreshes = Mailbox()
        refresher = Refresher(
            connections: core.connections, held: core.held, draining: core.draining,
            sites: sites.inUse, blocking: core.blocking, manifests: manifests,
            staging: RefreshStaging(
                engine: core.engine, draining: core.draining, blocking: core.blocking),
            publishing: RefreshPublishing(
                worker: core.identity.id, client: core.client, blocking: core.blocking),
            reporter: reporter, pace: core.pace, refreshes: refreshes)
    }
}
