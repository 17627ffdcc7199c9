import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// Titles in the folders and manifests of several packagers: pre-fetched from nginx, and played from the
    /// edge alone. Bento4 and Shaka Packager write HLS and DASH over the same files.
    @Suite(.timeLimit(.minutes(2))) struct PackagerTitleTests {
        /// With how many streams of sound each is played.
        private static let titles = [
            "apple/m.m3u8": 2, "ts/m.m3u8": 1, "ranges/m.m3u8": 1, "aes/m.m3u8": 1,
            "bento/m.m3u8": 2, "bento/m.mpd": 2, "shaka/m.m3u8": 2, "shaka/m.mpd": 2,
            "gpac/m.mpd": 1,
        ]

        @Test func titlesOfPackagersArriveWholeAndPlay() async throws {
            let source = try TemporaryDirectory("packagers")
            _ = try await ChildProcess.run(["sh", "-ec", Self.make, source.path])
            try Self.writeShaka(source)
            let served = try EdgeTree.files(beneath: source.path)
            let origin = try await NginxServer(root: source.path)
            try await Self.inspectShaka("\(origin.url)/shaka", source)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let list = try source.write(
                Self.titles.keys.sorted().map { "\(origin.url)/\($0)\n" }.joined(), to: "list.txt")
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
            for (title, sounds) in Self.titles {
                let manifest = "\(edge.url)/\(title)"
                let streams = try await Self.streams(manifest)
                let pictures = streams.filter { $0.contains(",video,") }
                #expect(
                    !pictures.isEmpty && pictures.allSatisfy { $0.hasSuffix(",150") }, "\(title)")
                #expect(streams.count { $0.contains(",audio,") } == sounds, "\(title): \(streams)")
                let player = try ChildProcess([
                    "ffmpeg", "-nostdin", "-v", "error", "-i", manifest, "-map", "0", "-f", "null",
                    "-",
                ])
                #expect(try await player.wait() == .exited(0), "\(title): \(player.errors)")
                #expect(player.errors.isEmpty, "\(title): \(player.errors)")
            }
        }

        /// Number, kind and frames of each stream.
        private static func streams(_ manifest: String) async throws -> Set<String> {
            let output = try await ChildProcess.run([
                "ffprobe", "-v", "error", "-count_frames", "-show_entries",
                "stream=index,codec_type,nb_read_frames", "-of", "csv=p=0", manifest,
            ])
            // A program's streams are listed twice.
            return Set(output.split(separator: "\n").map(String.init))
        }

        /// Six seconds at 25 frames a second.
        private static let make = """
            cd "$0"
            source=$PWD/source.mp4
            ffmpeg -nostdin -v error -f lavfi -i testsrc2=size=160x90:rate=25:duration=6 \\
                -f lavfi -i sine=440:duration=6 -f lavfi -i sine=880:duration=6 -map 0 -map 1 -map 2 \\
                -c:v libx264 -preset ultrafast -g 50 -keyint_min 50 -sc_threshold 0 -c:a aac "$source"
            hls() {
                mkdir -p "$1"
                (cd "$1" && shift && ffmpeg -nostdin -v error -i "$source" -c copy -f hls \\
                    -hls_time 2 -hls_playlist_type vod "$@")
            }
            # Apple's tools: a folder a bit rate, and pictures to seek by within its segments.
            for gear in 1 2; do
                hls apple/gear$gear -map 0:v -map 0:a:0 -hls_segment_filename fileSequence%d.ts \\
                    prog_index.m3u8
            done
            {
                printf '#EXTM3U\\n#EXT-X-TARGETDURATION:2\\n#EXT-X-VERSION:4\\n#EXT-X-I-FRAMES-ONLY\\n'
                for n in 0 1 2; do
                    printf '#EXTINF:2,\\n#EXT-X-BYTERANGE:1880@376\\nfileSequence%s.ts\\n' $n
                done
                echo '#EXT-X-ENDLIST'
            } >apple/gear1/iframe_index.m3u8
            cat >apple/m.m3u8 <<'END'
            #EXTM3U
            #EXT-X-STREAM-INF:BANDWIDTH=200000,CODECS="avc1.42c00b,mp4a.40.2",RESOLUTION=160x90
            gear1/prog_index.m3u8
            #EXT-X-STREAM-INF:BANDWIDTH=400000,CODECS="avc1.42c00b,mp4a.40.2",RESOLUTION=160x90
            gear2/prog_index.m3u8
            #EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=20000,CODECS="avc1.42c00b",URI="gear1/iframe_index.m3u8"
            END
            # Byte ranges of one file.
            hls ts -map 0:v -map 0:a:0 -hls_flags single_file m.m3u8
            hls ranges -map 0:v -map 0:a:0 -hls_segment_type fmp4 -hls_flags single_file m.m3u8
            mkdir aes
            printf 0123456789abcdef >aes/title.key
            printf 'title.key\\n%s\\n' "$PWD/aes/title.key" >keys
            hls aes -map 0:v -map 0:a:0 -hls_key_info_file "$PWD/keys" m.m3u8
            # Bento4: a folder a track.
            fragments() {
                hls "$@" -hls_segment_type fmp4 -hls_fmp4_init_filename init.mp4 \\
                    -hls_segment_filename seg-%d.m4s stream.m3u8
            }
            fragments bento/video/avc1/1 -map 0:v
            fragments bento/audio/en/mp4a.40.2 -map 0:a:0
            fragments bento/audio/de/mp4a.40.2 -map 0:a:1
            mkdir -p bento/subtitles/en
            printf 'WEBVTT\\n\\n00:00.000 --> 00:02.000\\nOne\\n' >bento/subtitles/en/subtitles.vtt
            printf '%s\\n' '#EXTM3U' '#EXT-X-TARGETDURATION:6' '#EXTINF:6,' subtitles.vtt \\
                '#EXT-X-ENDLIST' >bento/subtitles/en/subtitles.m3u8
            cat >bento/m.m3u8 <<'END'
            #EXTM3U
            #EXT-X-VERSION:6

            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",LANGUAGE="en",NAME="English",AUTOSELECT=YES,DEFAULT=YES,URI="audio/en/mp4a.40.2/stream.m3u8"
            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",LANGUAGE="de",NAME="German",AUTOSELECT=YES,URI="audio/de/mp4a.40.2/stream.m3u8"
            #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="subtitles",LANGUAGE="en",NAME="English",URI="subtitles/en/subtitles.m3u8"

            #EXT-X-STREAM-INF:BANDWIDTH=300000,CODECS="avc1.42C00B,mp4a.40.2",AUDIO="audio",SUBTITLES="subtitles"
            video/avc1/1/stream.m3u8
            END
            mpd() {
                printf '%s\\n' '<?xml version="1.0" ?>' '<MPD xmlns="urn:mpeg:dash:schema:mpd:2011"' \\
                    ' mediaPresentationDuration="PT6.000S" minBufferTime="PT2.00S" type="static"' \\
                    ' profiles="urn:mpeg:dash:profile:isoff-live:2011"><Period>' "$@" '</Period></MPD>'
            }
            track() {
                printf '<AdaptationSet mimeType="%s" segmentAlignment="true" startWithSAP="1" %s>' "$1" "$2"
                printf '<SegmentTemplate timescale="1000" startNumber="0" %s><SegmentTimeline><S %s/>' \\
                    'initialization="$RepresentationID$/init.mp4" media="$RepresentationID$/seg-$Number$.m4s"' \\
                    't="0" d="2000" r="2"'
                printf '</SegmentTimeline></SegmentTemplate>'
                printf '<Representation id="%s" bandwidth="9000" codecs="%s"/></AdaptationSet>' "$3" "$4"
            }
            mpd "$(track video/mp4 'maxHeight="90"' video/avc1/1 avc1.42C00B)" \\
                "$(track audio/mp4 'lang="en"' audio/en/mp4a.40.2 mp4a.40.2)" \\
                "$(track audio/mp4 'lang="de"' audio/de/mp4a.40.2 mp4a.40.2)" >bento/m.mpd
            # GPAC: all segments in the manifest's folder, their template at the set.
            hls gpac -map 0:v -hls_segment_type fmp4 -hls_fmp4_init_filename m_dash_track1_init.mp4 \\
                -start_number 1 -hls_segment_filename m_dash_track1_%d.m4s m.m3u8
            hls gpac -map 0:a:0 -hls_segment_type fmp4 -hls_fmp4_init_filename m_dash_track2_init.mp4 \\
                -start_number 1 -hls_segment_filename m_dash_track2_%d.m4s m.m3u8
            group() {
                printf '<AdaptationSet segmentAlignment="true" lang="und"><SegmentTemplate %s %s>%s%s' \\
                    "initialization=\\"m_dash_track$1_init.mp4\\" media=\\"m_dash_track$1_\\$Number\\$.m4s\\"" \\
                    'timescale="1000" startNumber="1"' "<SegmentTimeline><S t=\\"0\\" d=\\"2000\\" r=\\"2\\"/>" \\
                    "</SegmentTimeline></SegmentTemplate><Representation id=\\"$1\\" mimeType=\\"$2\\""
                printf ' bandwidth="9000"/></AdaptationSet>'
            }
            mpd "$(group 1 video/mp4)" "$(group 2 audio/mp4)" >gpac/m.mpd
            rm gpac/m.m3u8
            # Shaka Packager: a file a track, with an index.
            mkdir shaka
            for track in v:0.h264_90p a:0.audio_en a:1.audio_de; do
                ffmpeg -nostdin -v error -i "$source" -c copy -map "0:${track%.*}" -movflags \\
                    +frag_keyframe+empty_moov+default_base_moof+global_sidx -frag_duration 2000000 \\
                    "shaka/${track#*.}.mp4"
            done
            # What no manifest names: the last of the sound.
            rm keys "$source" gpac/m_dash_track2_4.m4s
            """

        // MARK: Files with an index

        /// The boxes of a file: its index, and its parts with their milliseconds.
        private struct Index {
            var range = 0..<0
            var parts: [(offset: Int, length: Int, milliseconds: Int)] = []

            init(of bytes: [UInt8]) throws {
                func number(_ index: Int, _ count: Int) -> Int {
                    bytes[index..<(index + count)].reduce(0) { $0 << 8 | Int($1) }
                }
                var index = 0
                while !bytes[(index + 4)..<(index + 8)].elementsEqual("sidx".utf8) {
                    index += max(number(index, 4), 8)
                    guard index + 40 < bytes.count else { throw CocoaError(.fileReadCorruptFile) }
                }
                range = index..<(index + number(index, 4))
                let wide = number(index + 8, 1) == 0 ? 4 : 8
                let timescale = number(index + 16, 4)
                let head = index + 20 + 2 * wide
                var offset = range.upperBound + number(index + 20 + wide, wide)
                for part in 0..<number(head + 2, 2) {
                    let length = number(head + 4 + 12 * part, 4)
                    let milliseconds = number(head + 8 + 12 * part, 4) * 1_000 / timescale
                    parts.append((offset, length, milliseconds))
                    offset += length
                }
            }
        }

        /// What `dray inspect` lists of files with an index: their parts, as the index has them.
        private static func inspectShaka(_ folder: String, _ source: TemporaryDirectory)
            async throws
        {
            let process = try DrayProcess.start([
                "inspect", "\(folder)/m.mpd", "--segments", "--json",
            ])
            #expect(try await process.wait() == .exited(0), "\(process.errors)")
            let report = try #require(
                JSONSerialization.jsonObject(with: Data(process.output.utf8)) as? [String: Any])
            let segments = try #require(report["segments"] as? [[String: Any]])
            for name in ["h264_90p", "audio_en", "audio_de"] {
                let parts = segments.filter {
                    $0["url"] as? String == "\(folder)/\(name).mp4"
                        && $0["role"] as? String == "media"
                }
                let index = try Index(of: try source.read("shaka/\(name).mp4"))
                #expect(index.parts.count > 1)
                #expect(parts.map { $0["offset"] as? Int } == index.parts.map(\.offset))
                #expect(parts.map { $0["length"] as? Int } == index.parts.map(\.length))
            }
        }

        /// The manifests of Shaka Packager's on-demand profile.
        private static func writeShaka(_ source: TemporaryDirectory) throws {
            var sets = ""
            for (name, type) in [
                ("h264_90p", "video/mp4"), ("audio_en", "audio/mp4"), ("audio_de", "audio/mp4"),
            ] {
                let index = try Index(of: try source.read("shaka/\(name).mp4"))
                let head = index.range.lowerBound
                var playlist = "#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-TARGETDURATION:3\n"
                playlist += "#EXT-X-PLAYLIST-TYPE:VOD\n"
                playlist += "#EXT-X-MAP:URI=\"\(name).mp4\",BYTERANGE=\"\(head)@0\"\n"
                for (number, part) in index.parts.enumerated() {
                    playlist += "#EXTINF:\(Double(part.milliseconds) / 1_000),\n"
                    // Those that follow one another say so by having no offset.
                    let offset = number == 0 ? "@\(part.offset)" : ""
                    playlist += "#EXT-X-BYTERANGE:\(part.length)\(offset)\n\(name).mp4\n"
                }
                try source.write(playlist + "#EXT-X-ENDLIST\n", to: "shaka/\(name).m3u8")
                sets += """
                    <AdaptationSet mimeType="\(type)" subsegmentAlignment="true" \
                    lang="\(name.suffix(2))"><Representation id="\(name)" bandwidth="9000"><BaseURL>\
                    \(name).mp4</BaseURL><SegmentBase indexRange="\(index.range.lowerBound)-\
                    \(index.range.upperBound - 1)"><Initialization range="0-\(head - 1)"/></SegmentBase>
                    </Representation></AdaptationSet>
                    """
            }
            try source.write(
                """
                <?xml version="1.0" encoding="UTF-8"?>
                <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" minBufferTime="PT2S"
                profiles="urn:mpeg:dash:profile:isoff-on-demand:2011" mediaPresentationDuration="PT6S">
                <Period id="0">\(sets)</Period></MPD>
                """, to: "shaka/m.mpd")
            try source.write(
                """
                #EXTM3U
                #EXT-X-MEDIA:TYPE=AUDIO,URI="audio_en.m3u8",GROUP-ID="audio",LANGUAGE="en",NAME="e",DEFAULT=YES
                #EXT-X-MEDIA:TYPE=AUDIO,URI="audio_de.m3u8",GROUP-ID="audio",LANGUAGE="de",NAME="d"
                #EXT-X-STREAM-INF:BANDWIDTH=200000,CODECS="avc1.42c00b,mp4a.40.2",AUDIO="audio"
                h264_90p.m3u8

                """, to: "shaka/m.m3u8")
        }
    }
}
