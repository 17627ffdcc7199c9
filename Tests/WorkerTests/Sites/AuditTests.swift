import API
import CoordinatorClient
import Foundation
import Model
import Statistics
import TestSupport
import Testing

@testable import Worker

@Suite struct AuditTests {
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
                let found = try await cluster.findings(of: try await cluster.audit())
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
                let found = try await cluster.findings(of: try await cluster.audit())
                #expect(found == [:])
                audits += 1
            }
            #expect(audits > 0)
            let last = try await cluster.audit()
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
            let found = try await cluster.findings(of: status)
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
