import API
import Model
import Testing

@testable import dray

/// What commands print of the cluster's answers.
@Suite struct AnswerTextTests {
    @Test func cachesAreDistinguishedByTheirPOPs() {
        let urls = ["1", "2"].map { "cache:http://edge.example?pop=192.0.2.\($0)" }
        let sites = urls.enumerated().map { index, url in
            SiteStatus(
                id: SiteID(Int64(index)), queue: "edge-\(index)", storageURL: url, schedule: "")
        }
        let table = SiteCommand.table(SiteList(sites: sites, now: 0))
        for url in urls { #expect(table.contains(url), "\(table)") }
    }

    @Test(arguments: [nil, Int64(1 << 30)])
    func whatASiteHasStoredIsShownWithAndWithoutAQuota(quota: Int64?) {
        var site = SiteStatus(
            id: SiteID(1), queue: "edge", storageURL: "file:///edge", schedule: "")
        site.usedBytes = 3 << 20
        site.quotaBytes = quota
        let table = SiteCommand.table(SiteList(sites: [site], now: 0))
        #expect(table.contains("Used") && table.contains("3.00 MiB"), "\(table)")
        #expect(table.contains("Quota") == (quota != nil))
    }

    /// As after the last one was forgotten.
    @Test func aSiteWithoutCatalogsIsShownAsSuch() throws {
        var site = SiteStatus(
            id: SiteID(1), queue: "edge", storageURL: "file:///edge", schedule: "")
        site.catalogs = 0
        let lines = SiteCommand.table(SiteList(sites: [site], now: 0)).split(separator: "\n")
        let heading = try #require(lines.first { $0.contains("Catalogs") })
        let end = try #require(heading.ranges(of: "Catalogs").first).upperBound
        let width = heading.distance(from: heading.startIndex, to: end)
        #expect(lines.contains { $0.prefix(width).hasSuffix(" 0") }, "\(lines)")
    }

    @Test func aSourceIsShownWithItsCatalog() throws {
        var source = SourceStatus(
            catalog: CatalogID(3), name: "movies", queue: "edge", storageURL: "file:///edge",
            url: "http://cms.example/list?…", everySeconds: 21_600, prunes: false,
            maxDropPercent: 50,
            isReading: false, isSkipped: false, next: 90, failures: 0, now: 0)
        source.result = .unchanged
        #expect(
            SourceCommand.line(source)
                == "source:   http://cms.example/list?…, every 6 h 00 min, next "
                + "in 1 min 30 s, last unchanged")
    }
}
