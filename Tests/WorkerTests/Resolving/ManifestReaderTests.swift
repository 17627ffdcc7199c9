import API
import Foundation
import Model
import TestSupport
import Testing
import Titles
import Transfer

@testable import Worker

/// Optional requests of recordings, which never answer.
@Suite("Optional requests", .timeLimit(.minutes(1)))
final class ManifestReaderTests: Sendable {
    private let origin: FaultOrigin
    private let engine: TransferEngine
    private let gate = Gate()
    private let failedClocks = Shared(FailedClocks())
    private let start = ContinuousClock.now
    private let seconds = Shared(0.0)

    init() throws {
        origin = try FaultOrigin()
        engine = try TransferEngine()
    }

    deinit {
        gate.open()
        engine.shutdown()
    }

    /// Reads what a recording lacks.
    ///
    /// - Parameter clock: for optional requests; it cannot be used again after one is answered.
    private func pass(
        _ path: String, after cursor: RecordingCursor? = nil, clock: ManualClock = ManualClock()
    ) async throws -> RecordingPass {
        var options = TitleOptions()
        options.records = true
        var source = AssetSource(
            url: origin.url(path), key: "h/title", kind: .hls, titles: options)
        source.recording = cursor.map { RecordingPosition(cursor: $0, isOver: false) }
        let work = LeasedJob(
            job: Job(id: JobID(1), asset: AssetID(1), task: .resolve(source)), lease: "l",
            site: LeasedSite(id: SiteID(1), storageURL: "file:///edge"))
        let start = start
        let seconds = seconds
        let reader = ManifestReader(
            engine: engine, held: HeldWork(), titles: TitleQueue(), clock: clock,
            failedClocks: failedClocks,
            now: { start + .seconds(seconds.withLock { $0 }) })
        guard case .recording(let pass) = try await reader.reading(of: Leased(work, source)) else {
            throw Failure(.workerInternal, "no recording")
        }
        return pass
    }

    /// The same with a request that never answers, whose time ends.
    private func pass(
        _ path: String, after cursor: RecordingCursor?, without hanging: String
    ) async throws -> RecordingPass {
        let before = origin.count(hanging)
        origin.route(hanging, FaultOrigin.Response(text: "late").held(at: gate))
        let clock = ManualClock()
        async let pass = self.pass(path, after: cursor, clock: clock)
        try await waitUntil(deadlineSeconds: 30, "a request of \(hanging)") {
            origin.count(hanging) > before
        }
        clock.endSleep()
        return try await pass
    }

    @Test("a multivariant playlist that hangs does not hold up its media playlists")
    func multivariantPlaylist() async throws {
        func list(_ names: [String]) -> FaultOrigin.Response {
            .init(
                text: "#EXTM3U\n#EXT-X-TARGETDURATION:1\n"
                    + names.map { "#EXTINF:1,\n\($0)\n" }.joined())
        }
        origin.route(
            "/t/main.m3u8", .init(text: "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=9\nv.m3u8\n"))
        origin.route("/t/v.m3u8", list(["1.ts"]))
        var cursor = try await pass("/t/main.m3u8").update.cursor
        #expect(cursor.entries == 1)
        cursor.unreadSeconds = RecordingCursor.maxUnreadSeconds
        origin.route("/t/v.m3u8", list(["1.ts", "2.ts"]))
        let next = try await pass("/t/main.m3u8", after: cursor, without: "/t/main.m3u8")
        #expect(next.update.entries.map(\.uri) == ["2.ts"])
        // It counts as read: the next look is five minutes later.
        #expect(next.update.cursor.unreadSeconds == next.update.reloadSeconds)
    }

    private func serveMPD(clocks: [String]) {
        let timings = clocks.map {
            "<UTCTiming schemeIdUri=\"urn:mpeg:dash:utc:http-iso:2014\" value=\"\($0)\"/>"
        }.joined()
        origin.route(
            "/t/live.mpd",
            .init(
                text: """
                    <MPD type="dynamic" timeShiftBufferDepth="PT20S" \
                    availabilityStartTime="2020-01-01T00:00:00Z">\(timings)<Period id="p" \
                    start="PT0S"><AdaptationSet contentType="video"><SegmentTemplate \
                    duration="1" media="$Number$.m4s"/><Representation id="v"/></AdaptationSet>\
                    </Period></MPD>
                    """))
    }

    @Test("a clock that hangs is not waited for at each reload")
    func clockThatHangs() async throws {
        serveMPD(clocks: ["/time", "/other"])
        origin.route("/other", .init(text: Date.now.ISO8601Format()))
        var cursor = try await pass("/t/live.mpd", after: nil, without: "/time").update.cursor
        #expect(cursor.mpd?.clockFailures == 0 && origin.count("/other") == 1)
        for seconds in [1.0, 15, 29] {
            self.seconds.withLock { $0 = seconds }
            cursor = try await pass("/t/live.mpd", after: cursor).update.cursor
            #expect(cursor.mpd?.clockFailures == 0)
        }
        #expect(origin.count("/time") == 1 && origin.count("/other") == 4)
        // Half a minute later it is requested again, then a minute later.
        seconds.withLock { $0 = 31 }
        cursor = try await pass("/t/live.mpd", after: cursor, without: "/time").update.cursor
        seconds.withLock { $0 = 90 }
        cursor = try await pass("/t/live.mpd", after: cursor).update.cursor
        #expect(origin.count("/time") == 2)
        // It answers, and is the preferred one again.
        origin.route("/time", .init(text: Date.now.ISO8601Format()))
        seconds.withLock { $0 = 92 }
        let others = origin.count("/other")
        for _ in 0..<2 { cursor = try await pass("/t/live.mpd", after: cursor).update.cursor }
        #expect(origin.count("/time") == 4 && origin.count("/other") == others)
    }

    @Test("a clock that hangs is as one that cannot be read")
    func clockOfAnMPD() async throws {
        serveMPD(clocks: ["/time"])
        let pass = try await self.pass("/t/live.mpd", after: nil, without: "/time")
        #expect(!pass.update.entries.isEmpty)
        #expect(pass.update.cursor.mpd?.clockFailures == nil)
    }
}
