import JobQueue
import Model
import Services

/// The part of the database that a coordinator keeps in memory, so that answers to workers cost no
/// queries: cooldowns of origins, limits of sites, load tests that need workers, and access tokens.
/// Reads it again when it changes.
struct ClusterMemory: Sendable {
    let queue: JobQueue
    /// Fired when waiting lease requests must be answered.
    let signal: WorkSignal
    let cooling: CoolingOrigins
    let loadTests: CalledLoadTests
    let access: Access
    private let failures: BackgroundFailures

    init(
        queue: JobQueue, signal: WorkSignal, cooling: CoolingOrigins, loadTests: CalledLoadTests,
        access: Access, failures: BackgroundFailures
    ) {
        self.access = access
        self.failures = failures
        self.queue = queue
        self.signal = signal
        self.cooling = cooling
        self.loadTests = loadTests
    }

    /// Reads the origins' cooldowns. A new one notifies waiting workers at once: either here, or by
    /// the signal of its notification.
    func readCooling() async {
        do {
            if cooling.set(try await queue.origins.cooling()) { signal.fire() }
            failures.succeeded("read the origins' cooldowns")
        } catch {
            failures.failed("read the origins' cooldowns", error)
        }
    }

    func readSiteBounds() async {
        do {
            try await queue.sites.limits.read()
            failures.succeeded("read the limits of sites")
        } catch {
            failures.failed("read the limits of sites", error)
        }
    }

    /// Reads the load tests that need workers, and wakes requests that wait for a change. A new one
    /// notifies waiting workers at once.
    func readLoadTests() async {
        do {
            if loadTests.set(try await queue.loadTests.supervision.called()) { signal.fire() }
            failures.succeeded("read the load tests")
        } catch {
            failures.failed("read the load tests", error)
        }
        loadTests.news.fire()
    }

    /// Reads the access tokens. If one was revoked, waiting requests check theirs again.
    func loadTokens() async throws(Failure) {
        guard access.store(try await queue.tokens.known()) else { return }
        for signal in [signal, cooling.signal, loadTests.news] { signal.fire() }
    }

    func readTokens() async {
        do {
            try await loadTokens()
            failures.succeeded("read the access tokens")
        } catch {
            failures.failed("read the access tokens", error)
        }
    }

    /// Starts and ends load tests that are due, and stores those that need workers.
    func reconcileLoadTests() async throws {
        if loadTests.set(try await queue.loadTests.supervision.reconcile()) { signal.fire() }
    }
}
