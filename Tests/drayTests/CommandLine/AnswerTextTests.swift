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
