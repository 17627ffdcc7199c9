import CoordinatorClient
import FoundationEssentials
import Model
import Runtime
import Storage
import Synchronization
import Transfer

extension WorkerService {
    /// Keeps enough jobs in hand until the worker drains. Answers the lease that was asked for last
    /// when nothing is known of it.
    func leaseWork() async -> LeaseID? {
        var failures = 0
        while !isDraining {
            if let call = loadTests.withLock({ $0.next() }) {
                await takePart(in: call.id)
                continue
            }
            let most = WireLimits.jobsPerLease
            let target = pace.target(connections: configuration.connections, most: 2 * most)
            // What waits for its origin's limits is no work for the connections that are free, nor are slow
            // transfers work for those that others may have.
            let slow = engine.slowWork(most: WireLimits.slowOriginsPerLease)
            let idle = min(engine.heldBackCount + slow.count, most)
            let inHand = max(held.pendingCount - idle, 0)
            // Up to two leases' worth to download. What is still to be stored or reported counts
            // against the bound of three, not the target: a slow disk does not idle the network,
            // and does not pile up open files either.
            let wanted = min(target - inHand, most, 3 * most - held.count)
            guard inHand <= target / 2, wanted > 0 else {
                await pace.wait(
                    forEnded: max(inHand - target / 2, 1), atMost: .milliseconds(250))
                continue
            }
            let askedAt = HeldWork.Instant.now
            let ended = held.endedBytes
            let lease: LeaseID = UUID().uuidString.lowercased()
            do {
                var request = LeaseRequest(
                    worker: id, queues: configuration.queues, maxJobs: wanted,
                    waitMilliseconds: Self.pollMilliseconds, lease: lease)
                request.pastLoadTests = loadTests.withLock(\.past)
                request.roots = configuration.roots.urls
                let refused = refusedSites.withLock { $0.current() }
                request.refusedSites = sitesNotToLease(besides: refused)
                if request.refusedSites != refused {
                    // It may be usable soon.
                    request.waitMilliseconds = Int(SiteVolumes.checkSeconds * 1_000)
                }
                if !slow.origins.isEmpty { limit(&request, to: slow) }
                let grant = try await client.lease(request)
                failures = 0
                trouble.withLock { $0 = nil }
                let grantedAt = askedAt + .seconds(grant.waitedSeconds)
                takeOrigins(of: grant, grantedAt: grantedAt)
                hear(of: grant.loadTest.map { [$0] })
                if let lease = grant.lease {
                    await take(
                        lease, grant, askedAt: grantedAt, ended, refused: refused)
                }
                if grant.isAlone == true { await finishAlone() }
            } catch {
                guard !isDraining else { return lease }
                Task { await self.release(lease) }
                failures += 1
                note(error, isFirst: failures == 1)
                if failures == 1 {
                    log.warning(
                        "no jobs to be had", ["error": "\(error)", "hint": error.code.row.hint])
                }
                try? await Task.sleep(for: .milliseconds(min(100 << min(failures, 5), 3_000)))
            }
        }
        return nil
    }

    /// Waits until a job that is tried alone is reported, so that no other is lost with it; for a minute at most,
    /// because a slow one must not keep the worker from all else.
    private func finishAlone() async {
        let end = HeldWork.Instant.now + .seconds(60)
        while !held.isEmpty && !isDraining && HeldWork.Instant.now < end {
            await pace.wait(atMost: .milliseconds(100))
        }
    }

    /// Keeps for the heartbeats what a coordinator refused a request for work with. Once is nothing,
    /// and whoever follows a catalog sees by himself that no coordinator answers.
    private func note(_ failure: Failure, isFirst: Bool) {
        let isTold = !isFirst && !failure.code.isOfUnavailableCluster
        let message = printable(String(failure.message.prefix(WireLimits.reasonCharacters / 4)))
        let told = isTold ? Failure(failure.code, message) : nil
        trouble.withLock { $0 = told }
    }

    /// Gives back a lease whose grant has not arrived and may have been made all the same: its jobs
    /// would wait until it runs out.
    func release(_ lease: LeaseID) async {
        do {
            try await client.release(LeaseRelease(worker: id, lease: lease), retrySeconds: 10)
        } catch {
            log.debug("a lease was not released", ["error": "\(error)"])
        }
    }

    /// Asks for no more of slow origins than there is use for, and soon again: what is slow may change. Where
    /// others fill what may wait, the origins with few of these get jobs all the same.
    private func limit(_ request: inout LeaseRequest, to slow: SlowWork) {
        let jobs = LeasePace.slowJobs(
            inHand: slow.count, connections: configuration.connections)
        let origins =
            jobs > 0 ? slow.origins : slow.origins.filter { !slow.underserved.contains($0) }
        if !origins.isEmpty { request.slow = SlowOrigins(origins: origins, maxJobs: jobs) }
        request.waitMilliseconds = jobs == 0 ? 500 : 5_000
    }

    static func slowPolicy(connections: Int) -> SlowPolicy {
        var policy = SlowPolicy()
        policy.maxWaiting = LeasePace.slowMost(connections: connections)
        return policy
    }

    /// How long the coordinator holds a request while there is no work.
    static let pollMilliseconds = WireLimits.waitMilliseconds

    /// Starts everything of a grant that was asked for when `ended` was what had been stored.
    private func take(
        _ lease: LeaseID, _ grant: LeaseGrant, askedAt: HeldWork.Instant, _ ended: [SiteID: Int64],
        refused: [SiteID]?
    ) async {
        log.debug("a lease was granted", ["jobs": grant.jobs.count])
        held.add(lease, grant.jobs, seconds: grant.seconds, askedAt: askedAt)
        if let id = grant.cluster { cluster.withLock { $0 = id } }
        let jobs = await onVolume(withinRoots(grant, lease, refused: refused), lease, grant)
        await removeAbandoned(grant)
        var fetches: [Job] = []
        var lists: [Job] = []
        for job in jobs {
            switch job.kind {
            case .fetch: fetches.append(job)
            case .resolve: resolves.push(job, lease)
            case .verify: Task { await self.verify(job, lease, grant) }
            case .sums: lists.append(job)
            case .refresh, .switchOver:
                refreshes.push(Refresh(job: job, lease: lease, grant: grant, ended: ended))
            }
        }
        if !lists.isEmpty { Task { await self.writeSums(lists, lease, grant) } }
        let groups = Dictionary(grouping: fetches, by: \.site)
        for (site, jobs) in groups {
            do {
                let url = grant.sites[site.description] ?? ""
                let space = grant.siteSpace?.first { $0.site == site }
                // Opening a site proves that it can be written; the disk may be slow.
                let opened = await blocking.run { () -> Result<_, Failure> in
                    Result { () throws(Failure) in try self.open(site, at: url, space, ended) }
                }
                await fetch(jobs, lease, storage: try opened.get())
            } catch {
                for job in jobs { fail(job, lease, error) }
            }
        }
    }

    // MARK: Heartbeats

    /// How often leases are looked at: a few times in the life of the shortest one there can be.
    static let tick = Duration.milliseconds(200)
    /// The same while there are shares of limits, which others may wait for.
    static let shareTick = Duration.milliseconds(50)

    private var hasShares: Bool {
        !shares.withLock({ $0.isEmpty }) || !siteShares.withLock({ $0.isEmpty })
    }

    /// Extends leases and shares of origins' limits that have used up a third of their time, and
    /// tells every second what is under way.
    func beat() async {
        var lastBeat: HeldWork.Instant?
        var lastTrouble: Failure?
        var lastRefused: [SiteID]?
        while !Task.isCancelled {
            try? await Task.sleep(for: hasShares ? Self.shareTick : Self.tick)
            let askedAt = HeldWork.Instant.now
            let trouble = trouble.withLock(\.self)
            // An idle worker says now and then that it is there; one that gets no work, why; one that
            // holds work asks what has changed for it.
            let patience = Duration.seconds(
                held.isEmpty ? (trouble == nil ? WireLimits.idleHeartbeatSeconds : 10) : 1)
            let done = tally.news(busySeconds: held.busySeconds)
            let refused = refusedSites.withLock { $0.current() }
            let isNews =
                (trouble == nil) != (lastTrouble == nil) || refused != lastRefused
                || sitesInUse.withLock { $0.hasNews }
                || held.isEmpty && done != nil
            let isDue = lastBeat.map { isNews || askedAt - $0 >= patience } ?? true
            let urgent = held.leasesToExtend()
            let uses = engine.originUses
            let (originUses, siteUses) = (shareUses(uses), siteUses())
            guard isDue || !urgent.isEmpty || needsShares(uses, originUses, siteUses) else {
                continue
            }
            lastBeat = askedAt
            let (progress, active) = held.progress()
            // The others as well: whoever is asked of them says what of them was cancelled.
            let leases = Array(
                (urgent + held.leases.filter { !urgent.contains($0) })
                    .prefix(WireLimits.leasesPerHeartbeat))
            let sightings = sightings()
            do {
                var heartbeat = Heartbeat(
                    worker: id, leases: leases, progress: progress,
                    name: configuration.name, activeTransfers: active,
                    origins: originReports(),
                    siteShares: siteUses)
                heartbeat.originShares = originUses
                heartbeat.trouble = trouble
                heartbeat.sites = sightings
                heartbeat.done = done
                heartbeat.roots = configuration.roots.urls
                heartbeat.refusedSites = refused
                if !configuration.queues.isEmpty { heartbeat.queues = configuration.queues }
                let answer = try await client.heartbeat(heartbeat, retrySeconds: 5)
                (lastTrouble, lastRefused) = (trouble, refused)
                if let done { tally.told(done) }
                shares.withLock { $0.report(uses) }
                gaveUp(originUses ?? [], siteUses ?? [])
                take(answer, asked: leases, at: askedAt)
            } catch {
                untold(sightings)
                // Its cluster is to know soon that it lives: what it held counts as lost by its death until then.
                lastBeat = nil
                log.debug("a heartbeat failed", ["error": "\(error)"])
            }
        }
    }

    private func take(
        _ answer: HeartbeatAnswer, asked: [LeaseID], at askedAt: HeldWork.Instant
    ) {
        held.extend(answer.leases, seconds: answer.seconds, askedAt: askedAt)
        stop(answer.cancelled)
        take(answer.shares, askedAt: askedAt)
        take(answer.siteShares, askedAt: askedAt)
        cool(answer.cooling)
        hear(of: answer.loadTests)
        let (asked, alive) = (Set(asked), Set(answer.leases))
        cancel(held.dropLost { asked.contains($0) && !alive.contains($0) })
    }

    /// Drops leases whose time is over by this worker's own clock, whatever its heartbeats wait
    /// for.
    func watchLeases() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.tick)
            cancel(held.dropLost())
            stopSlowTitles()
        }
    }

    private func cancel(_ lost: [LeaseID]) {
        guard !lost.isEmpty else { return }
        log.warning("leases were lost", ["count": lost.count])
        for lease in lost { engine.cancelAll(group: lease) }
        pace.wake()
    }
}
