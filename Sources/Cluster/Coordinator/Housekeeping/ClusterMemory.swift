import API
import JobQueue
import Model
import Services

/// The part of the database that a coordinator keeps in memory, so that answers to workers cost no
/// queries: cooldowns of origins, limits of sites, load tests and sites that need workers, and
/// access tokens. Reads it again when it changes.
struct ClusterMemory: Sendable {
    let queue: JobQueue
    /// Fired when waiting lease requests must be answered.
    let signal: WorkSignal
    let cooldowns: CurrentCooldowns
    let loadTests: CalledLoadTests
    let audits = CalledWork<SiteAuditCall>()
    let sources = CalledWork<SourceCall>()
    let probes = CalledWork<SiteToProbe>()
    let access: Access
    private let failures: BackgroundFailures

    init(
        queue: JobQueue, signal: WorkSignal, cooldowns: CurrentCooldowns,
        loadTests: CalledLoadTests,
        access: Access, failures: BackgroundFailures
    ) {
        self.access = access
        self.failures = failures
        self.queue = queue
        self.signal = signal
        self.cooldowns = cooldowns
        self.loadTests = loadTests
    }

    // MARK: Reads that throw, for chores, which log their failures themselves

    /// Reads the origins' cooldowns. A new one notifies waiting workers at once: either here, or by
    /// the signal of its notification.
    func loadCooldowns() async throws {
        if cooldowns.set(try await queue.origins.cooldowns()) { signal.fire() }
    }

    func loadSiteBounds() async throws { try await queue.sites.limits.read() }

    /// Reads the access tokens. If one was revoked, waiting requests check theirs again.
    func loadTokens() async throws(Failure) {
        let read = access.beginRead()
        guard access.store(try await queue.access.tokens.known(), of: read) else { return }
        for signal in [signal, cooldowns.signal, loadTests.changeSignal] { signal.fire() }
    }

    func loadAudits() async throws {
        if audits.set(try await queue.sites.audits.called()) { signal.fire() }
    }

    func loadProbes() async throws {
        if probes.set(try await queue.sites.closed.unprobed()) { signal.fire() }
    }

    func loadSources() async throws {
        if sources.set(try await queue.catalogs.sources.called()) { signal.fire() }
    }

    // MARK: Reads that log their failures

    func readCooldowns() async {
        await attempt("read the origins' cooldowns") { try await loadCooldowns() }
    }

    func readSiteBounds() async {
        await attempt("read the limits of sites") { try await loadSiteBounds() }
    }

    /// Reads the load tests that need workers, and wakes requests that wait for a change. A new one
    /// notifies waiting workers at once.
    func readLoadTests() async {
        await attempt("read the load tests") {
            if loadTests.set(try await queue.loadTests.supervision.called()) { signal.fire() }
        }
        loadTests.changeSignal.fire()
    }

    /// Reads the audits that need a worker. A new one notifies waiting workers at once.
    func readAudits() async {
        await attempt("read the audits") { try await loadAudits() }
    }

    /// Reads the sources that need a worker. A new one notifies waiting workers at once.
    func readSources() async {
        await attempt("read the sources") { try await loadSources() }
    }

    func readTokens() async {
        await attempt("read the access tokens") { try await loadTokens() }
    }

    private func attempt(_ work: String, _ body: () async throws -> Void) async {
        let start = ContinuousClock.now
        do {
            try await body()
            failures.succeeded(work, since: start)
        } catch {
            failures.failed(work, error)
        }
    }

    /// Creates audits that are due, and stores those that need a worker.
    func reconcileAudits() async throws {
        try await queue.sites.audits.reconcile()
        try await loadAudits()
    }

    /// Starts and ends load tests that are due, and stores those that need workers.
    func reconcileLoadTests() async throws {
        if loadTests.set(try await queue.loadTests.supervision.reconcile()) { signal.fire() }
    }
}
