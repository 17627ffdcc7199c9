import API
import CoordinatorClient
import Foundation
import Model
import Statistics
import TestSupport
import Testing

@testable import Worker

@Suite struct AuditTests {
    /// Starts an audit of the cluster's only site, and waits for its end.
    private func audit(
        _ cluster: Cluster, deep: Bool = true, repair: Bool = false
    ) async throws -> SiteAuditStatus {
        let site = "file://\(cluster.edge.path)"
        var status = try await cluster.client.create(
            SiteAuditSubmission(site: site, isDeep: deep, repairs: repair))
        try await waitUntil(deadlineSeconds: 60, "the end of an audit") {
            status = try await cluster.client.siteAudit(status.id)
            return status.state.hasEnded
        }
        #expect(status.state == .completed, "\(String(describing: status.failure))")
        return status
    }

    private func findings(
        _ audit: SiteAuditStatus, _ cluster: Cluster
    ) async throws -> [AuditFindingKind: Set<String>] {
        var found: [AuditFindingKind: Set<String>] = [:]
        var after: String?
        repeat {
            let page = try await cluster.client.findings(of: audit.id, after: after, limit: 300)
            for finding in page.findings {
                let isNew = found[finding.kind, default: []].insert(finding.path).inserted
                #expect(isNew, "\(finding)")
            }
            after = page.next
        } while after != nil
        return found
    }

    private struct Damage {
        var expected: [AuditFindingKind: Set<String>] = [:]
        var foreign: [String: [UInt8]] = [:]
        var links: [String] = []
        /// Paths at the origin of what has to be fetched again.
        var fetched: Set<String> = []
    }

    @Test func aThousandCorruptionsAreFoundNamedAndRepaired() async throws {
        var random = SeededRandom(seed: 25)
        try await Cluster.with { cluster in
            var objects = EndToEndTests.serveTitle(cluster.origin, at: "/title")
            var assets = [try cluster.title("/title/main.m3u8")]
            for number in 0..<1_000 {
                let path = "/d\(number % 7)/e\(number % 13)/f\(number)"
                objects[path] = sampleBytes(1 + number % 300, seed: UInt64(number + 1))
                cluster.origin.serve(path, objects[path] ?? [])
                assets.append(try cluster.file(path))
            }
            let catalog = try await cluster.submit(assets)
            _ = try await cluster.end(of: catalog)
            let clean = try await audit(cluster)
            #expect(clean.findings == [])
            #expect(clean.expectedFiles == clean.checkedFiles)
            #expect(clean.files == clean.expectedFiles)

            let damage = try await corrupt(cluster, objects.keys.sorted(), &random)
            #expect(damage.expected.values.reduce(0) { $0 + $1.count } == 1_000)

            // Without repairs it reports, and changes nothing.
            let shallow = try await audit(cluster, deep: false)
            var found = try await findings(shallow, cluster)
            #expect(found[.changed] == nil)
            let told = try await audit(cluster)
            found = try await findings(told, cluster)
            for kind in AuditFindingKind.allCases {
                #expect(found[kind] ?? [] == damage.expected[kind] ?? [], "\(kind)")
                #expect(told[kind].found == Int64(damage.expected[kind]?.count ?? 0))
                #expect(told[kind].repaired == 0)
            }
            #expect(try await cluster.client.status(of: catalog).state == .completed)

            let before = cluster.origin.requests.count
            let repaired = try await audit(cluster, repair: true)
            #expect(repaired.unrepairedFiles == 0)
            #expect(repaired[.leftover].repaired == repaired[.leftover].found)
            _ = try await cluster.end(of: catalog)
            for (path, body) in objects { #expect(cluster.stored(path) == body, "\(path)") }
            for (path, body) in damage.foreign {
                #expect(try cluster.edge.read(path) == body, "\(path)")
            }
            for path in damage.links {
                let target = try FileManager.default.destinationOfSymbolicLink(
                    atPath: cluster.edge.path(path))
                #expect(target == "/etc/hostname")
            }
            // Nothing but the damaged files was fetched again.
            let again = cluster.origin.requests.dropFirst(before).map(\.path)
            #expect(Set(again) == damage.fetched)
            #expect(again.count == damage.fetched.count)
            #expect(try await cluster.checkSums("/d0/e0") > 0)

            let last = try await audit(cluster)
            found = try await findings(last, cluster)
            #expect(found[.foreign] ?? [] == Set(damage.foreign.keys))
            #expect(found[.symlink] ?? [] == Set(damage.links))
            #expect(Set(found.keys) == [.foreign, .symlink])
            #expect(
                try await cluster.execute(
                    "SELECT kind FROM dray.event WHERE kind LIKE 'site.%' ORDER BY id DESC LIMIT 3"
                )
                .contains("site.damaged"))
        }
    }

    /// Makes a thousand random corruptions.
    private func corrupt(
        _ cluster: Cluster, _ paths: [String], _ random: inout SeededRandom
    ) async throws -> Damage {
        var damage = Damage()
        let lease = LeaseID.random()
        let site = try await cluster.client.sites().sites[0].id
        try await cluster.execute(
            "INSERT INTO dray.lost_lease (id, site_id, is_swept) VALUES ('\(lease)', \(site), true)"
        )
        var left = paths.shuffled(using: &random)
        let manager = FileManager.default
        for number in 0..<1_000 {
            var kind = Int.random(in: 0..<8, using: &random)
            // Each file once.
            if left.isEmpty, kind < 4 { kind += 4 }
            let path = kind < 4 ? left.removeLast() : ""
            let key = cluster.root + path
            let file = cluster.edge.path(key)
            switch kind {
            case 0:
                try manager.removeItem(atPath: file)
                damage.expected[.missing, default: []].insert(key)
            case 1:
                let bytes = try cluster.edge.read(key)
                try cluster.edge.write(
                    bytes.prefix(Int.random(in: 0..<bytes.count, using: &random)), to: key)
                damage.expected[.truncated, default: []].insert(key)
            case 2:
                var bytes = try cluster.edge.read(key)
                let index = Int.random(in: 0..<bytes.count, using: &random)
                bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                try cluster.edge.write(bytes, to: key)
                damage.expected[.changed, default: []].insert(key)
            case 3:
                try manager.removeItem(atPath: file)
                try manager.createSymbolicLink(
                    atPath: file, withDestinationPath: "/etc/hostname")
                damage.expected[.symlink, default: []].insert(key)
            case 4:
                let name = [
                    "!first", "\(cluster.root)/d1/e1/z\(number)", "z/\(number)/a",
                    "\(cluster.root)-\(number)",
                ]
                let foreign = "\(name[number % 4])\(number)"
                damage.foreign[foreign] = sampleBytes(number, seed: 7)
                try cluster.edge.write(damage.foreign[foreign] ?? [], to: foreign)
                damage.expected[.foreign, default: []].insert(foreign)
            case 5:
                let link = "\(cluster.root)/d2/link\(number)"
                try manager.createSymbolicLink(
                    atPath: cluster.edge.path(link), withDestinationPath: "/etc/hostname")
                damage.links.append(link)
                damage.expected[.symlink, default: []].insert(link)
            case 6:
                let name = ".dray/tmp/\(lease)-\(number)"
                try cluster.edge.write([1, 2], to: name)
                damage.expected[.leftover, default: []].insert(name)
            default:
                let multipart = MultipartID.random()
                try await cluster.execute(
                    """
                    INSERT INTO dray.abandoned_multipart_file (id, site_id)
                    VALUES ('\(multipart)', \(site))
                    """)
                try cluster.edge.write([3], to: ".dray/multipart/\(multipart)")
                damage.expected[.leftover, default: []].insert(".dray/multipart/\(multipart)")
            }
            // The rewritten playlists come from the coordinator.
            if kind < 4 { damage.fetched.insert(path) }
        }
        return damage
    }

    @Test func fetchesMeanwhileAreNoFindings() async throws {
        try await Cluster.with { cluster in
            var assets: [AssetSubmission] = []
            for number in 0..<1_500 {
                let path = "/m\(number % 11)/f\(number)"
                cluster.origin.serve(path, sampleBytes(50 + number % 50, seed: UInt64(number + 1)))
                assets.append(try cluster.file(path))
            }
            let catalog = try await cluster.submit(assets)
            var audits = 0
            while try await !cluster.client.status(of: catalog).state.isTerminal {
                let found = try await findings(try await audit(cluster), cluster)
                #expect(found == [:])
                audits += 1
            }
            #expect(audits > 0)
            audits = 0
            // Files that are replaced: the origin has others, and the catalog is started anew.
            for number in 0..<1_500 {
                cluster.origin.serve(
                    "/m\(number % 11)/f\(number)", sampleBytes(70, seed: UInt64(number + 9_000)))
            }
            _ = try await cluster.client.apply(
                SelectionAction(.refresh, catalog: CatalogReference(catalog)))
            while try await !cluster.client.status(of: catalog).state.isTerminal {
                let found = try await findings(try await audit(cluster), cluster)
                #expect(found == [:])
                audits += 1
            }
            #expect(audits > 0)
            let last = try await audit(cluster)
            #expect(last.findings == [])
        }
    }

    @Test func anotherWorkerGoesOnAfterTheLastPageThatIsDone() async throws {
        try await Cluster.with(leaseSeconds: 1) { cluster in
            var assets: [AssetSubmission] = []
            for number in 0..<350 {
                cluster.origin.serve("/p/f\(number)", [UInt8(number % 250)])
                assets.append(try cluster.file("/p/f\(number)"))
            }
            let catalog = try await cluster.submit(assets)
            _ = try await cluster.end(of: catalog)
            try FileManager.default.removeItem(atPath: cluster.edge.path("\(cluster.root)/p/f0"))
            try FileManager.default.removeItem(
                atPath: cluster.edge.path("\(cluster.root)/p/f99"))
            // A worker that takes the audit, reports two pages and nothing more.
            try await cluster.runningWorkers[0].drain()
            let audit = try await cluster.client.create(
                SiteAuditSubmission(site: "file://\(cluster.edge.path)"))
            let (worker, lease) = (WorkerID.random(), LeaseID.random())
            let grant = try await cluster.client.lease(
                audit.id, WorkLeaseRequest(worker: worker, name: "dead", lease: lease))
            #expect(grant.work?.page == 0)
            for page in 0..<2 {
                let records = try await cluster.client.records(
                    SiteAuditRecordsRequest(worker: worker, lease: lease, page: page),
                    of: audit.id)
                #expect(records.pages == 4)
                var report = SiteAuditReport(worker: worker, lease: lease, page: page)
                report.number = page
                report.isPageDone = true
                report.checkedFiles = page == 0 ? 99 : 100
                // A second one of the same page changes nothing.
                for _ in 0..<2 {
                    #expect(try await cluster.client.report(report, of: audit.id).continues)
                }
            }
            var unfinished = SiteAuditReport(worker: worker, lease: lease, page: 2)
            unfinished.number = 2
            unfinished.findings = [.init(kind: .foreign, path: "never seen again")]
            _ = try await cluster.client.report(unfinished, of: audit.id)
            let other = try await cluster.client.lease(
                audit.id, WorkLeaseRequest(worker: .random(), name: "w", lease: .random()))
            #expect(other.work == nil)

            try cluster.startWorker()
            var status = audit
            try await waitUntil(deadlineSeconds: 60, "the end of the audit") {
                status = try await cluster.client.siteAudit(audit.id)
                return status.state.hasEnded
            }
            #expect(status.state == .completed)
            #expect(status.checkedFiles == 351)
            // f0 was on a page of the dead worker.
            let found = try await findings(status, cluster)
            #expect(found == [.missing: ["\(cluster.root)/p/f99"]])
            // Its reports are late.
            await #expect { try await cluster.client.report(unfinished, of: audit.id) } throws: {
                ($0 as? Failure)?.code == .workerLeaseLost
            }
        }
    }

    @Test func leftoversOfALostWorkerGoThoughNobodyWorksAtTheSite() async throws {
        try await Cluster.with(workers: 0, leaseSeconds: 1) { cluster in
            cluster.origin.serve("/a", [1])
            let catalog = try await cluster.submit([try cluster.file("/a")])
            // A worker that gets the job, begins a file and dies.
            var request = LeaseRequest(
                worker: .random(), queues: [], maxJobs: 5, waitMilliseconds: 0)
            request.lease = .random()
            let grant = try await cluster.client.lease(request)
            let lease = try #require(grant.lease)
            let name = ".dray/tmp/\(lease)-\(try #require(grant.jobs.first).id)"
            cluster.edge.makePrivateDirectories()
            try cluster.edge.write([1, 2, 3], to: name)
            _ = try await cluster.client.apply(
                SelectionAction(.pause, catalog: CatalogReference(catalog)))
            // Another one that has nothing to do there.
            try cluster.startWorker()
            try await waitUntil(deadlineSeconds: 30, "the end of the leftover") {
                try !cluster.edge.files().contains(name)
            }
            #expect(try await cluster.client.siteAudits().audits.isEmpty)
        }
    }

    /// Never faster than its limits, of bytes and of files.
    @Test func anAuditKeepsToItsLimits() async throws {
        try await Cluster.with { cluster in
            let assets = try (0..<20).map { number in
                cluster.origin.serve("/d/\(number)", sampleBytes(50_000))
                return try cluster.file("/d/\(number)")
            }
            _ = try await cluster.run(assets)
            for isDeep in [true, false] {
                var limited = SiteAuditSubmission(
                    site: "file://\(cluster.edge.path)", isDeep: isDeep)
                if isDeep { limited.readBytesPerSecond = 1_000_000 }
                if !isDeep { limited.filesPerSecond = 10 }
                let begun = ContinuousClock.now
                var status = try await cluster.client.create(limited)
                try await waitUntil(deadlineSeconds: 60, "the end of an audit") {
                    status = try await cluster.client.siteAudit(status.id)
                    return status.state.hasEnded
                }
                #expect(status.state == .completed && status.findings == [])
                // A million bytes; some twenty names, which are counted by their lengths.
                #expect(ContinuousClock.now - begun > .milliseconds(isDeep ? 950 : 500))
            }
        }
    }

    @Test func aSiteIsAuditedBySchedule() async throws {
        try await Cluster.with { cluster in
            cluster.origin.serve("/a", [1])
            let catalog = try await cluster.submit([try cluster.file("/a")])
            _ = try await cluster.end(of: catalog)
            try FileManager.default.removeItem(atPath: cluster.edge.path("\(cluster.root)/a"))
            var settings = SiteSettings(site: "file://\(cluster.edge.path)")
            settings.auditSeconds = 3_600
            settings.auditRepairs = true
            let site = try await cluster.client.configure(settings)
            #expect(site.auditSeconds == 3_600 && site.auditRepairs && !site.auditIsDeep)
            try await waitUntil(deadlineSeconds: 60, "a repair by schedule") {
                cluster.stored("/a") == [1]
            }
            var audits = try await cluster.client.siteAudits().audits
            #expect(audits.map(\.isScheduled) == [true])
            try await waitUntil(deadlineSeconds: 60, "the end of the first one") {
                try await cluster.client.siteAudits().audits.allSatisfy(\.state.hasEnded)
            }
            // The next one is due an hour after the start of this one.
            try await cluster.execute(
                """
                UPDATE dray.site_audit SET created_at = created_at - interval '59 minutes'
                WHERE ended_at IS NOT NULL
                """)
            #expect(try await cluster.client.siteAudits().audits.count == 1)
            try await cluster.execute(
                "UPDATE dray.site_audit SET created_at = created_at - interval '2 minutes'")
            try await waitUntil(deadlineSeconds: 60, "the second one") {
                audits = try await cluster.client.siteAudits().audits
                return audits.count == 2 && audits.allSatisfy(\.state.hasEnded)
            }
            #expect(audits[0].findings == [])
        }
    }
}
