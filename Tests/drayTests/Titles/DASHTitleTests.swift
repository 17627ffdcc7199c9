import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// DASH titles as packagers lay them out: pre-fetched from nginx, and played from the edge.
    @Suite(.timeLimit(.minutes(2))) struct DASHTitleTests {
        @Test func titlesArriveWholeAndPlayFromTheEdge() async throws {
            let source = try TemporaryDirectory("dash")
            _ = try await ChildProcess.run(["sh", "-ec", Self.make, source.path])
            let demand = try source.read("demand/v.mp4")
            try source.write(try Self.manifest(ofFile: demand), to: "demand/m.mpd")
            let served = try EdgeTree.files(beneath: source.path)
            let titles = ["number", "time", "list", "single", "demand", "periods"]
            #expect(served.count > 20 && titles.allSatisfy { served.contains("\($0)/m.mpd") })

            let origin = try await NginxServer(root: source.path)
            var frames: [String: String] = [:]
            for title in titles {
                frames[title] = try await Self.frames("\(origin.url)/\(title)/m.mpd")
            }
            #expect(frames.values.allSatisfy { $0 == "150" }, "\(frames)")
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let list = try source.write(
                titles.map { "\(origin.url)/\($0)/m.mpd\n" }.joined(), to: "titles.txt")
            let prefetch = try home.prefetch(list)
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            try await home.expectQuiet()

            // Byte for byte what the origin serves, all of it, and nothing else.
            let site = "\(home.edge)/127.0.0.1:\(origin.port)"
            #expect(try await EdgeTree.checkSums(beneath: site) == served)
            for file in served {
                let ours = FileManager.default.contents(atPath: "\(site)/\(file)")
                #expect(ours == FileManager.default.contents(atPath: source.path(file)), "\(file)")
            }

            // With the origin gone nothing can come from there.
            try await origin.stop()
            let edge = try await NginxServer(root: site)
            for title in titles {
                let manifest = "\(edge.url)/\(title)/m.mpd"
                #expect(try await Self.frames(manifest) == frames[title], "\(title)")
                let player = try ChildProcess([
                    "ffmpeg", "-nostdin", "-v", "error", "-i", manifest, "-f", "null", "-",
                ])
                #expect(try await player.wait() == .exited(0), "\(title): \(player.errors)")
                // ffmpeg requests one segment more than a number template and a duration have.
                if title != "number" {
                    #expect(player.errors.isEmpty, "\(title): \(player.errors)")
                }
            }
        }

        /// A live title that is taken for what it lists has an end at the edge, and begins where its window did.
        @Test func aLiveTitleIsTakenForWhatItLists() async throws {
            let source = try TemporaryDirectory("live")
            _ = try await ChildProcess.run(["sh", "-ec", Self.make, source.path])
            // The last four seconds of six, by time; and all six, by number, by now over.
            _ = try await ChildProcess.run([
                "sed", "-i", "-E",
                "s/type=\"static\"/type=\"dynamic\" availabilityStartTime=\"2020-01-01T00:00:00Z\" "
                    + "minimumUpdatePeriod=\"PT2S\"/; s/mediaPresentationDuration=\"[^\"]*\"//; "
                    + "s/<S t=\"0\" d=\"([0-9]+)\" r=\"2\"/<S t=\"\\1\" d=\"\\1\" r=\"1\"/",
                source.path("time/m.mpd"),
            ])
            _ = try await ChildProcess.run([
                "sed", "-i",
                "s/type=\"static\"/type=\"dynamic\" availabilityStartTime=\"2020-01-01T00:00:00Z\"/",
                source.path("number/m.mpd"),
            ])
            let origin = try await NginxServer(root: source.path)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let list = try source.write(
                "\(origin.url)/time/m.mpd\n\(origin.url)/number/m.mpd\n", to: "titles.txt")
            let refused = try home.prefetch(list)
            #expect(try await refused.wait() == .exited(1))
            #expect(refused.errors.contains("manifest.live"))
            let taken = try home.prefetch(list, ["--live", "snapshot"])
            #expect(try await taken.wait() == .exited(0), "\(taken.errors)")
            try await origin.stop()
            let site = "\(home.edge)/127.0.0.1:\(origin.port)"
            _ = try await EdgeTree.checkSums(beneath: site)
            let edge = try await NginxServer(root: site)
            for (title, frames) in [("time", "100"), ("number", "150")] {
                let manifest = "\(edge.url)/\(title)/m.mpd"
                #expect(try await Self.frames(manifest) == frames, "\(title)")
                let player = try ChildProcess([
                    "ffmpeg", "-nostdin", "-v", "error", "-i", manifest, "-f", "null", "-",
                ])
                #expect(try await player.wait() == .exited(0))
                #expect(player.errors.isEmpty, "\(title): \(player.errors)")
                let duration = try await ChildProcess.run([
                    "ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0",
                    manifest,
                ])
                let seconds = (Double(frames) ?? 0) / 25
                #expect(Double(duration.split(separator: "\n").first ?? "") == seconds)
            }
        }

        /// Six seconds at 25 frames a second, packed in different ways. ffmpeg's player takes the first
        /// number for a place in lists and timelines, so it is 0 there, where it means nothing.
        private static let make = """
            cd "$0"
            pack() {
                mkdir "$1"
                title=$1
                shift
                (cd "$title" && ffmpeg -nostdin -v error -i ../source.mp4 -c copy -f dash \\
                    -seg_duration 2 -adaptation_sets 'id=0,streams=v id=1,streams=a' "$@" m.mpd)
            }
            # A period of the name and length, with the other title's files in a folder of that name.
            period() {
                printf '<Period id="%s" duration="PT%sS">' "$2" "$3"
                sed -n '/<Period/,/<\\/Period>/p' "$1/m.mpd" | sed "1d
                    s/initialization=\\"/&$2\\//;s/media=\\"/&$2\\//;s/sourceURL=\\"/&$2\\//"
            }
            ffmpeg -nostdin -v error -f lavfi -i testsrc2=size=160x90:rate=25:duration=6 \\
                -f lavfi -i sine=duration=5.9 -c:v libx264 -preset ultrafast -g 25 \\
                -keyint_min 25 -sc_threshold 0 -c:a aac source.mp4
            pack number -use_template 1 -use_timeline 0
            # Sound begins before 0, for which the muxer names a file otherwise than in its manifest.
            pack time -use_template 1 -use_timeline 1 -map 0:v -adaptation_sets id=0,streams=v \\
                -media_seg_name 'chunk-$RepresentationID$-$Time%06d$.m4s'
            pack list -use_template 0 -use_timeline 0
            pack single -single_file 1
            sed -i 's/startNumber="1"/startNumber="0"/' time/m.mpd list/m.mpd single/m.mpd
            mkdir demand periods
            ffmpeg -nostdin -v error -i source.mp4 -c copy -map 0:v \\
                -movflags +frag_keyframe+empty_moov+default_base_moof+global_sidx demand/v.mp4
            cp -r time periods/a
            cp -r list periods/b
            rm periods/a/m.mpd periods/b/m.mpd source.mp4
            {
                printf '%s' '<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" minBufferTime="PT1S"' \\
                    ' profiles="urn:mpeg:dash:profile:isoff-live:2011">'
                period time a 6
                period list b 5
                printf '</MPD>'
            } >periods/m.mpd
            """

        /// An on-demand manifest of a file with one index: its boxes locate it.
        private static func manifest(ofFile bytes: [UInt8]) throws -> String {
            var index = 0
            while index + 8 <= bytes.count {
                let length = bytes[index..<(index + 4)].reduce(0) { $0 << 8 | Int($1) }
                if bytes[(index + 4)..<(index + 8)].elementsEqual("sidx".utf8) {
                    return """
                        <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" minBufferTime="PT1S" \
                        mediaPresentationDuration="PT6S" \
                        profiles="urn:mpeg:dash:profile:isoff-on-demand:2011"><Period>
                        <AdaptationSet mimeType="video/mp4"><Representation id="v" bandwidth="300000"
                        codecs="avc1.42c00b"><BaseURL>v.mp4</BaseURL>
                        <SegmentBase indexRange="\(index)-\(index + length - 1)">
                        <Initialization range="0-\(index - 1)"/></SegmentBase></Representation>
                        </AdaptationSet></Period></MPD>
                        """
                }
                index += max(length, 8)
            }
            throw CocoaError(.fileReadCorruptFile)
        }

        /// Of the video, as a player counts them.
        private static func frames(_ manifest: String) async throws -> String {
            let output = try await ChildProcess.run([
                "ffprobe", "-v", "error", "-select_streams", "v:0", "-count_frames",
                "-show_entries", "stream=nb_read_frames", "-of", "csv=p=0", manifest,
            ])
            return output.split(separator: "\n").first.map(String.init) ?? ""
        }
    }
}
