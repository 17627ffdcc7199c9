import API
import Model
import Testing

@testable import dray

/// What commands about sites and their catalogs print.
@Suite struct SiteOutputTests {
    @Test func aTableOfAuditsHasWhatWasNotCompared() throws {
        var audit = SiteAuditStatus(
            id: SiteAuditID(3), site: SiteID(1), queue: "edge", storageURL: "file:///srv/edge",
            isDeep: true, repairs: false, isScheduled: false, state: .completed, created: 0, now: 9)
        (audit.uncomparedFiles, audit.uncomparedBytes) = (8, 2048)
        let rows = ListCSV.siteAudits([audit]).split(separator: "\r\n").map {
            $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        #expect(rows.count == 2 && rows[0].count == rows[1].count)
        for (column, value) in [("uncomparedFiles", "8"), ("uncomparedBytes", "2048")] {
            let index = try #require(rows[0].firstIndex(of: column))
            #expect(rows[1][index] == value)
        }
    }

    @Test func aForgottenCatalogKeepsFilesOnlyIfItHadAssets() {
        #expect(RemoveCommand.forgotten(assets: 1) == "Forgotten: 1 asset; stored files stay.\n")
        #expect(!RemoveCommand.forgotten(assets: 0).contains("stay"))
    }
}
