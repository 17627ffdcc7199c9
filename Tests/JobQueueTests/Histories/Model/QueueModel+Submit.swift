import API
import Model
import TestSupport

/// Submissions: what `open`, `add`, `start` and `interrupt` do.
extension QueueModel {
    /// The site that a catalog of the history is at.
    static func site(ofCatalog catalog: Int) -> Int { catalog < 2 ? 0 : 1 }

    /// In seconds since 1970; nil for none.
    static func deadline(ofCatalog catalog: Int) -> Double? { catalog == 1 ? 1 : nil }

    mutating func open(_ catalog: Int) -> Answer {
        let site = Self.site(ofCatalog: catalog)
        guard queues[site] != .draining else { return .refused("input.draining") }
        if queues[site] == nil { queues[site] = .active }
        if catalogs[catalog] == nil {
            catalogs[catalog] = Catalog(site: site)
        } else {
            catalogs[catalog]?.opened += 1
            catalogs[catalog]?.isHeldBack = false
        }
        let isOverdue = Self.deadline(ofCatalog: catalog) != nil
        catalogs[catalog]?.isOpenedOverdue = isOverdue
        if catalogs[catalog]?.generation == 0 { catalogs[catalog]?.isOverdue = isOverdue }
        return .opened(generation: catalogs[catalog]?.opened ?? 0)
    }

    mutating func add(_ specs: [AssetSpec], to number: Int, _ generation: Int) -> Answer {
        guard let catalog = catalogs[number] else { return .refused("input.notFound") }
        guard catalog.opened == generation else { return .refused("input.field") }
        for spec in specs {
            var asset =
                catalog.assets[spec.name]
                ?? Asset(spec: spec, directory: spec.directory, generation: generation)
            // Once redefined, it stays so until it is started.
            var sameObject = spec
            if objectOf(spec.url) == objectOf(asset.spec.url) { sameObject.url = asset.spec.url }
            asset.isRedefined = asset.isRedefined || asset.spec != sameObject
            asset.hasOtherURL = asset.hasOtherURL || asset.spec.url != spec.url
            asset.spec = spec
            asset.generation = generation
            catalogs[number]?.assets[spec.name] = asset
        }
        return .nothing
    }

    mutating func interrupt(_ number: Int) -> Answer {
        fold(number)
        guard let catalog = catalogs[number] else { return .refused("input.notFound") }
        for work in jobs.keys where work.catalog == number {
            if ![.publish, .checksums].contains(work.kind) { jobs[work] = nil }
        }
        for (name, asset) in catalog.assets
        where !asset.state.isSettled && asset.state != .publishing {
            catalogs[number]?.assets[name]?.state =
                asset.state == .refreshing ? .completed : .interrupted
        }
        catalogs[number]?.busy = []
        if catalog.state == .running, catalogs[number]?.endIfAllEnded() == true { return .nothing }
        for work in jobs.keys where work.catalog == number && work.kind == .checksums {
            cancelList(work)
        }
        if catalog.state == .running { catalogs[number]?.state = .interrupted }
        catalogs[number]?.checksumsOwed = []
        return .nothing
    }

    /// Deletes the job of a list; the worker that holds it learns so with its next heartbeat.
    mutating func cancelList(_ work: Work) {
        if let lease = jobs[work]?.hold?.lease { leases[lease]?.cancelled.append(work) }
        jobs[work] = nil
    }

    mutating func start(_ number: Int, _ generation: Int) -> Answer {
        guard let catalog = catalogs[number] else { return .refused("input.notFound") }
        guard catalog.opened == generation else { return .refused("input.field") }
        if catalog.generation == generation && catalog.state != .interrupted { return .nothing }
        guard queues[catalog.site] != .draining else { return .refused("input.draining") }
        guard !isPublishing(number, before: generation) else { return .refused("cluster.busy") }
        if catalog.generation < generation {
            catalogs[number]?.isOverdue = catalog.isOpenedOverdue
        }
        let ended = catalog.endedDirectories
        for name in catalog.assets.keys.sorted() {
            let key = AssetKey(catalog: number, name: name)
            endOutlivedRenewal(of: key)
            forget(key, before: generation)
            let isNamed = self[key]?.generation == generation
            self[key]?.isCounted = isNamed
            if isNamed {
                renewURL(key)
                startAsset(key)
            }
        }
        beginTotals(number, generation, ended)
        return .nothing
    }

    /// Drops the jobs of an asset that has left its catalog or was redefined, and what was known of
    /// the latter.
    mutating func forget(_ key: AssetKey, before generation: Int) {
        guard var asset = self[key],
            asset.isRedefined || (asset.generation < generation && !asset.state.isSettled)
        else { return }
        for work in jobs(of: key) { jobs[work] = nil }
        asset.failures = []
        if asset.state == .refreshing && !asset.isRedefined {
            asset.state = .completed
            self[key] = asset
            return
        }
        asset.refreshedBytes = nil
        asset.state = asset.isRedefined ? .new : .interrupted
        asset.isTallied = false
        asset.adoptedBytes = 0
        if asset.isRedefined {
            asset.segments = [:]
            asset.isResolved = false
            asset.isRedefined = false
            asset.directory = asset.spec.directory
        }
        self[key] = asset
    }

    /// One that was named with another signature has it from its start on.
    mutating func renewURL(_ key: AssetKey) {
        guard var asset = self[key], asset.hasOtherURL else { return }
        asset.hasOtherURL = false
        if asset.spec.kind == .file {
            asset.segments[0]?.spec.url = asset.spec.url
        } else if asset.state == .new || asset.state.isSettled && asset.state != .completed {
            asset.isResolved = false
        }
        self[key] = asset
    }

    /// Gives an idle asset jobs for the files it lacks. One that lacks nothing is
    /// checked, file by file.
    mutating func startAsset(_ key: AssetKey) {
        guard var asset = self[key],
            [.new, .interrupted, .failed, .cancelled, .completed].contains(asset.state)
        else { return }
        asset.retries = 0
        asset.failures = []
        asset.refreshedBytes = nil
        if asset.spec.kind == .file {
            asset.isResolved = true
            if asset.segments.isEmpty {
                let spec = SegmentSpec(
                    ordinal: 0, url: asset.spec.url, key: asset.spec.key,
                    bytes: asset.spec.bytes, sha256: asset.spec.sha256)
                asset.segments[0] = Segment(spec: spec)
            }
        }
        asset.isTallied = asset.isResolved
        guard asset.isResolved else {
            asset.state = .resolving
            asset.adoptedBytes = 0
            asset.forgetRenewals()
            jobs[.resolve(key)] = newJob(of: key)
            self[key] = asset
            return
        }
        for ordinal in asset.segments.keys
        where asset.state == .completed || asset.segments[ordinal]?.multipart?.isVerified == true {
            asset.segments[ordinal]?.multipart = nil
        }
        let lacksNothing = asset.segments.values.allSatisfy {
            $0.multipart == nil && $0.whole.isStored
        }
        for ordinal in asset.segments.keys {
            startSegment(
                key, ordinal, &asset.segments[ordinal],
                checks: asset.state == .completed || lacksNothing)
        }
        asset.state = asset.state == .new ? .ready : .inProgress
        asset.adoptedBytes = asset.bytes
        asset.forgetRenewals()
        self[key] = asset
    }

    private mutating func startSegment(
        _ key: AssetKey, _ ordinal: Int, _ segment: inout Segment?, checks: Bool
    ) {
        guard var started = segment else { return }
        defer { segment = started }
        started.whole.tally = nil
        guard var multipart = started.multipart else {
            if let stored = started.whole.stored, !checks {
                started.whole.tally = Tally(isDone: true, bytes: stored.bytes)
            } else {
                jobs[.fetch(key, ordinal)] = newJob(of: key)
            }
            return
        }
        // Its attempts count from 1 again, like those of a job.
        multipart.isFailed = false
        multipart.attempt = 0
        for (offset, part) in multipart.parts {
            multipart.parts[offset]?.tally = part.stored.map {
                Tally(isDone: true, bytes: $0.bytes)
            }
            if !part.isStored {
                jobs[.fetch(key, ordinal, offset: offset)] = newJob(of: key)
            }
        }
        if multipart.parts.values.allSatisfy(\.isStored) {
            jobs[.verify(key, ordinal)] = newJob(of: key)
        }
        started.multipart = multipart
    }

    mutating func beginTotals(
        _ number: Int, _ generation: Int, _ ended: Set<String>
    ) {
        guard var catalog = catalogs[number] else { return }
        let counted = catalog.assets.values.filter(\.isCounted)
        let unsettled = counted.filter { !$0.state.isSettled }
        let busy = Set(unsettled.map(\.directory))
        // A list that was about to be written waits until running jobs there have ended.
        for directory in busy { cancelList(.checksums(number, directory)) }
        for directory in ended.subtracting(busy) { jobs[.checksums(number, directory)] = Job() }
        let written = jobs.keys.filter { $0.kind == .checksums && $0.catalog == number }.map(\.name)
        catalog.busy = busy
        catalog.checksumsOwed = busy.union(written)
        catalog.checksumsFailed = 0
        catalog.checksumsRetries = 0
        catalog.generation = generation
        let hasAny = { (state: AssetState) in counted.contains { $0.state == state } }
        catalog.state =
            !unsettled.isEmpty
            ? .running : hasAny(.failed) ? .failed : hasAny(.cancelled) ? .cancelled : .completed
        catalogs[number] = catalog
    }
}
