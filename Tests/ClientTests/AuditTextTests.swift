import API
import Client
import Model
import Testing

@Suite struct AuditTextTests {
    private func status(deep: Bool = true) -> SiteAuditStatus {
        var status = SiteAuditStatus(
            id: SiteAuditID(3), site: SiteID(1), queue: "edge", storageURL: "file:///srv/edge",
            isDeep: deep, repairs: false, isScheduled: false, state: .completed, created: 0, now: 9)
        (status.started, status.ended) = (1, 3)
        (status.files, status.bytes, status.readBytes) = (12, 3_000_000, 1_000_000)
        return status
    }

    /// What a deep audit does not read is no difference, and is named.
    @Test func itSaysWhatIsNotCompared() {
        var status = status()
        #expect(!AuditText.result(status).contains("not compared"))
        (status.uncomparedFiles, status.uncomparedBytes) = (8, 2 << 20)
        let text = AuditText.result(status)
        #expect(text.contains("of these 8 files, 2.00 MiB not compared: put aside"), "\(text)")
        #expect(text.contains("storage and records agree"))
    }

    @Test func itSaysHowMuchIsLeftOver() {
        var status = status(deep: false)
        status.findings = [
            SiteAuditStatus.Count(kind: .leftover, found: 2, repaired: 1, bytes: 5 << 20)
        ]
        let text = AuditText.result(status)
        #expect(text.contains("2 leftover, 5.00 MiB, 1 removed"), "\(text)")
        #expect(!text.contains("agree"))
    }
}
