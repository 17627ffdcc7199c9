import JobQueue
import Metrics
import Model
import Services

extension Chore {
    /// Returns all chores of a coordinator in the order in which due ones run. Schedules come
    /// first, so that leases and jobs follow the current ones. If a chore fails, the later ones run
    /// nevertheless, unless the database does not answer.
    static func all(
        _ queue: JobQueue, _ memory: ClusterMemory, _ signal: WorkSignal,
        _ metrics: CoordinatorMetrics
    ) -> [Chore] {
        let log = Logger("coordinator")
        return [
            // The database's clock may have been set, and time zones have their own rules.
            Chore("apply all schedules", every: .seconds(30)) {
                try await queue.sites.applySchedules(all: true)
            },
            Chore("apply schedules that are due", every: .seconds(1)) {
                try await queue.sites.applySchedules(all: false)
            },
            Chore("watch sites", every: .seconds(1)) { try await queue.sites.closed.watch() },
            Chore("look for sites to probe", every: .seconds(1)) { try await memory.loadProbes() },
            Chore("read site limits", every: .seconds(1)) { try await memory.loadSiteBounds() },
            Chore("end expired leases", every: .seconds(1)) {
                let ended = try await queue.jobs.leases.sweep()
                metrics.lostJobs.add(ended)
                if ended > 0 { log.warning("leases expired", ["jobs": ended]) }
            },
            Chore("leave out renditions", every: .seconds(1)) {
                let titles = try await queue.jobs.optionalRenditions.leaveOut()
                if titles > 0 { log.info("titles are resolved again", ["titles": titles]) }
            },
            Chore("move jobs to mirrors", every: .seconds(1)) {
                let moved = try await queue.origins.mirrors.move()
                if moved > 0 { log.info("jobs moved to mirrors", ["jobs": moved]) }
            },
            Chore("release jobs that wait for neighbours", every: .seconds(1)) {
                let moved = try await queue.origins.neighbours.release()
                if moved > 0 { log.info("jobs released for neighbours", ["jobs": moved]) }
            },
            Chore("apply rights", every: .seconds(1)) {
                if try await queue.files.purges.applyRights() > 0 { signal.fire() }
            },
            Chore("reconcile removals", every: .seconds(1)) {
                if try await queue.files.purges.reconcile() > 0 { signal.fire() }
            },
            Chore("count shared files", every: .seconds(5)) {
                try await queue.sites.shared.count()
            },
            Chore("evict assets", every: .seconds(1)) {
                let evicted = try await queue.files.evictions.run()
                if evicted > 0 {
                    log.info("assets evicted", ["count": evicted])
                    signal.fire()
                }
            },
            Chore("end origin quotas", every: .seconds(1)) {
                if try await queue.sites.quotas.end() { signal.fire() }
            },
            // Notifications may be lost.
            Chore("read access tokens", every: .seconds(2)) { try await memory.loadTokens() },
            Chore("read cooldowns", every: .seconds(1)) { try await memory.loadCooldowns() },
            Chore("reconcile load tests", every: .seconds(1)) {
                try await memory.reconcileLoadTests()
            },
            Chore("reconcile audits", every: .seconds(1)) { try await memory.reconcileAudits() },
            Chore("look for sources that are due", every: .seconds(1)) {
                try await memory.loadSources()
            },
            Chore("refresh catalogs that are due", every: .seconds(1)) {
                if try await queue.catalogs.sources.refreshDue() > 0 { signal.fire() }
            },
            // Their times are minutes at least.
            Chore("refresh assets that are due", every: .seconds(10)) {
                if try await queue.files.assetRefreshes.start() > 0 { signal.fire() }
            },
            // Due jobs cause no notification.
            Chore("look for work that is due", every: .seconds(1)) {
                if signal.waiterCount > 0, try await queue.jobs.claims.hasWork() { signal.fire() }
            },
            Chore("delete outdated rows", every: .seconds(30)) {
                try await queue.housekeeping.tables.delete()
            },
            Chore("release abandoned multipart files", every: .seconds(30)) {
                try await queue.housekeeping.multipartFiles.release()
            },
            Chore("look for silent workers", every: .seconds(5)) {
                let lost = try await queue.workers.noteSilent()
                if lost > 0 { log.warning("workers are silent", ["count": lost]) }
            },
            Chore("delete old events", every: .seconds(10)) { try await queue.events.trim() },
            Chore("end old webhook deliveries", every: .seconds(10)) {
                metrics.webhooks.count(.dead, try await queue.events.webhooks.expire())
            },
            Chore("delete old webhook deliveries", every: .seconds(10)) {
                try await repeated { try await queue.events.webhooks.trim() }
            },
            Chore("record uses of access tokens", every: .seconds(10)) {
                try await queue.access.tokens.noteUses(of: memory.access.takeUsed())
            },
            Chore("delete old audit records", every: .seconds(10)) {
                let days = queue.settings.auditDays
                try await repeated { try await queue.access.audit.trim(olderThanDays: days) }
                try await queue.access.tokens.forget(olderThanDays: days)
            },
            // Before catalogs are deleted, whose names the figures have.
            Chore("add up daily figures", every: .seconds(10)) {
                try await queue.figures.metFailures.fold()
                try await queue.figures.daily.fold()
            },
            Chore("delete old daily figures", every: .seconds(3_600)) {
                try await queue.figures.daily.trim()
            },
            Chore("delete old keys of requests", every: .seconds(10)) {
                try await repeated { try await queue.access.requests.trim() }
            },
            Chore("delete old catalogs", every: .seconds(60)) {
                guard let days = queue.settings.retentionDays else { return }
                let gone = try await queue.housekeeping.retention.delete(olderThanDays: days)
                if gone > 0 { log.info("old catalogs deleted", ["count": gone]) }
            },
        ]
    }

    /// Deletes batches until one is not full, but a few at once: chores with shorter periods wait.
    /// Batches of 20,000 rows every ten seconds are 10,000 rows per second, more than are added.
    private static func repeated(_ deletion: () async throws -> Bool) async throws {
        var turns = 5
        while try await deletion(), turns > 1 { turns -= 1 }
    }
}
