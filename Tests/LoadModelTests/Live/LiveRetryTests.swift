import Model
import Testing

@testable import LoadModel

/// Failed requests of live viewers whose objects have left the list.
@Suite struct LiveRetryTests {
    private static func viewer(_ plan: LoadPlan) throws -> (LiveViewer, LiveTrack, LiveObjects) {
        let objects = LiveObjects(plan) { _ in 0 }
        let title = LiveTitle(
            try #require(plan.targets[0].live), objects, startEpochSeconds: 0)
        let viewer = LiveViewer(title: title, settings: ViewerSettings(), plannedSeconds: 100)
        return (viewer, title.video[0], objects)
    }

    /// Answers a viewer's requests at `now` until it has requested a URL with a text in it.
    private static func request(
        _ text: String, _ viewer: inout LiveViewer, _ plan: LoadPlan, _ objects: LiveObjects,
        _ packager: LiveViewerTests.Packager, now: Double
    ) throws {
        var interval = LoadInterval(second: 0)
        for _ in 0..<100 {
            guard case .fetch(let index) = viewer.next(.video, atSeconds: now) else { break }
            let url = objects.entries[Int32(index)]?.object.url ?? plan.objects[index].url
            if url.contains(text) { return }
            let body = url.contains("v0.m3u8") ? packager.playlist(now) : ""
            try viewer.received(
                .video, bytes: 1, body: Array(body.utf8), tookSeconds: 0.01, atSeconds: now,
                into: &interval)
        }
        Issue.record("\(text) is not requested")
    }

    private static func retried(_ viewer: inout LiveViewer, now: Double) -> Viewer.Action {
        guard case .wait(let until) = viewer.failed(.video, atSeconds: now) else { return .end }
        return viewer.next(.video, atSeconds: until)
    }

    /// While a blocking reload waits for its timeout, others request so many positions that it is
    /// no longer kept.
    @Test func aBlockingReloadThatFailedIsAskedAnew() throws {
        let plan = livePlan(.hls)
        let packager = LiveViewerTests.Packager(partsPerSegment: 4)
        var (viewer, track, objects) = try Self.viewer(plan)
        try Self.request("_HLS_msn", &viewer, plan, objects, packager, now: 101)
        for number in 0..<20 {
            _ = track.reload(
                until: LiveCursor(number: 1_000 + Int64(number)), skips: false, hasParts: true)
        }
        guard case .fetch(let index) = Self.retried(&viewer, now: 110) else {
            Issue.record("it does not try again")
            return
        }
        #expect(objects[index]?.object.url.contains("v0.m3u8?_HLS_msn=25") == true)
        #expect(viewer.readsBody(.video))
    }

    /// A segment that left the list while its request failed is not requested again.
    @Test func aSegmentThatLeftTheListIsDropped() throws {
        let plan = livePlan(.hls)
        var (viewer, track, objects) = try Self.viewer(plan)
        try Self.request(
            ".ts", &viewer, plan, objects, LiveViewerTests.Packager(hasDates: false),
            now: 101)
        // Another viewer of the loop has received what the packager lists much later.
        let later = LiveViewerTests.Packager(hasDates: false).playlist(10_000)
        _ = try track.read(playlist: Array(later.utf8), epochSeconds: 10_000)
        let action = Self.retried(&viewer, now: 102)
        guard case .wait(let until) = action else {
            Issue.record("\(action)")
            return
        }
        guard case .fetch(let index) = viewer.next(.video, atSeconds: until) else {
            Issue.record("it does not continue")
            return
        }
        #expect(plan.objects[index].url.hasSuffix("/v0.m3u8"))
    }
}
