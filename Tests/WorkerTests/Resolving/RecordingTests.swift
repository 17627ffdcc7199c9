import API
import CoordinatorClient
import Foundation
import Model
import TestSupport
import Testing

@testable import Worker

/// Live titles that are recorded to their end.
@Suite("Recordings", .timeLimit(.minutes(3)))
struct RecordingTests {
    static func submit(
        _ path: String, _ cluster: Cluster, until: Double? = nil
    ) async throws -> CatalogID {
        var catalog = CatalogSubmission(name: "live", storageURL: "file://\(cluster.edge.path)")
        catalog.titles = TitleOptions()
        catalog.titles?.records = true
        catalog.titles?.recordsUntilSeconds = until
        let handle = try await cluster.client.openCatalog(catalog)
        try await cluster.client.submit(
            AssetBatch(generation: handle.generation, assets: [try cluster.title(path)]),
            to: handle.id)
        try await cluster.client.start(
            handle.id, CatalogStartRequest(generation: handle.generation))
        return handle.id
    }

    static func record(
        _ path: String, _ cluster: Cluster, until: Double? = nil
    ) async throws -> AssetStatus {
        let ended = try await cluster.end(of: try await submit(path, cluster, until: until))
        return try #require(ended[path])
    }

    static func text(_ path: String, _ cluster: Cluster) -> String {
        String(decoding: cluster.stored(path) ?? [], as: UTF8.self)
    }

    /// The messages of all events of a kind, as readers of the events see them.
    static func messages(_ cluster: Cluster, _ kind: String) async throws -> [String] {
        var query = EventQuery()
        query.kinds = [kind]
        return try await cluster.client.eventPage(query, after: nil).events.compactMap(\.message)
    }

    @Test("a sliding window becomes a whole playlist")
    func slidingWindow() async throws {
        try await Cluster.with { cluster in
            LivePlaylist().serve("/t/live.m3u8", at: cluster.origin)
            let asset = try await Self.record("/t/live.m3u8", cluster)
            #expect(asset.state == .completed, "\(asset)")
            #expect(
                Self.text("/t/live.m3u8", cluster) == """
                    #EXTM3U
                    #EXT-X-VERSION:3
                    #EXT-X-TARGETDURATION:1
                    #EXT-X-MEDIA-SEQUENCE:100
                    #EXT-X-PLAYLIST-TYPE:VOD

                    """ + (100..<108).map { "#EXTINF:1.0,\ns\($0).ts\n" }.joined()
                    + "#EXT-X-ENDLIST\n")
            for number in 100..<108 {
                #expect(Self.text("/t/s\(number).ts", cluster) == "segment \(number)")
                #expect(cluster.origin.count("/t/s\(number).ts") == 1)
            }
            #expect(asset.recording?.segments == 8)
            #expect(asset.recording?.gaps == 0)
            #expect(asset.recording?.end == .ended)
            #expect(asset.segments == 9 && asset.segmentsDone == 9)
        }
    }

    @Test("what is missing is named as a gap, and the title is complete")
    func gaps() async throws {
        try await Cluster.with { cluster in
            var playlist = LivePlaylist()
            // The second reload comes too late for segments 103 and 104.
            playlist.published = { $0 == 1 ? 3 : $0 + 6 }
            playlist.count = 10
            playlist.lines = { number in
                (number == 106 ? "#EXT-X-GAP\n" : "") + "#EXTINF:1.0,\ns\(number).ts\n"
            }
            playlist.serve("/t/live.m3u8", at: cluster.origin)
            cluster.origin.route("/t/s107.ts", .init(404))
            let asset = try await Self.record("/t/live.m3u8", cluster)
            #expect(asset.state == .completed, "\(asset)")
            let text = Self.text("/t/live.m3u8", cluster)
            let segments = text.components(separatedBy: "#EXTINF:1").dropFirst().map { $0 }
            #expect(segments.count == 10, "\(text)")
            #expect(text.contains("#EXTINF:1,\n#EXT-X-GAP\nmissed-103\n"), "\(text)")
            #expect(text.contains("#EXTINF:1,\n#EXT-X-GAP\nmissed-104\n"))
            #expect(text.contains("#EXT-X-GAP\ns106.ts\n"))
            #expect(text.contains("#EXT-X-GAP\ns107.ts\n"))
            #expect(text.components(separatedBy: "#EXT-X-GAP").count == 5)
            #expect(cluster.stored("/t/s106.ts") == nil && cluster.stored("/t/s107.ts") == nil)
            #expect(Self.text("/t/s108.ts", cluster) == "segment 108")
            #expect(asset.recording?.gaps == 4, "\(asset)")
            #expect(asset.segments == asset.segmentsDone && asset.failure == nil)
            let messages = try await Self.messages(cluster, "asset.gap")
            #expect(messages.count == 3, "\(messages)")
            #expect(messages.contains { $0.contains("Segments 103 to 104 of ") })
            #expect(messages.contains { $0.contains("segment 106") && $0.contains("EXT-X-GAP") })
            #expect(messages.contains { $0.contains("Segment 107") && $0.contains("s107.ts") })
        }
    }

    @Test("names that the origin uses again do not replace each other")
    func ringBuffer() async throws {
        try await Cluster.with { cluster in
            var playlist = LivePlaylist()
            playlist.window = 2
            playlist.published = { $0 + 1 }
            playlist.lines = { "#EXTINF:1.0,\nring\($0 % 3).ts\n" }
            playlist.serve("/t/live.m3u8", at: cluster.origin, segments: false)
            for slot in 0..<3 {
                // Segments 100 to 107 in turn: the first of slot 1 is 100.
                let numbers = (100..<108).filter { $0 % 3 == slot }
                cluster.origin.route(
                    "/t/ring\(slot).ts", inTurn: numbers.map { .init(text: "segment \($0)") })
            }
            let asset = try await Self.record("/t/live.m3u8", cluster)
            #expect(asset.state == .completed, "\(asset)")
            let names = Self.text("/t/live.m3u8", cluster).split(separator: "\n")
                .filter { !$0.hasPrefix("#") }
            #expect(names.count == 8 && Set(names).count == 8, "\(names)")
            #expect(
                names.map { Self.text("/t/\($0)", cluster) } == (100..<108).map { "segment \($0)" })
        }
    }

    @Test("byte ranges of a file that grows are files of their own")
    func byteRanges() async throws {
        try await Cluster.with { cluster in
            let shown = PublishedCount(0)
            var playlist = LivePlaylist()
            playlist.header = "#EXT-X-VERSION:4\n"
            playlist.beginning = { _ in "#EXT-X-MAP:URI=\"all.mp4\",BYTERANGE=\"4@0\"\n" }
            // Segment 100 has bytes 4 to 14 of the file.
            playlist.lines = { number in
                let name = number == 105 ? "other.mp4" : "all.mp4"
                return "#EXTINF:1.0,\n#EXT-X-BYTERANGE:11@\(4 + (number - 100) * 11)\n\(name)\n"
            }
            playlist.serve("/t/live.m3u8", at: cluster.origin, segments: false)
            let served = playlist
            cluster.origin.route("/t/live.m3u8") { request in
                shown.value = min(served.published(request.number), served.count)
                return .init(text: served.text(request.number))
            }
            cluster.origin.route("/t/all.mp4") { request in
                let text = (0..<shown.value).map { "segment \(100 + $0)" }.joined()
                return request.serve(Array("init\(text)".utf8), etag: "\"v\(shown.value)\"")
            }
            // It serves no ranges.
            cluster.origin.route("/t/other.mp4", .init(text: "the whole file"))
            let asset = try await Self.record("/t/live.m3u8", cluster)
            #expect(asset.state == .completed, "\(asset)")
            #expect(asset.recording?.segments == 8 && asset.recording?.gaps == 1, "\(asset)")
            let text = Self.text("/t/live.m3u8", cluster)
            #expect(!text.contains("BYTERANGE"), "\(text)")
            #expect(text.contains("#EXT-X-MAP:URI=\"all~b0-3.mp4\"\n"))
            #expect(Self.text("/t/all~b0-3.mp4", cluster) == "init")
            let names = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
            #expect(names.count == 8 && text.contains("#EXT-X-GAP\n\(names[5])\n"), "\(text)")
            for (name, number) in zip(names, 100..<108) where number != 105 {
                #expect(Self.text("/t/\(name)", cluster) == "segment \(number)")
            }
            #expect(cluster.stored("/t/all.mp4") == nil && cluster.stored("/t/other.mp4") == nil)
            let gaps = try await cluster.execute(
                "SELECT code FROM event WHERE kind = 'asset.gap'")
            #expect(gaps == "origin.rangeIgnored\n", "\(gaps)")
        }
    }

    @Test("renditions, keys and initialization sections are stored beside the segments")
    func renditions() async throws {
        try await Cluster.with { cluster in
            cluster.origin.route(
                "/t/main.m3u8",
                .init(
                    text: """
                        #EXTM3U
                        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="en",URI="audio/live.m3u8"
                        #EXT-X-STREAM-INF:BANDWIDTH=1000,AUDIO="a"
                        video/live.m3u8
                        #EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=100,URI="video/frames.m3u8"

                        """))
            var video = LivePlaylist()
            // An encoder that starts again: another initialization section of the same name.
            let setup = "#EXT-X-KEY:METHOD=AES-128,URI=\"/keys/1\"\n#EXT-X-MAP:URI=\"init.mp4\"\n"
            video.beginning = { _ in setup }
            video.lines = { number in
                (number == 104 ? "#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"init.mp4\"\n" : "")
                    + "#EXTINF:1.0,\ns\(number).ts\n"
            }
            video.serve("/t/video/live.m3u8", at: cluster.origin)
            cluster.origin.route("/keys/1", .init(text: "0123456789abcdef"))
            cluster.origin.route(
                "/t/video/init.mp4", inTurn: [.init(text: "first"), .init(text: "second")])
            var audio = LivePlaylist()
            audio.first = 7
            audio.serve("/t/audio/live.m3u8", at: cluster.origin)
            let asset = try await Self.record("/t/main.m3u8", cluster)
            #expect(asset.state == .completed, "\(asset)")
            let main = Self.text("/t/main.m3u8", cluster)
            #expect(main.contains("video/live.m3u8") && main.contains("audio/live.m3u8"))
            #expect(!main.contains("I-FRAME"))
            let text = Self.text("/t/video/live.m3u8", cluster)
            #expect(text.components(separatedBy: "#EXT-X-MAP").count == 3, "\(text)")
            #expect(text.contains("#EXT-X-MAP:URI=\"init~d1.mp4\""))
            #expect(text.contains("URI=\"../../keys/1\""))
            #expect(Self.text("/t/video/init.mp4", cluster) == "first")
            #expect(Self.text("/t/video/init~d1.mp4", cluster) == "second")
            #expect(cluster.stored("/keys/1") != nil)
            for number in 7..<15 {
                #expect(Self.text("/t/audio/s\(number).ts", cluster) == "segment \(number)")
            }
            #expect(asset.recording?.segments == 16)
            // The manifest was read once: its media playlists are reloaded.
            #expect(cluster.origin.count("/t/main.m3u8") == 1)
        }
    }

    @Test("a title that has ended already is stored with its I-frame playlist")
    func endedTitle() async throws {
        try await Cluster.with { cluster in
            let manifest = """
                #EXTM3U
                #EXT-X-STREAM-INF:BANDWIDTH=1000
                video.m3u8
                #EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=100,URI="frames.m3u8"

                """
            let head = "#EXTM3U\n#EXT-X-VERSION:4\n#EXT-X-TARGETDURATION:1\n"
            let video = head + "#EXTINF:1.0,\ns1.ts\n#EXT-X-ENDLIST\n"
            let frames =
                head + "#EXT-X-I-FRAMES-ONLY\n#EXTINF:1.0,\n#EXT-X-BYTERANGE:4@0\ns1.ts\n"
                + "#EXT-X-ENDLIST\n"
            cluster.origin.route("/t/main.m3u8", .init(text: manifest))
            cluster.origin.route("/t/video.m3u8", .init(text: video))
            // It ends a little later than the media playlist.
            let late = frames.replacingOccurrences(of: "#EXT-X-ENDLIST\n", with: "")
            cluster.origin.route(
                "/t/frames.m3u8", inTurn: [.init(text: late), .init(text: frames)])
            cluster.origin.route("/t/s1.ts", .init(text: "segment 1"))
            let asset = try await Self.record("/t/main.m3u8", cluster)
            #expect(asset.state == .completed, "\(asset)")
            #expect(asset.recording == nil)
            #expect(Self.text("/t/main.m3u8", cluster) == manifest)
            #expect(Self.text("/t/video.m3u8", cluster) == video)
            #expect(Self.text("/t/frames.m3u8", cluster) == frames)
            #expect(Self.text("/t/s1.ts", cluster) == "segment 1")
        }
    }

    @Test("a recording ends at its time")
    func until() async throws {
        try await Cluster.with { cluster in
            var playlist = LivePlaylist()
            playlist.ends = false
            playlist.count = 1_000
            playlist.published = { min($0 + 2, 900) }
            playlist.serve("/t/live.m3u8", at: cluster.origin)
            let asset = try await Self.record(
                "/t/live.m3u8", cluster, until: Date().timeIntervalSince1970 + 4)
            #expect(asset.state == .completed, "\(asset)")
            #expect(asset.recording?.end == .until)
            let count = try #require(asset.recording?.segments)
            #expect((4...12).contains(count), "\(count)")
            let text = Self.text("/t/live.m3u8", cluster)
            #expect(text.components(separatedBy: "#EXTINF").count == count + 1)
            #expect(text.hasSuffix("s\(100 + count - 1).ts\n#EXT-X-ENDLIST\n"))
        }
    }

    @Test("what was recorded of a title that is gone is kept")
    func gone() async throws {
        try await Cluster.with { cluster in
            let playlist = LivePlaylist()
            playlist.serve("/t/live.m3u8", at: cluster.origin)
            cluster.origin.route("/t/live.m3u8") { request in
                request.number < 3 ? .init(text: playlist.text(request.number)) : .init(404)
            }
            let asset = try await Self.record("/t/live.m3u8", cluster)
            #expect(asset.state == .completed, "\(asset)")
            #expect(asset.recording?.end == .gone)
            #expect(asset.recording?.segments == 4)
            let end = try await Self.messages(cluster, "asset.recorded")
            #expect(end.count == 1 && end[0].contains("could no longer be read"), "\(end)")
        }
    }

    /// The reloads stop with the pause; what left the window meanwhile is a gap.
    @Test("a recording continues after a pause, and after it was cancelled")
    func pauseAndCancel() async throws {
        try await Cluster.with { cluster in
            let shown = PublishedCount(3)
            var playlist = LivePlaylist()
            playlist.count = 12
            playlist.published = { _ in shown.value }
            playlist.serve("/t/live.m3u8", at: cluster.origin)
            let catalog = try await Self.submit("/t/live.m3u8", cluster)
            func recorded(_ count: Int) async throws {
                try await waitUntil(deadlineSeconds: 30, "\(count) segments") {
                    let assets = try await cluster.client.assets(of: catalog).assets
                    return assets.first?.recording?.segments == count
                }
            }
            func act(_ action: SelectionAction.Action) async throws {
                _ = try await cluster.client.apply(
                    SelectionAction(action, catalog: CatalogReference(catalog)))
            }
            try await recorded(3)
            try await act(.pause)
            try await waitUntil(deadlineSeconds: 30, "the next reload among paused jobs") {
                try await cluster.execute(
                    """
                    SELECT count(*) FROM job JOIN lane ON lane.id = job.lane_id
                    WHERE kind = 'resolve' AND own_priority = -2
                    """
                ).hasPrefix("1")
            }
            shown.value = 8
            try await act(.resume)
            try await recorded(6)
            try await act(.cancel)
            let cancelled = try #require(try await cluster.end(of: catalog)["/t/live.m3u8"])
            #expect(cancelled.state == .cancelled)
            shown.value = 11
            try await act(.retry)
            try await recorded(9)
            shown.value = 12
            let asset = try #require(try await cluster.end(of: catalog)["/t/live.m3u8"])
            #expect(asset.state == .completed, "\(asset)")
            #expect(asset.recording?.segments == 10 && asset.recording?.gaps == 2, "\(asset)")
            #expect(asset.segments == 11 && asset.segmentsDone == 11)
            let text = Self.text("/t/live.m3u8", cluster)
            #expect(text.contains("missed-103\n") && text.contains("missed-104\n"), "\(text)")
            #expect(text.components(separatedBy: "#EXTINF").count == 13)
            for number in 105..<112 {
                #expect(Self.text("/t/s\(number).ts", cluster) == "segment \(number)")
            }
        }
    }
}
