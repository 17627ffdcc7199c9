/// The objects that resolve titles into segments.
struct Resolving: Sendable {
    let titles: TitleQueue
    let manifests: ManifestReader
    let resolver: Resolver

    init(_ core: WorkerCore, _ reporter: Reporter) {
        titles = TitleQueue()
        manifests = ManifestReader(engine: core.engine, held: core.held, titles: titles)
        resolver = Resolver(
            worker: core.identity.id, client: core.client, engine: core.engine, held: core.held,
            draining: core.draining, titles: titles, manifests: manifests, reporter: reporter,
            pace: core.pace)
    }
}
