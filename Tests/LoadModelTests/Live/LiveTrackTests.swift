import Model
import Testing

@testable import LoadModel

/// What a loop keeps of long live playlists.
@Suite struct LiveTrackTests {
    /// A playlist of the last `window` segments before number `end`, each with a key of its own if
    /// they are rotated.
    private static func playlist(
        window: Int, end: Int, rotatesKeys: Bool = false, parts: Int = 0
    ) -> [UInt8] {
        var lines = [
            "#EXTM3U", "#EXT-X-VERSION:9", "#EXT-X-TARGETDURATION:4",
            "#EXT-X-MEDIA-SEQUENCE:\(end - window)",
        ]
        if parts > 0 { lines.append("#EXT-X-PART-INF:PART-TARGET=1.0") }
        for number in (end - window)..<end {
            if rotatesKeys {
                lines.append("#EXT-X-KEY:METHOD=AES-128,URI=\"\(number).key\"")
            }
            for part in 0..<parts {
                lines.append("#EXT-X-PART:DURATION=1.0,URI=\"\(number).\(part).ts\"")
            }
            lines += ["#EXTINF:4.0,", "\(number).ts"]
        }
        return Array((lines.joined(separator: "\n") + "\n").utf8)
    }

    private static func track() throws -> LiveTrack {
        let plan = livePlan(.hls)
        let objects = LiveObjects(plan) { _ in 0 }
        let source = try #require(plan.targets[0].live)
        return LiveTitle(source, objects, startEpochSeconds: 0).video[0]
    }

    /// The objects are those of kept segments and parts, and no others.
    private static func hasOnlyItsOwn(_ track: LiveTrack) -> Bool {
        var own: Set<Int32> = []
        for segment in track.segments {
            own.insert(segment.object)
            own.formUnion(segment.parts.map(\.object))
        }
        own.formUnion(track.needObjects.values)
        own.formUnion(track.reloads.map(\.object))
        return Set(track.objects.entries.keys).isSubset(of: own)
    }

    /// A window of an hour, from which each answer takes what is new.
    @Test func aLongWindowIsKeptOnce() throws {
        let track = try Self.track()
        for reload in 0..<100 {
            let end = 5_000 + 20 * reload
            let view = try track.read(
                playlist: Self.playlist(window: 1_000, end: end), epochSeconds: Double(end) * 4)
            #expect(view.numbers.upperBound == Int64(end))
            #expect(track.objects.entries.count <= 2 * LiveTrack.maxSegments)
        }
        #expect(Self.hasOnlyItsOwn(track))
        #expect(track.end == 6_980 && track[6_979]?.isWhole == true)
    }

    @Test func partsOfSegmentsThatAreNotKeptLeaveNothing() throws {
        let track = try Self.track()
        for end in 1_000..<1_030 {
            _ = try track.read(
                playlist: Self.playlist(window: 300, end: end, parts: 4),
                epochSeconds: Double(end) * 4)
        }
        #expect(track.first == 1_000 - 128)
        #expect(Self.hasOnlyItsOwn(track))
        #expect(track.objects.entries.count <= 5 * track.segments.count)
    }

    /// A packager that starts again at an earlier number.
    @Test func aPlaylistThatGoesBackLeavesNothing() throws {
        let track = try Self.track()
        _ = try track.read(playlist: Self.playlist(window: 6, end: 500), epochSeconds: 2_000)
        for end in 6..<40 {
            _ = try track.read(
                playlist: Self.playlist(window: 6, end: end), epochSeconds: 2_000 + Double(end))
        }
        #expect(track.objects.entries.count == 6)
    }

    /// Keys that change with each segment: those of kept segments remain.
    @Test func rotatedKeysAreBounded() throws {
        let track = try Self.track()
        for reload in 0..<40 {
            let end = 5_000 + 50 * reload
            _ = try track.read(
                playlist: Self.playlist(window: 400, end: end, rotatesKeys: true),
                epochSeconds: Double(end) * 4)
            #expect(track.needObjects.count <= 1_000 + 400)
        }
        #expect(Self.hasOnlyItsOwn(track))
        for segment in track.segments.suffix(100) {
            #expect(segment.needs.allSatisfy { track.objects.entries[$0] != nil })
            #expect(!segment.needs.isEmpty)
        }
    }
}
