import API
import Foundation
import Model
import TestSupport
import Testing

@testable import Worker

/// Live DASH titles that are recorded to their end.
@Suite("DASH recordings", .timeLimit(.minutes(3)))
struct DASHRecordingTests {
    private static func text(_ path: String, _ cluster: Cluster) -> String {
        RecordingTests.text(path, cluster)
    }

    @Test("a sliding window becomes a static MPD")
    func slidingWindow() async throws {
        try await Cluster.with { cluster in
            var mpd = LiveMPD()
            mpd.representations = ["v", "a"]
            mpd.serve("/t/live.mpd", at: cluster.origin)
            let asset = try await RecordingTests.record("/t/live.mpd", cluster)
            #expect(asset.state == .completed, "\(asset)")
            let text = Self.text("/t/live.mpd", cluster)
            #expect(text.contains("type=\"static\" mediaPresentationDuration=\"PT8S\""), "\(text)")
            #expect(text.contains("<Period id=\"p\" start=\"PT0S\">"))
            #expect(text.components(separatedBy: "<S t=\"1000\" d=\"10\" r=\"7\"/>").count == 3)
            #expect(text.components(separatedBy: "presentationTimeOffset=\"1000\"").count == 3)
            #expect(!text.contains("dynamic") && !text.contains("minimumUpdatePeriod"))
            for id in ["v", "a"] {
                #expect(Self.text("/t/\(id).mp4", cluster) == "init \(id)")
                for number in 100..<108 {
                    let path = "/t/\(id)-\(number * 10).m4s"
                    #expect(Self.text(path, cluster) == "\(id) \(number)")
                    #expect(cluster.origin.count(path) == 1)
                }
            }
            #expect(asset.recording?.segments == 16 && asset.recording?.gaps == 0)
            #expect(asset.recording?.end == .ended)
            #expect(asset.segments == 19 && asset.segmentsDone == 19)
        }
    }

    @Test("an MPD that offers patches is reloaded as a whole")
    func patches() async throws {
        try await Cluster.with { cluster in
            var mpd = LiveMPD()
            mpd.header = "<PatchLocation ttl=\"2\">/t/patch.mpp</PatchLocation>"
            mpd.attributes = "id=\"m\" publishTime=\"2020-01-01T00:00:10Z\""
            mpd.serve("/t/live.mpd", at: cluster.origin)
            let asset = try await RecordingTests.record("/t/live.mpd", cluster)
            #expect(asset.state == .completed, "\(asset)")
            #expect(asset.recording?.segments == 8 && asset.recording?.gaps == 0)
            #expect(cluster.origin.count("/t/patch.mpp") == 0)
            #expect(!Self.text("/t/live.mpd", cluster).contains("PatchLocation"))
        }
    }

    @Test("what is missing is a hole in the timeline, and named as a gap")
    func gaps() async throws {
        try await Cluster.with { cluster in
            var mpd = LiveMPD()
            // The second reload comes too late for segments 103 and 104.
            mpd.published = { $0 == 1 ? 3 : $0 + 6 }
            mpd.count = 10
            mpd.isNumbered = true
            mpd.serve("/t/live.mpd", at: cluster.origin)
            cluster.origin.route("/t/v-107.m4s", .init(404))
            let asset = try await RecordingTests.record("/t/live.mpd", cluster)
            #expect(asset.state == .completed, "\(asset)")
            let text = Self.text("/t/live.mpd", cluster)
            #expect(
                text.contains(
                    " startNumber=\"100\"><SegmentTimeline><S t=\"1000\" d=\"10\" r=\"2\"/>"
                        + "<S t=\"1050\" n=\"105\" d=\"10\" r=\"1\"/>"
                        + "<S t=\"1080\" n=\"108\" d=\"10\" r=\"1\"/></SegmentTimeline>"), "\(text)"
            )
            #expect(text.contains("mediaPresentationDuration=\"PT10S\""))
            #expect(cluster.stored("/t/v-107.m4s") == nil)
            #expect(Self.text("/t/v-108.m4s", cluster) == "v 108")
            #expect(asset.recording?.segments == 8 && asset.recording?.gaps == 3, "\(asset)")
            #expect(asset.segments == asset.segmentsDone && asset.failure == nil)
            let messages = try await RecordingTests.messages(cluster, "asset.gap")
            #expect(messages.count == 2, "\(messages)")
            #expect(
                messages.contains {
                    $0.hasPrefix("2 segments before segment 105 of representation v ")
                })
            #expect(messages.contains { $0.contains("Segment 107") && $0.contains("v-107.m4s") })
        }
    }

    @Test("a representation that joins is named, and not recorded")
    func joined() async throws {
        try await Cluster.with { cluster in
            var mpd = LiveMPD()
            mpd.representations = ["v", "a"]
            mpd.serve("/t/live.mpd", at: cluster.origin)
            var alone = mpd
            alone.representations = ["v"]
            let (before, after) = (alone, mpd)
            cluster.origin.route("/t/live.mpd") { request in
                .init(text: (request.number < 3 ? before : after).text(request.number))
            }
            let asset = try await RecordingTests.record("/t/live.mpd", cluster)
            #expect(asset.state == .completed, "\(asset)")
            #expect(asset.recording?.segments == 8 && asset.recording?.gaps == 0, "\(asset)")
            let name = "representation a of period p (1 kbit/s)"
            #expect(asset.recording?.unrecorded == [name])
            #expect(
                try await RecordingTests.messages(cluster, "asset.unrecorded")
                    == ["It has joined the title, and is not recorded: \(name)."])
            #expect(!Self.text("/t/live.mpd", cluster).contains("id=\"a\""))
        }
    }

    /// The second period has the names of the first one, for other files.
    @Test("a period that begins later has files of its own")
    func periods() async throws {
        try await Cluster.with { cluster in
            var mpd = LiveMPD()
            mpd.isNumbered = true
            let fetched = PublishedCount(0)
            let requests = PublishedCount(0)
            let periods = mpd
            cluster.origin.route("/t/live.mpd") { _ in
                let first = periods.period("p", "PT1M", 1..<3, offset: 1)
                guard fetched.value > 0 else {
                    return .init(text: LiveMPD.text(first, type: "dynamic"))
                }
                requests.value += 1
                let second = periods.period("q", "PT1M2S", 1..<4, offset: 1)
                return .init(
                    text: requests.value == 1
                        ? LiveMPD.text(first + second, type: "dynamic")
                        : LiveMPD.text(second, type: "static"))
            }
            cluster.origin.route("/t/v.mp4", inTurn: [.init(text: "one"), .init(text: "two")])
            cluster.origin.route(
                "/t/v-1.m4s", inTurn: [.init(text: "one 1"), .init(text: "two 1")])
            cluster.origin.route("/t/v-2.m4s") { request in
                // Everything of the first period has been requested once.
                fetched.value = request.number
                return .init(text: request.number == 1 ? "one 2" : "two 2")
            }
            cluster.origin.route("/t/v-3.m4s", .init(text: "two 3"))
            let asset = try await RecordingTests.record("/t/live.mpd", cluster)
            #expect(asset.state == .completed, "\(asset)")
            let text = Self.text("/t/live.mpd", cluster)
            #expect(text.contains("mediaPresentationDuration=\"PT5S\""), "\(text)")
            #expect(text.contains("<Period id=\"p\" start=\"PT0S\">"))
            #expect(text.contains("id=\"q\" start=\"PT2S\">"))
            #expect(text.contains("initialization=\"v~p2.mp4\" media=\"v-$Number$~t1.m4s\""))
            #expect(text.contains("<S t=\"0\" d=\"10\" r=\"1\"/>"))
            #expect(text.contains("<S t=\"0\" d=\"10\" r=\"2\"/>"))
            let stored = [
                "v.mp4": "one", "v-1.m4s": "one 1", "v-2.m4s": "one 2", "v~p2.mp4": "two",
                "v-1~t1.m4s": "two 1", "v-2~t1.m4s": "two 2", "v-3~t1.m4s": "two 3",
            ]
            for (name, content) in stored {
                #expect(Self.text("/t/\(name)", cluster) == content, "\(name)")
            }
            #expect(asset.recording?.segments == 5 && asset.recording?.gaps == 0)
        }
    }

    /// The segments follow from the clock; the MPD never changes.
    @Test("numbers by the clock are recorded until a time")
    func untilByTheClock() async throws {
        try await Cluster.with { cluster in
            let start = Date(timeIntervalSinceNow: -100)
            cluster.origin.route(
                "/t/live.mpd",
                .init(
                    text: """
                        <MPD type="dynamic" timeShiftBufferDepth="PT20S" \
                        availabilityStartTime="\(start.formatted(.iso8601))"><Period id="p" \
                        start="PT0S"><AdaptationSet contentType="video"><SegmentTemplate \
                        duration="1" media="$Number$.m4s" initialization="i.mp4" startNumber="0"/>\
                        <Representation id="v"/></AdaptationSet></Period></MPD>
                        """))
            cluster.origin.route("/t/i.mp4", .init(text: "init"))
            for number in 60..<200 {
                cluster.origin.route("/t/\(number).m4s", .init(text: "segment \(number)"))
            }
            let asset = try await RecordingTests.record(
                "/t/live.mpd", cluster, until: Date().timeIntervalSince1970 + 4)
            #expect(asset.state == .completed, "\(asset)")
            #expect(asset.recording?.end == .until && asset.recording?.gaps == 0, "\(asset)")
            let count = try #require(asset.recording?.segments)
            #expect((15...35).contains(count), "\(count)")
            let text = Self.text("/t/live.mpd", cluster)
            #expect(text.contains("mediaPresentationDuration=\"PT\(count)S\""), "\(text)")
            #expect(text.contains(" d=\"1\" r=\"\(count - 1)\"/></SegmentTimeline>"))
        }
    }

    @Test("a Location that has expired is read from the title's URL")
    func location() async throws {
        try await Cluster.with { cluster in
            let shown = PublishedCount(0)
            var mpd = LiveMPD()
            mpd.published = { _ in shown.value + 2 }
            mpd.header = "<Location>/session/live.mpd</Location>"
            mpd.serve("/t/live.mpd", at: cluster.origin)
            let body: @Sendable (LiveMPD) -> FaultOrigin.Response = { mpd in
                shown.value += 1
                return .init(text: mpd.text(0))
            }
            let served = mpd
            cluster.origin.route("/t/live.mpd") { _ in body(served) }
            cluster.origin.route("/session/live.mpd") { request in
                request.number % 3 == 0 ? .init(403) : body(served)
            }
            for number in 100..<108 {
                cluster.origin.route(
                    "/session/v-\(number * 10).m4s", .init(text: "v \(number)"))
            }
            let asset = try await RecordingTests.record("/t/live.mpd", cluster)
            #expect(asset.state == .completed, "\(asset)")
            #expect(asset.recording?.segments == 8 && asset.recording?.gaps == 0, "\(asset)")
            #expect(cluster.origin.count("/session/live.mpd") > 2)
            // Keys are those of the title's URL.
            for number in 100..<108 {
                #expect(Self.text("/t/v-\(number * 10).m4s", cluster) == "v \(number)")
            }
            #expect(!Self.text("/t/live.mpd", cluster).contains("Location"))
        }
    }

    @Test("an MPD that cannot be recorded fails, and names the reason")
    func unsupported() async throws {
        try await Cluster.with { cluster in
            cluster.origin.route(
                "/t/live.mpd",
                .init(
                    text: """
                        <MPD type="dynamic" availabilityStartTime="2020-01-01T00:00:00Z"><Period>
                        <AdaptationSet><Representation id="v"><SegmentList duration="2">
                        <SegmentURL media="1.m4s"/></SegmentList></Representation></AdaptationSet>
                        </Period></MPD>
                        """))
            let asset = try await RecordingTests.record("/t/live.mpd", cluster)
            #expect(asset.state == .failed, "\(asset)")
            #expect(asset.failure?.code == .manifestUnsupported)
            #expect(asset.failure?.message.contains("SegmentList") == true)
        }
    }
}
