import JobQueue
import Services

/// What a coordinator keeps of the database in memory, so that no answer to a worker costs a query for it: origins in
/// cooldown, limits of sites, load tests that want workers. Reads it anew.
struct ClusterMemory: Sendable {
    let queue: JobQueue
    /// Fired when workers that wait for work are to be answered.
    let signal: WorkSignal
    let cooling: CoolingOrigins
    let loadTests: CalledLoadTests
    private let log = Logger("coordinator")

    init(
        queue: JobQueue, signal: WorkSignal, cooling: CoolingOrigins, loadTests: CalledLoadTests
    ) {
        self.queue = queue
        self.signal = signal
        self.cooling = cooling
        self.loadTests = loadTests
    }

    /// Reads which origins are in cooldown. Workers that wait for work are notified of a new one at once: what
    /// fires the signal afterwards is what notified of it, or this.
    func readCooling() async {
        do {
            if cooling.set(try await queue.coolingOrigins()) { signal.fire() }
        } catch {
            log.warning("reading the origins' cooldowns failed", ["error": "\(error)"])
        }
    }

    func readSiteBounds() async {
        do {
            try await queue.readSiteBounds()
        } catch {
            log.warning("reading the sites' bounds failed", ["error": "\(error)"])
        }
    }

    /// Reads which load tests want workers, and wakes who waits for changes of one. Workers that wait for work are
    /// notified of a new one at once.
    func readLoadTests() async {
        do {
            if loadTests.set(try await queue.calledLoadTests()) { signal.fire() }
        } catch {
            log.warning("reading the load tests failed", ["error": "\(error)"])
        }
        loadTests.news.fire()
    }

    /// Ends and starts load tests whose time has come, and keeps those that want workers.
    func reconcileLoadTests() async throws {
        if loadTests.set(try await queue.tendLoadTests()) { signal.fire() }
    }
}
