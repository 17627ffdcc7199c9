import CoordinatorClient
import Model
import Runtime
import Synchronization
import Transfer

/// What the coordinator says of origins, and what is told it of them.
extension WorkerService {
    /// Takes the shares of an answer whose request was sent at `askedAt`.
    func take(_ shares: [OriginShare]?, askedAt: HeldWork.Instant) {
        guard let shares, !shares.isEmpty else { return }
        for grant in self.shares.withLock({ $0.take(shares, askedAt: askedAt) }) {
            let limits = OriginAllowance(
                connections: grant.limits.connections.map { max($0, 0) },
                requestsPerSecond: grant.limits.requestsPerSecond.map { max($0, 0) },
                bytesPerSecond: grant.limits.bytesPerSecond.map { max($0, 0) },
                number: grant.limits.number ?? 0)
            engine.setLimits(limits, of: grant.origin, forSeconds: grant.seconds)
        }
    }

    /// Takes the shares of sites of an answer whose request was sent at `askedAt`.
    func take(_ shares: [SiteShare]?, askedAt: HeldWork.Instant) {
        // Under the lock, so that what the table has is what the engine keeps to.
        siteShares.withLock { table in
            for grant in table.take(shares ?? [], askedAt: askedAt) {
                engine.setRate(grant.bytesPerSecond, of: grant.site, forSeconds: grant.seconds)
            }
            for site in table.forget() { engine.setRate(nil, of: site, forSeconds: 0) }
        }
    }

    /// What is used of the shares of origins, for the coordinator. A share that has lain idle is given up: nothing
    /// is begun under it any more.
    func shareUses(_ origins: [OriginUse]) -> [OriginShareUse]? {
        guard !shares.withLock({ $0.isEmpty }) else { return nil }
        var uses: [(use: OriginShareUse, isAbove: Bool)] = []
        for use in origins {
            let (isKnown, isOver) = shares.withLock { table in
                (
                    table.holds(use.origin, number: use.number),
                    table.isOver(use.origin, isIdle: use.isIdle)
                )
            }
            guard isKnown else { continue }
            let isGivenUp = isOver && engine.giveUp(use.origin, number: use.number)
            let report = OriginShareUse(
                origin: use.origin, number: use.number, connections: use.connections,
                requests: use.requests, active: use.active, isOver: isGivenUp ? true : nil)
            uses.append((report, use.isAbove))
        }
        guard !uses.isEmpty else { return nil }
        return shares.withLock { $0.next(uses, most: WireLimits.originsPerHeartbeat) }
    }

    /// The same of sites.
    func siteUses() -> [SiteShareUse]? {
        guard !siteShares.withLock({ $0.isEmpty }) else { return nil }
        let held = held.sites
        return siteShares.withLock { table in
            for site in table.giveUp(held: held) { engine.setRate(0, of: site, forSeconds: 86_400) }
            return table.used
        }
    }

    /// A coordinator knows what was given up.
    func gaveUp(_ origins: [OriginShareUse], _ sites: [SiteShareUse]) {
        shares.withLock { table in
            table.report(origins)
            // What still counts of its last requests is reported until it is nothing.
            for use in origins where use.isOver == true && use.connections + use.requests == 0 {
                table.forget(use.origin, number: use.number)
            }
        }
        siteShares.withLock { table in
            // What comes next comes with a share, if there is still a limit.
            for site in table.forget(sites) { engine.setRate(nil, of: site, forSeconds: 0) }
        }
    }

    /// Takes what a grant says of origins and sites, which was made after `grantedAt`.
    func takeOrigins(of grant: LeaseGrant, grantedAt: HeldWork.Instant) {
        take(grant.shares, askedAt: grantedAt)
        take(grant.siteShares, askedAt: grantedAt)
        let isAnyCooling = grant.cooling != nil || engine.isAnyCooling
        guard isAnyCooling || engine.isAnyLimited else { return }
        let origins = Set(grant.jobs.compactMap { originName(of: $0.url) })
        // Whoever hands out an origin's jobs without a share has found that it has no limits.
        engine.liftLimits(of: origins.subtracting((grant.shares ?? []).map(\.origin)))
        cool(grant.cooling)
        // It has also found that the origin may be asked, but for what was heard of since.
        let secondsAgo = grantedAt.duration(to: .now) / .seconds(1)
        engine.warm(
            origins.subtracting((grant.cooling ?? []).map(\.origin)), toldUntil: secondsAgo)
    }

    /// While there is work, hears at once of origins that are to be left alone. A request for work
    /// that is held open does the same for a worker without.
    func hearOfCooling() async {
        var version: String?
        while !Task.isCancelled {
            guard !held.isEmpty else {
                try? await Task.sleep(for: Self.tick)
                continue
            }
            do {
                let list = try await client.cooling(
                    after: version, waitMilliseconds: Self.pollMilliseconds, retrySeconds: 0)
                version = list.version
                cool(list.cooling)
                // Coordinators that differ for a moment each answer at once what the other said.
                try? await Task.sleep(for: .milliseconds(100))
            } catch {
                log.debug("cooldowns were not heard of", ["error": "\(error)"])
                try? await Task.sleep(for: .seconds(1))
            }
        }
    }

    /// Leaves origins alone.
    func cool(_ cooling: [OriginCooldown]?) {
        guard let cooling, !cooling.isEmpty else { return }
        suspect(cooling.lazy.map(\.origin))
        engine.cool(
            cooling.compactMap { cooldown in
                let seconds = cooldown.seconds.isFinite ? min(cooldown.seconds, 86_400) : 0
                return originName(of: cooldown.origin).map { ($0, seconds) }
            })
    }

    /// Whether the worker uses a share that is to be renewed or asked for again, or has one to give up.
    func needsShares(
        _ uses: [OriginUse], _ origins: [OriginShareUse]?, _ sites: [SiteShareUse]?
    ) -> Bool {
        if let origins, shares.withLock({ $0.hasNews(origins) }) { return true }
        if sites?.contains(where: { $0.isOver == true }) == true { return true }
        if sites != nil {
            let held = held.sites
            if siteShares.withLock({ $0.needsRenewal(held) }) { return true }
        }
        guard !shares.withLock({ $0.isEmpty }) else { return false }
        if shares.withLock({ $0.isUnsettled(uses) }) { return true }
        let used = engine.origins.filter { $0.isLimited && $0.active + $0.waiting > 0 }
        return shares.withLock { $0.needsRenewal(used.map(\.origin)) }
    }

    /// What is done at the origins that have the most to do; nil for none.
    func originReports() -> [OriginReport]? {
        let origins = engine.origins.sorted { $0.active + $0.waiting > $1.active + $1.waiting }
        guard !origins.isEmpty else { return nil }
        return origins.prefix(WireLimits.originsPerHeartbeat).map { origin in
            OriginReport(
                origin: origin.origin, concurrency: origin.decision.concurrency,
                bytesPerSecond: Int64(origin.bytesPerSecond),
                decision: origin.decision.kind.rawValue,
                reason: String(origin.decision.reason.prefix(WireLimits.reasonCharacters)),
                active: origin.active, waiting: origin.waiting)
        }
    }

    /// Stops jobs that were cancelled: nothing of them is kept or reported.
    func stop(_ jobs: [JobID]?) {
        guard let jobs, !jobs.isEmpty else { return }
        let stopped = held.cancel(jobs)
        for (lease, jobs) in stopped { engine.cancelAll(group: lease, jobs: jobs) }
        guard !stopped.isEmpty else { return }
        log.info("jobs were cancelled", ["count": stopped.values.reduce(0) { $0 + $1.count }])
    }
}
