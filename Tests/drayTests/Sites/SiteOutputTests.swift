import API
import Model
import Testing

@testable import dray

/// What commands about sites and their catalogs print.
@Suite struct SiteOutputTests {
    /// Reads the one row of a CSV text by the names of its columns.
    private func row(_ csv: String) throws -> [String: String] {
        let rows = csv.split(separator: "\r\n").map {
            $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        try #require(rows.count == 2 && rows[0].count == rows[1].count, "\(csv)")
        return Dictionary(zip(rows[0], rows[1])) { first, _ in
            Issue.record("a column is there twice: \(csv)")
            return first
        }
    }

    @Test func aTableOfAuditsHasWhatWasNotComparedAndWhatWasRepaired() throws {
        var audit = SiteAuditStatus(
            id: SiteAuditID(3), site: SiteID(1), queue: "edge", storageURL: "file:///srv/edge",
            isDeep: true, repairs: false, isScheduled: false, state: .completed, created: 0, now: 9)
        (audit.uncomparedFiles, audit.uncomparedBytes) = (8, 2048)
        audit.findings = [
            .init(kind: .missing, found: 5, repaired: 3),
            .init(kind: .leftover, found: 7, repaired: 7),
        ]
        let row = try row(ListCSV.siteAudits([audit]))
        #expect(row["uncomparedFiles"] == "8" && row["uncomparedBytes"] == "2048")
        #expect(row["missing"] == "5" && row["repairedFiles"] == "3")
    }

    @Test func aTableOfSitesHasAllSettings() throws {
        var site = SiteStatus(id: SiteID(1), queue: "edge", storageURL: "file:///srv/edge")
        let none = try row(ListCSV.sites([site]))
        let names = [
            "notBefore", "expiresAt", "keepSeconds", "maxFetchesCount", "maxFetchesPeriodSeconds",
            "maxSites", "auditSeconds", "serves", "volume",
        ]
        for name in names { #expect(none[name] == "", "\(name)") }
        (site.notBefore, site.expiresAt, site.keepSeconds) = (1_790_000_000, 1_800_000_000, 60)
        (site.evict, site.maxSites) = (.leastPopular, 2)
        site.maxFetches = FetchLimit(count: 3, periodSeconds: 86_400)
        (site.auditSeconds, site.auditRepairs) = (3_600, true)
        site.serves = "https://name:word@edge.example/"
        let row = try row(ListCSV.sites([site]))
        for (name, value) in [
            ("notBefore", "2026-09-21T14:13:20.000Z"), ("expiresAt", "2027-01-15T08:00:00.000Z"),
            ("keepSeconds", "60.0"), ("evict", EvictionOrder.leastPopular.rawValue),
            ("maxFetchesCount", "3"), ("maxFetchesPeriodSeconds", "86400.0"), ("maxSites", "2"),
            ("auditSeconds", "3600"), ("auditIsDeep", "false"), ("auditRepairs", "true"),
        ] { #expect(row[name] == value, "\(name)") }
        #expect(row["serves"]?.contains("word") == false && row["serves"]?.isEmpty == false)
    }

    @Test func aTableOfAssetsHasTheirRights() throws {
        var asset = AssetStatus(
            id: AssetID(1), name: "a", url: "http://origin.test/a", kind: .hls, state: .removed)
        (asset.notBefore, asset.expiresAt, asset.isPinned) = (1_790_000_000, 1_800_000_000, true)
        (asset.freedFiles, asset.freedBytes) = (2, 10)
        let row = try row(ListCSV.assets([asset]))
        for (name, value) in [
            ("notBefore", "2026-09-21T14:13:20.000Z"), ("expiresAt", "2027-01-15T08:00:00.000Z"),
            ("isPinned", "true"), ("freedFiles", "2"), ("freedBytes", "10"),
        ] { #expect(row[name] == value, "\(name)") }
    }

    @Test func aTableOfCatalogsHasWhatTheyWaitFor() throws {
        var catalog = CatalogStatus(
            id: CatalogID(1), name: "a", queue: "edge", storageURL: "file:///srv/edge",
            state: .running, generation: 1, totals: CatalogTotals(), active: [])
        #expect(try row(ListCSV.catalogs([catalog]))["waits"] == "")
        catalog.waits = [CatalogWait(.paused(assets: 2)), CatalogWait(.schedule, seconds: 9)]
        #expect(try row(ListCSV.catalogs([catalog]))["waits"] == "paused schedule")
    }

    @Test func howToAuditIsShownWithoutASchedule() {
        var site = SiteStatus(id: SiteID(1), queue: "edge", storageURL: "file:///srv/edge")
        #expect(AuditSchedule.text(site) == "none")
        (site.auditIsDeep, site.auditRepairs) = (true, true)
        #expect(AuditSchedule.text(site) == "none without --audit-every, deep, with repairs")
        site.auditSeconds = 7_200
        #expect(AuditSchedule.text(site) == "every 2 h 00 min, deep, with repairs")
    }

    @Test func aForgottenCatalogKeepsFilesOnlyIfItHadAssets() {
        #expect(RemoveCommand.forgotten(assets: 1) == "Forgotten: 1 asset; stored files stay.\n")
        #expect(!RemoveCommand.forgotten(assets: 0).contains("stay"))
    }
}
