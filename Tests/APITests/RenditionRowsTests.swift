import API
import Model
import TestSupport
import Testing

/// Renditions that titles lack, in the messages of workers.
@Suite struct RenditionRowsTests {
    private static let lost = LeftOutRendition(key: "h/a", Failure(.originHTTP404, "gone\t"))
        .reason(for: .audio, name: "é", attributes: "de 128 kbit/s")

    @Test(arguments: [WireFormat.rows, .json])
    func messagesKeepThem(format: WireFormat) throws {
        var source = AssetSource(url: "http://h/l", key: "h/l", kind: .hls)
        source.leftOut = [Self.lost]
        let job = Job(id: JobID(1), asset: AssetID(5), attempt: 1, task: .resolve(source))
        let grant = LeaseGrant(
            lease: "l", seconds: 30,
            site: LeasedSite(id: SiteID(1), storageURL: "file:///e"), jobs: [job])
        let granted = try format.decode(LeaseGrant.self, from: try format.encode(grant))
        #expect(granted.jobs == [job])

        var batch = SegmentBatch(worker: "w", job: JobID(7), lease: "l", segments: [])
        batch.leftOut = [Self.lost]
        let back = try format.decodeStrictly(SegmentBatch.self, from: try format.encode(batch))
        #expect(back.leftOut == [Self.lost])
    }
}
