package import API
import CoordinatorClient
package import Model
package import Services
import Synchronization
package import Transfer

/// Runs all checks of `dray doctor`: at the same time where they do not need each other, each with
/// a time limit, in less than 30 seconds together. It is a service, so that a signal ends it in
/// order.
package final class DoctorSession: Service {
    /// The subject of the checks.
    package struct Subject: Sendable {
        /// The cluster; nil if it cannot be determined, for the reason `endpointFailure`.
        package var endpoint: ClusterEndpoint?
        package var endpointFailure: Failure?
        /// True if somebody named the cluster, so that it must answer.
        package var isNamed = false
        /// Read without a coordinator; nil for the coordinator's own diagnosis.
        package var databaseURL: String?
        /// Directories of this machine.
        package var sites: [StorageURL] = []
        package var origins: [String] = []
        package var transfer = TransferEngine.Options()
        package var machine = MachineFacts()
        /// The check of the configuration file.
        package var configuration: DoctorCheck

        package init(configuration: DoctorCheck) { self.configuration = configuration }
    }

    /// The results, and what they were made from.
    package struct Findings: Sendable {
        package var report: DoctorReport
        package var machine: MachineFacts
        package var coordinators: [CoordinatorDiagnosis] = []
        package var database: DatabaseDiagnosis?
        package var status: ClusterStatus?
        package var sites: SiteList?
        package var origins: OriginPage?
        package var webhooks: WebhookList?
        /// Parts that could not be read, with the reasons.
        package var absences: [DoctorAbsence] = []
    }

    package let name = "doctor"
    private let subject: Subject
    private let display: LiveLines
    private let clock: any WallClock
    private let state = Mutex(State())

    private struct State {
        var pending: [DoctorCheck.Area] = []
        /// Nil before the end.
        var findings: Findings?
    }

    private static let requestSeconds = 5.0
    private static let listSeconds = 6.0
    private static let databaseSeconds = 10.0
    private static let storageSeconds = 8.0
    private static let originSeconds = 10.0

    package init(
        _ subject: Subject, mode: LiveLines.Mode = .quiet,
        clock: any WallClock = SystemWallClock()
    ) {
        self.subject = subject
        self.clock = clock
        display = LiveLines(mode: mode)
    }

    /// The results; nil before the end.
    package var findings: Findings? { state.withLock { $0.findings } }

    package func run() async throws {
        defer { display.end() }
        let begin = ContinuousClock.now
        state.withLock { $0.pending = DoctorCheck.Area.allCases.filter { $0 != .machine } }
        showPending()
        async let database = databaseFound()
        async let requests = originChecks()
        var cluster = await clusterFound()
        finish(.coordinators, .workers, .webhooks)
        let local = await localChecks(cluster.sites?.sites ?? [])
        finish(.storage)
        let own = await database
        finish(.database)
        let origins = await requests
        finish(.origins)
        try Task.checkCancellation()
        var checks = [subject.configuration]
        checks += MachineChecks.all(subject.machine)
        checks += cluster.checks
        checks += databaseChecks(own, &cluster)
        checks += local + origins
        var findings = Findings(
            report: DoctorReport(
                checks, seconds: (ContinuousClock.now - begin) / .seconds(1)),
            machine: subject.machine)
        findings.coordinators = cluster.diagnoses
        findings.database = cluster.database
        findings.status = cluster.status
        findings.sites = cluster.sites
        findings.origins = cluster.origins
        findings.webhooks = cluster.webhooks
        findings.absences = cluster.absences
        state.withLock { [findings] in $0.findings = findings }
    }

    // MARK: Progress

    private func finish(_ areas: DoctorCheck.Area...) {
        state.withLock { $0.pending.removeAll { areas.contains($0) } }
        showPending()
    }

    private func showPending() {
        guard display.mode == .live else { return }
        let names = state.withLock { $0.pending.map(\.rawValue) }
        guard !names.isEmpty else { return }
        display.show(
            live: { _, _ in ["dray: checking " + names.joined(separator: ", ")] }, plain: { "" })
    }

    // MARK: The cluster

    private struct Cluster {
        var checks: [DoctorCheck] = []
        var probes: [CoordinatorProbe] = []
        var database: DatabaseDiagnosis?
        var status: ClusterStatus?
        var sites: SiteList?
        var origins: OriginPage?
        var webhooks: WebhookList?
        var absences: [DoctorAbsence] = []

        var diagnoses: [CoordinatorDiagnosis] {
            probes.compactMap { try? $0.diagnosis?.get() }
        }

        var leaseSeconds: Double {
            diagnoses.first?.leaseSeconds ?? ClockChecks.usualLeaseSeconds
        }

        /// Skips the checks of all lists.
        mutating func skipLists(because reason: String) {
            checks += listNames.map { .skipped($0.0, $0.1, because: reason) }
            absences += [.status, .sites, .origins, .webhooks].map {
                DoctorAbsence($0, because: reason)
            }
        }

        /// Records a check of a list that could not be read.
        mutating func fail(
            _ source: DoctorAbsence.Source, _ area: DoctorCheck.Area, _ name: String,
            _ failure: Failure
        ) {
            checks.append(.failed(area, name, failure))
            absences.append(DoctorAbsence(source, failure))
        }
    }

    private static let listNames: [(DoctorCheck.Area, String)] = [
        (.workers, "versions"), (.workers, "workers"), (.storage, "sites"), (.origins, "origins"),
        (.webhooks, "webhooks"),
    ]

    private func clusterFound() async -> Cluster {
        var cluster = Cluster()
        let client: CoordinatorClient
        do throws(Failure) {
            guard let endpoint = subject.endpoint else {
                throw subject.endpointFailure
                    ?? Failure(.clusterCoordinatorUnreachable, "no coordinator is named")
            }
            client = try endpoint.client(timeoutSeconds: Self.requestSeconds, isProbe: true)
        } catch {
            cluster.fail(.coordinators, .coordinators, "coordinator", error)
            cluster.skipLists(because: "no coordinator could be asked")
            return cluster
        }
        defer { client.shutdown() }
        cluster.probes = await client.probe()
        let isAbsent =
            !subject.isNamed
            && cluster.probes.allSatisfy { $0.failure?.code == .clusterCoordinatorUnreachable }
        guard !isAbsent else {
            let reason = "no cluster runs at \(ClientSettings.defaultListen)"
            cluster.checks.append(
                .skipped(
                    .coordinators, "coordinator", because: reason,
                    advice: "Start one with dray up, or set DRAY_COORDINATOR."))
            cluster.absences.append(DoctorAbsence(.coordinators, because: reason))
            cluster.skipLists(because: "no coordinator was found")
            return cluster
        }
        let now = clock.nowSeconds
        cluster.checks += cluster.probes.flatMap {
            CoordinatorChecks.all($0, nowSeconds: now)
        }
        cluster.absences += cluster.probes.compactMap(DoctorAbsence.init)
        guard cluster.probes.contains(where: CoordinatorChecks.isTokenAccepted) else {
            let isReached = cluster.probes.contains { $0.failure == nil }
            cluster.skipLists(
                because: isReached
                    ? "no coordinator accepted the token" : "no coordinator answered")
            return cluster
        }
        await readLists(&cluster, client)
        return cluster
    }

    private func readLists(_ cluster: inout Cluster, _ client: CoordinatorClient) async {
        async let status = Self.list { () async throws(Failure) in
            try await client.clusterStatus(retrySeconds: 0.5)
        }
        async let sites = Self.list { () async throws(Failure) in
            try await client.sites(retrySeconds: 0.5)
        }
        async let origins = Self.list { () async throws(Failure) in
            try await client.origins(retrySeconds: 0.5)
        }
        async let webhooks = Self.list { () async throws(Failure) in
            try await client.webhooks(retrySeconds: 0.5)
        }
        var processes = cluster.probes.compactMap { probe in
            (try? probe.diagnosis?.get()).map {
                CoordinatorChecks.Process("the coordinator at \(probe.url)", $0.version)
            }
        }
        switch await status {
        case .success(let found):
            cluster.status = found
            processes += found.workers.map {
                CoordinatorChecks.Process("worker \($0.name)", $0.version)
            }
            cluster.checks.append(CoordinatorChecks.workers(found.workers))
        case .failure(let failure):
            cluster.fail(.status, .workers, "workers", failure)
        }
        cluster.checks.append(CoordinatorChecks.versions(processes))
        switch await sites {
        case .success(let found):
            cluster.sites = found
            cluster.checks += SiteChecks.all(found.sites)
        case .failure(let failure):
            cluster.fail(.sites, .storage, "sites", failure)
        }
        switch await origins {
        case .success(let found):
            cluster.origins = found
            cluster.checks += OriginChecks.all(found)
        case .failure(let failure):
            cluster.fail(.origins, .origins, "origins", failure)
        }
        switch await webhooks {
        case .success(let found):
            cluster.webhooks = found
            let now = cluster.diagnoses.lazy.compactMap(\.database).first?.now
            cluster.checks += WebhookChecks.all(found, now: now ?? clock.nowSeconds)
        case .failure(let failure) where failure.code == .clusterForbidden:
            cluster.checks.append(
                .skipped(
                    .webhooks, "webhooks", because: "the token's role may not read them",
                    advice: "Ask an administrator for a token of the role operator."))
            cluster.absences.append(DoctorAbsence(.webhooks, failure))
        case .failure(let failure): cluster.fail(.webhooks, .webhooks, "webhooks", failure)
        }
    }

    private static func list<Value: Sendable>(
        _ read: @escaping @Sendable () async throws(Failure) -> Value
    ) async -> Result<Value, Failure> {
        let found = await result(atMost: .seconds(listSeconds)) { () -> Result<Value, Failure> in
            do throws(Failure) {
                return .success(try await read())
            } catch {
                return .failure(error)
            }
        }
        let late = Failure(
            .clusterCoordinatorUnreachable,
            "no answer within \(Int(listSeconds)) seconds")
        return found ?? .failure(late)
    }

    // MARK: The database

    private struct OwnDatabase: Sendable {
        var result: Result<DatabaseDiagnosis, Failure>
        var clock: ClockReading?
    }

    /// Reads the database without a coordinator; nil if none is named.
    private func databaseFound() async -> OwnDatabase? {
        guard let url = subject.databaseURL else { return nil }
        let sent = clock.nowSeconds
        let found = await DoctorProbes.database(url, seconds: Self.databaseSeconds)
        let received = clock.nowSeconds
        let reading = (try? found.get()).map {
            ClockReading(seconds: $0.now, sent: sent, received: received)
        }
        return OwnDatabase(result: found, clock: reading)
    }

    private func databaseChecks(_ own: OwnDatabase?, _ cluster: inout Cluster) -> [DoctorCheck] {
        var reading = own?.clock
        switch own?.result {
        case .success(let found): cluster.database = found
        case .failure(let failure):
            cluster.absences.append(DoctorAbsence(.database, failure))
            return [.failed(.database, "server", failure)]
        case nil:
            let first = cluster.probes.first { $0.databaseClock != nil }
            cluster.database = (try? first?.diagnosis?.get())?.database
            reading = first?.databaseClock
        }
        if let found = cluster.database {
            return DatabaseChecks.all(found) + [
                ClockChecks.check(
                    .database, "clock", reading, leaseSeconds: cluster.leaseSeconds)
            ]
        }
        if let failure = cluster.diagnoses.compactMap(\.databaseFailure).first {
            cluster.absences.append(DoctorAbsence(.database, failure))
            return [.failed(.database, "server", failure)]
        }
        let reason = "no coordinator described it"
        cluster.absences.append(DoctorAbsence(.database, because: reason))
        return [
            .skipped(
                .database, "server", because: reason,
                advice: "To check it without one, use --database-file or --database.")
        ]
    }

    // MARK: This machine's directories and requests

    private func localChecks(_ known: [SiteStatus]) async -> [DoctorCheck] {
        await inOrder(subject.sites) { url in
            if let bucket = url.bucket {
                return SiteChecks.bucket(
                    url.path,
                    await DoctorProbes.bucket(url, bucket, seconds: Self.storageSeconds))
            }
            let site = known.first { $0.storageURL == url.description }
            return SiteChecks.local(
                url.path,
                await DoctorProbes.site(
                    url, volume: site?.volume, seconds: Self.storageSeconds),
                floorBytes: site?.floorBytes ?? 0)
        }
    }

    private func originChecks() async -> [DoctorCheck] {
        await inOrder(subject.origins) { [subject] url in
            OriginChecks.check(
                await DoctorProbes.origin(
                    url, subject.transfer, seconds: Self.originSeconds))
        }
    }

    /// Checks all items at the same time; returns the checks in the items' order.
    private func inOrder<Item: Sendable>(
        _ items: [Item], _ check: @escaping @Sendable (Item) async -> DoctorCheck
    ) async -> [DoctorCheck] {
        await withTaskGroup(of: (Int, DoctorCheck).self) { group in
            for (index, item) in items.enumerated() {
                group.addTask { (index, await check(item)) }
            }
            var found: [(Int, DoctorCheck)] = []
            for await one in group { found.append(one) }
            return found.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }
}
