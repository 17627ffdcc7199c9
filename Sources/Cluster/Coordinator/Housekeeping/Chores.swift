import JobQueue
import Model
import Services

extension Chore {
    /// All chores of a coordinator, in the order in which those that are due at once are done: schedules first, so
    /// that leases and work are looked at under those in force.
    static func all(_ queue: JobQueue, _ memory: ClusterMemory, _ signal: WorkSignal) -> [Chore] {
        let log = Logger("coordinator")
        return [
            // The database's clock may have been set, and time zones have rules of their own.
            Chore("apply all schedules", every: .seconds(30)) {
                try await queue.applySchedules(all: true)
            },
            Chore("apply schedules that are due", every: .seconds(1)) {
                try await queue.applySchedules(all: false)
            },
            Chore("watch sites", every: .seconds(1)) { try await queue.watchSites() },
            Chore("read site limits", every: .seconds(1)) { await memory.readSiteBounds() },
            Chore("end expired leases", every: .seconds(1)) {
                let ended = try await queue.sweep()
                if ended > 0 { log.warning("leases ran out", ["jobs": ended]) }
            },
            Chore("move jobs to mirrors", every: .seconds(1)) {
                let moved = try await queue.moveToMirrors()
                if moved > 0 { log.info("mirrors serve for origins left alone", ["jobs": moved]) }
            },
            Chore("end origin quotas", every: .seconds(1)) {
                if try await queue.endQuotas() { signal.fire() }
            },
            Chore("read cooldowns", every: .seconds(1)) { await memory.readCooling() },
            Chore("reconcile load tests", every: .seconds(1)) {
                try await memory.reconcileLoadTests()
            },
            // Nothing notifies of work that became due.
            Chore("look for work that is due", every: .seconds(1)) {
                if signal.waiterCount > 0, try await queue.hasWork() { signal.fire() }
            },
            Chore("tidy tables", every: .seconds(30)) { try await queue.tidy() },
            Chore("delete old catalogs", every: .seconds(60)) {
                guard let days = queue.settings.retentionDays else { return }
                let gone = try await queue.forget(olderThanDays: days)
                if gone > 0 { log.info("old catalogs were forgotten", ["count": gone]) }
            },
        ]
    }
}
