import Model
import Storage

/// A worker's sites: their storages, volumes, space and failures.
struct Sites: Sendable {
    let volumes: Shared<SiteVolumes>
    let excluded: ExcludedSites
    let owners: SiteDirectoryOwners
    let storages: SiteStorages
    let inUse: SitesInUse
    let failures: SiteFailures
    let unusable: UnusableSites

    init(_ core: WorkerCore, durability: Durability, roots: SiteRoots, buckets: BucketOptions) {
        volumes = Shared(SiteVolumes())
        excluded = ExcludedSites(refused: Shared(RefusedSites()), volumes: volumes)
        owners = SiteDirectoryOwners(
            worker: core.identity.id, roots: roots, client: core.client, blocking: core.blocking)
        storages = SiteStorages(
            durability: durability, roots: roots, buckets: buckets, volumes: volumes,
            blocking: core.blocking,
            log: core.log)
        inUse = SitesInUse(storages: storages, held: core.held, blocking: core.blocking)
        failures = SiteFailures(
            workerName: core.identity.name, refused: excluded.refused, volumes: volumes,
            sites: inUse, engine: core.engine, held: core.held, log: core.log)
        unusable = UnusableSites(
            worker: core.identity.id, client: core.client, owners: owners, storages: storages,
            inUse: inUse,
            volumes: volumes, blocking: core.blocking)
    }
}
