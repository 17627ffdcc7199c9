import API
import CommandLine
import CoordinatorClient
import Model
import TestSupport
import Testing

@testable import Client

/// The judgements of `dray doctor` on injected facts.
@Suite struct DoctorChecksTests {
    private static func machine() -> MachineFacts {
        var facts = MachineFacts()
        facts.cores = 4
        facts.memoryBytes = 8 << 30
        facts.openFiles = 65_536
        facts.ports = 28_232
        facts.listenQueue = 4_096
        return facts
    }

    private static func database() -> DatabaseDiagnosis {
        var found = DatabaseDiagnosis(version: "15.13", versionNumber: 150_013, now: 1_000)
        found.maxConnections = 100
        found.reservedConnections = 3
        found.usedConnections = 20
        found.schemaVersion = 1
        found.neededSchemaVersion = 1
        found.settings = [
            "fsync": "on", "full_page_writes": "on", "synchronous_commit": "on",
            "autovacuum": "on", "track_counts": "on",
        ]
        return found
    }

    private func results(_ checks: [DoctorCheck]) -> [String: DoctorCheck.Result] {
        Dictionary(checks.map { ($0.name, $0.result) }) { $1 }
    }

    @Test func aSoundMachineIsOK() {
        let checks = MachineChecks.all(Self.machine())
        #expect(checks.count == 6 && checks.allSatisfy { $0.result == .ok && $0.advice == nil })
    }

    @Test(
        arguments: [(351, .failed), (352, .warning), (3_255, .warning), (3_256, .ok)]
            as [(Int64, DoctorCheck.Result)])
    func openFilesAreComparedWithWhatAWorkerNeeds(_ files: Int64, _ result: DoctorCheck.Result) {
        var facts = Self.machine()
        facts.openFiles = files
        let check = MachineChecks.openFiles(facts)
        #expect(check.result == result)
        #expect(check.advice?.contains("LimitNOFILE") == (result == .ok ? nil : true))
    }

    @Test func theLesserOfMachineAndControlGroupCounts() {
        var facts = Self.machine()
        facts.memoryLimitBytes = 256 << 20
        facts.coresLimit = 0.5
        let memory = MachineChecks.memory(facts)
        #expect(memory.result == .warning && memory.finding.contains("256 MiB of the control"))
        #expect(MachineChecks.cores(facts).result == .warning)
        facts.memoryLimitBytes = 1 << 50
        facts.coresLimit = 16
        #expect(MachineChecks.memory(facts).finding.contains("of the machine"))
        #expect(MachineChecks.cores(facts).finding == "4.0 of 4 cores")
    }

    @Test func otherLimitsOfTheMachineGetWarnings() {
        var facts = Self.machine()
        facts.ports = 1_000
        facts.listenQueue = 128
        facts.proxyVariables = ["https_proxy"]
        let found = results(MachineChecks.all(facts))
        for name in ["local ports", "listen queue", "proxies"] {
            #expect(found[name] == .warning, "\(name)")
        }
        facts.ports = nil
        #expect(MachineChecks.ports(facts).result == .skipped)
    }

    // MARK: Webhooks

    private static func webhook(_ id: Int64 = 1) -> WebhookStatus {
        WebhookStatus(
            id: WebhookID(id), url: "https://hook.example/x", catalog: nil, kinds: [], created: 0,
            createdBy: "ops", waiting: 0, dead: 0)
    }

    @Test func webhooksWithoutIssuesAreOK() {
        let none = WebhookChecks.all(WebhookList(webhooks: []), now: 1_000)
        #expect(none.map(\.result) == [.ok] && none[0].finding == "there are none")
        var waiting = Self.webhook(2)
        waiting.waiting = 3
        waiting.waitingSince = 701
        // Before the present ones waited.
        waiting.lastFailure = WebhookStatus.LastFailure(
            time: 600, status: 500, failure: Failure(.originHTTP500, "status 500"))
        let checks = WebhookChecks.all(
            WebhookList(webhooks: [Self.webhook(), waiting]), now: 1_000)
        #expect(checks.map(\.result) == [.ok], "\(checks)")
    }

    @Test func deadFailingAndLateDeliveriesGetWarnings() throws {
        var dead = Self.webhook(1)
        dead.dead = 2
        dead.lastFailure = WebhookStatus.LastFailure(
            time: 0, status: 404, failure: Failure(.originHTTP404, "status 404"))
        var failing = Self.webhook(2)
        failing.waiting = 1
        failing.waitingSince = 990
        failing.lastFailure = WebhookStatus.LastFailure(
            time: 995, status: nil, failure: Failure(.originConnect, "refused"))
        var late = Self.webhook(3)
        late.waiting = 7
        late.waitingSince = 700
        let checks = WebhookChecks.all(
            WebhookList(webhooks: [dead, failing, late, Self.webhook(4)]), now: 1_000)
        try #require(checks.map(\.result) == [.warning, .warning, .warning, .ok], "\(checks)")
        #expect(checks.map(\.code) == [.originHTTP404, .originConnect, nil, nil])
        for (check, text) in zip(
            checks, ["2 dead", "1 waiting, the oldest for 10", "7 waiting, the oldest for", "1 "])
        {
            #expect(check.finding.contains(text), "\(check)")
        }
        #expect(checks[0].advice?.contains("deliveries --webhook 1 --delivery-state dead") == true)
        #expect(checks[1].finding.contains("refused (origin.connect)"))
    }

    // MARK: Clocks

    @Test(arguments: [
        // A second that has begun between the request and a second before it.
        (100.0, 100.2, 100.3, 0.0), (99.0, 99.9, 100.1, 0.0), (101.0, 100.2, 100.3, 0.7),
        (98.0, 100.2, 100.3, -1.2), (160.0, 100.0, 100.5, 59.5),
    ])
    func aClockIsOffByTheLeastThatExplainsIt(
        _ seconds: Double, _ sent: Double, _ received: Double, _ skew: Double
    ) {
        let reading = ClockReading(
            seconds: seconds, stepSeconds: 1, sent: sent, received: received)
        #expect(abs(reading.minSkewSeconds - skew) < 1e-9)
    }

    @Test(
        arguments: [
            (1, .ok), (1.2, .warning), (-30, .warning), (-30.5, .failed), (31, .failed),
        ] as [(Double, DoctorCheck.Result)])
    func clocksMayDifferByASecondAndMustNotByALease(
        _ skew: Double, _ result: DoctorCheck.Result
    ) {
        let reading = ClockReading(seconds: 100 + skew, sent: 100, received: 100)
        let check = ClockChecks.check(.database, "clock", reading, leaseSeconds: 30)
        #expect(check.result == result, "\(check.finding)")
        if result != .ok {
            #expect(check.finding.contains(skew > 0 ? "ahead of" : "behind"))
        }
        #expect(ClockChecks.check(.database, "clock", nil).result == .skipped)
    }

    // MARK: Coordinators

    private static func probe(_ url: String = "https://one.example:7400") -> CoordinatorProbe {
        var probe = CoordinatorProbe(url: url)
        probe.latencySeconds = 0.003
        probe.certificateEnd = 15 * 86_400
        probe.clock = ClockReading(seconds: 100, stepSeconds: 1, sent: 100, received: 100)
        probe.diagnosis = .success(
            CoordinatorDiagnosis(
                version: "1", now: 100, leaseSeconds: 30, databaseConnections: 9))
        return probe
    }

    @Test func aCoordinatorThatAnswersIsOK() {
        let checks = CoordinatorChecks.all(Self.probe(), nowSeconds: 0)
        #expect(checks.map(\.result) == [.ok, .ok, .ok, .ok], "\(checks)")
        #expect(checks[2].finding.contains("ends in 15 days"))
    }

    @Test func aCertificateNearItsEndGetsAWarning() {
        // As a coordinator's own log.
        #expect(
            CoordinatorChecks.certificate(Self.probe(), nowSeconds: 86_400).result == .warning)
        let late = CoordinatorChecks.all(Self.probe(), nowSeconds: 1.5 * 86_400)
        #expect(late[2].result == .warning && late[2].finding.contains("13 days"))
        let plain = CoordinatorChecks.certificate(
            Self.probe("http://one.example:7400"), nowSeconds: 0)
        #expect(plain.result == .skipped)
    }

    @Test func aFailureKeepsItsCodeAndHint() {
        var probe = Self.probe()
        let failure = Failure(.clusterUnauthorized, "The request carries a wrong token.")
        probe.diagnosis = .failure(failure)
        let token = CoordinatorChecks.token(probe)
        #expect(token.result == .failed && token.code == .clusterUnauthorized)
        #expect(token.advice == failure.code.row.hint)
        probe.diagnosis = .failure(Failure(.inputNotFound, "There is no GET /v1/diagnosis."))
        #expect(CoordinatorChecks.token(probe).result == .warning)
        #expect(CoordinatorChecks.isTokenAccepted(probe))
        probe.diagnosis = .failure(Failure(.clusterForbidden, "The role reader may not."))
        let forbidden = CoordinatorChecks.token(probe)
        #expect(forbidden.result == .warning && forbidden.code == .clusterForbidden)
        #expect(CoordinatorChecks.isTokenAccepted(probe))
        probe.diagnosis = .failure(Failure(.clusterDatabaseUnreachable, "no answer"))
        let other = CoordinatorChecks.token(probe)
        #expect(other.result == .failed && other.name.hasPrefix("diagnosis of "))
        probe.failure = Failure(.clusterCoordinatorUnreachable, "refused")
        let all = CoordinatorChecks.all(probe, nowSeconds: 0)
        #expect(all.map(\.code) == [.clusterCoordinatorUnreachable])
    }

    @Test func mixedVersionsAreNamed() {
        func check(_ versions: [String?]) -> DoctorCheck {
            CoordinatorChecks.versions(
                versions.map { CoordinatorChecks.Process("p", $0) }, own: "2")
        }
        #expect(check([]).result == .skipped)
        #expect(check(["2", "2"]).result == .ok)
        let mixed = check(["2", "1", nil, "1", "1"])
        #expect(mixed.result == .warning)
        #expect(mixed.finding.contains("p has 1, p has an unknown one, p has 1, and 1 more"))
    }

    @Test func workersWithoutWorkAreReported() {
        var worker = ClusterStatus.WorkerStatus(
            id: "1", name: "w", activeTransfers: 0, silentSeconds: 1)
        #expect(CoordinatorChecks.workers([]).result == .warning)
        #expect(CoordinatorChecks.workers([worker]).result == .ok)
        let sound = worker
        worker.issue = Failure(.clusterUnauthorized, "wrong token")
        #expect(CoordinatorChecks.workers([worker, sound]).result == .warning)
        #expect(CoordinatorChecks.workers([worker]).result == .failed)
    }

    // MARK: The database

    @Test func aSoundDatabaseIsOK() {
        let checks = DatabaseChecks.all(Self.database())
        #expect(checks.allSatisfy { $0.result == .ok }, "\(checks)")
    }

    @Test func whatMayLoseDataOrSlowsTheQueueGetsAWarning() {
        var found = Self.database()
        found.settings["fsync"] = "off"
        found.settings["synchronous_commit"] = "off"
        found.settings["autovacuum"] = "off"
        found.usedConnections = 90
        found.transactions = [
            DatabaseDiagnosis.Transaction(
                process: 7, application: "psql", state: "idle in transaction", seconds: 300)
        ]
        found.tables = [
            DatabaseDiagnosis.Table(
                name: "job", liveRows: 10, deadRows: 200_000, bytes: 1, vacuumedSeconds: nil)
        ]
        let results = results(DatabaseChecks.all(found))
        for name in ["connections", "durability", "autovacuum", "transactions", "dead rows"] {
            #expect(results[name] == .warning, "\(name)")
        }
        #expect(DatabaseChecks.durability(found).finding == "fsync, synchronous_commit off")
        #expect(
            DatabaseChecks.transactions(found).advice?.contains("pg_terminate_backend(7)") == true)
        found.transactions[0].seconds = 299
        found.tables[0].liveRows = 200_000
        #expect(DatabaseChecks.transactions(found).result == .ok)
        #expect(DatabaseChecks.deadRows(found).result == .ok)
    }

    @Test func aServerOrSchemaThatCannotBeUsedFails() {
        var found = Self.database()
        found.versionNumber = 130_000
        #expect(DatabaseChecks.server(found).result == .failed)
        found.versionNumber = 140_000
        found.isInRecovery = true
        #expect(DatabaseChecks.server(found).result == .failed)
        found.schemaVersion = 0
        #expect(DatabaseChecks.schema(found).finding == "there is none")
        found.schemaVersion = 1
        found.neededSchemaVersion = 2
        #expect(DatabaseChecks.schema(found).result == .failed)
        found.schemaFailure = Failure(.clusterSchemaNewer, "newer")
        #expect(DatabaseChecks.schema(found).code == .clusterSchemaNewer)
    }

    // MARK: Storage and origins

    private static func site(_ queue: String, available: Int64?) -> SiteStatus {
        var site = SiteStatus(id: SiteID(1), queue: queue, storageURL: "file:///srv/\(queue)")
        site.availableBytes = available
        return site
    }

    @Test func sitesNeedSpaceAboveTheirFloorAndBelowTheirQuota() {
        var site = Self.site("a", available: 3 << 30)
        site.floorBytes = 2 << 30
        #expect(SiteChecks.check(site).result == .ok)
        site.floorBytes = (2 << 30) + 1
        #expect(SiteChecks.check(site).code == .storageFull)
        site.floorBytes = nil
        site.quotaBytes = 100
        site.usedBytes = 95
        #expect(SiteChecks.check(site).code == .storageQuota)
        site.usedBytes = 94
        #expect(SiteChecks.check(site).result == .ok)
        site.fault = Failure(.storageReadOnly, "read-only")
        #expect(SiteChecks.check(site).result == .failed)
    }

    @Test func ofManySitesThoseWithIssuesAreListed() {
        var sites = (0..<30).map { Self.site("s\($0)", available: 1 << 40) }
        sites[29].fault = Failure(.storageIO, "errors")
        let checks = SiteChecks.all(sites)
        #expect(checks.count == 21 && checks[0].name == "site s29")
        #expect(checks[20].finding.hasPrefix("10 not listed, of which 0 need attention"))
        #expect(SiteChecks.all([]).map(\.result) == [.skipped])
    }

    @Test func originsWithIssuesAreListed() {
        let limits = OriginLimits()
        var cooled = OriginStatus(origin: "https://a", limits: limits, hasOwnLimits: false)
        cooled.cooldownUntil = 160
        cooled.reason = "Retry-After"
        let open = OriginStatus(
            origin: "https://b", limits: limits, hasOwnLimits: false, breaker: .open)
        let sound = OriginStatus(
            origin: "https://c", limits: limits, hasOwnLimits: false, cooldownUntil: 99)
        let checks = OriginChecks.all(
            OriginPage(defaults: limits, origins: [cooled, open, sound], next: nil, now: 100))
        #expect(checks.map(\.result) == [.warning, .warning, .ok])
        #expect(checks[0].finding == "in cooldown for 1 min 00 s: Retry-After")
        #expect(checks[2].finding == "1 without a cooldown")
        var recovered = sound
        recovered.decisions = ["closed", "open", "cooldown", "open"].map {
            OriginStatus.Decision(at: 3_500, decision: $0, reason: "refused")
        }
        let often = OriginChecks.check(recovered, now: 7_000)
        #expect(often?.finding == "3 cooldowns within the last hour; the last: refused")
        recovered.decisions.removeLast()
        #expect(OriginChecks.check(recovered, now: 7_000) == nil)
    }

    @Test(
        arguments: [
            (404, "origin.http.404", .ok), (403, "origin.http.403", .ok),
            (429, "origin.http.429", .warning), (503, "origin.http.503", .warning),
            (200, "origin.truncated", .warning), (nil, "origin.addressDenied", .failed),
        ] as [(Int?, String, DoctorCheck.Result)])
    func anOriginThatAnswersIsReachable(
        _ status: Int?, _ code: String, _ result: DoctorCheck.Result
    ) {
        let probe = OriginChecks.Probe(
            url: "https://o/x", status: status, failure: Failure(FailureCode(code), "no"))
        #expect(OriginChecks.check(probe).result == result)
        #expect(OriginChecks.check(OriginChecks.Probe(url: "https://o/x")).result == .ok)
    }

    // MARK: The report

    @Test func aReportHasALineForEachCheckAndAdviceBelow() {
        let report = DoctorReport(
            [
                .failed(
                    .coordinators, "coordinator http://u:p@one:7400",
                    Failure(.clusterNotTLS, "https://u:p@one/?sig=x: no TLS")),
                .ok(.machine, "memory", "8 GiB"),
                .warning(.machine, "open files", "512", advice: "Raise it."),
                .skipped(.origins, "origins", because: "none"),
            ], seconds: 1)
        #expect(report.exitCode == .someFailed)
        #expect(
            report.text == """
                Machine
                  ok       memory                         8 GiB
                  warning  open files                     512
                                                          Raise it.
                Coordinators
                  failed   coordinator http://…@one:7400  https://…@one/?…: no TLS (cluster.notTLS)
                                                          \(FailureCode.clusterNotTLS.row.hint)
                Origins
                  skipped  origins                        none

                4 checks: 1 ok, 1 warning, 1 failed, 1 skipped

                """, "\(report.text)")
        let warned = DoctorReport([.warning(.machine, "a", "b", advice: "c")], seconds: 0)
        #expect(warned.exitCode == .success)
    }
}
