import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// Titles of which a part is wanted, or whose playlists cannot lie at the edge as they are served:
    /// pre-fetched from nginx, and played from the edge alone.
    @Suite(.timeLimit(.minutes(2))) struct TrackTests {
        private static let title = "titles/clockwork"

        /// The example's origin, its playlists changed by a sed script.
        private static func origin(_ script: String) async throws -> (
            TemporaryDirectory, NginxServer
        ) {
            let source = try TemporaryDirectory("tracks")
            _ = try await ChildProcess.run([
                "cp", "-r", "\(SourceTree.path("examples/origin"))/.", source.path,
            ])
            let origin = try await NginxServer(root: source.path)
            _ = try await ChildProcess.run([
                "sh", "-ec",
                "find \"$0\" -name '*.m3u8' -exec sed -i \"$1\" {} +", source.path,
                script.replacingOccurrences(of: "ORIGIN", with: origin.url),
            ])
            return (source, origin)
        }

        private static func play(_ manifest: String) async throws -> ChildProcess {
            let player = try ChildProcess([
                "ffmpeg", "-nostdin", "-v", "error", "-i", manifest, "-map", "0", "-f", "null", "-",
            ])
            #expect(try await player.wait() == .exited(0), "\(player.errors)")
            #expect(player.errors.isEmpty, "\(player.errors)")
            return player
        }

        @Test func aChoiceIsAllThatIsFetchedAndPlays() async throws {
            let (source, origin) = try await Self.origin("")
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let url = "\(origin.url)/\(Self.title)/master.m3u8"
            let prefetch = try home.prefetch(
                url, ["--name", "t", "--max-height", "200", "--audio", "en", "--subtitles", "none"])
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            let site = "\(home.edge)/127.0.0.1:\(origin.port)"
            let files = try EdgeTree.files(beneath: "\(site)/\(Self.title)")
            #expect(
                files.contains("video/180p/playlist.m3u8") && files.contains("audio/en/init.mp4"))
            #expect(!files.contains { $0.hasPrefix("video/360p") || $0.hasPrefix("subtitles") })
            #expect(
                try await EdgeTree.checkSums(beneath: site)
                    == Set(
                        files.filter { !$0.hasSuffix("SHA256SUMS") }.map { "\(Self.title)/\($0)" }))

            // Another selection adds the missing files, with no further requests than necessary.
            let more = try home.prefetch(url, ["--name", "t", "--max-height", "200"])
            #expect(try await more.wait() == .exited(0), "\(more.errors)")
            #expect(
                try EdgeTree.files(beneath: "\(site)/\(Self.title)").contains(
                    "subtitles/de/playlist.m3u8"))

            let none = try home.prefetch(url, ["--name", "t", "--audio", "fr"])
            #expect(try await none.wait() == .exited(1))
            #expect(none.errors.contains("manifest.noTrack") && none.errors.contains("en"))

            try await origin.stop()
            let edge = try await NginxServer(root: site)
            _ = try await Self.play("\(edge.url)/\(Self.title)/master.m3u8")
            withExtendedLifetime(source) {}
        }

        @Test func aTitleThatMayLackARenditionPlaysWithoutIt() async throws {
            let (source, origin) = try await Self.origin("")
            let lost = source.path("\(Self.title)/video/360p/segment-001.m4s")
            _ = try await ChildProcess.run(["mv", lost, "\(lost).away"])
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let url = "\(origin.url)/\(Self.title)/master.m3u8"
            let needed = try home.prefetch(url, ["--name", "t"])
            #expect(try await needed.wait() == .exited(1))
            #expect(needed.errors.contains("origin.http.404"))
            #expect(needed.errors.contains("add --may-lack video,"), "\(needed.errors)")

            let prefetch = try home.prefetch(url, ["--name", "t", "--may-lack", "video"])
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            let summary = prefetch.output + prefetch.errors
            #expect(
                summary.contains("without video") && summary.contains("segment-001"), "\(summary)")
            let site = "\(home.edge)/127.0.0.1:\(origin.port)"
            let master = try String(
                contentsOfFile: "\(site)/\(Self.title)/master.m3u8", encoding: .utf8)
            #expect(master.contains("video/180p") && !master.contains("video/360p"))
            #expect(try await home.run(["report", "--by", "code"]).contains("Rendition"))

            let still = try await home.run(["refresh", "t"])
            #expect(still.contains("1 title without renditions"), "\(still)")
            #expect(still.contains("without video") && still.contains("segment-001"), "\(still)")
            _ = try await ChildProcess.run(["mv", "\(lost).away", lost])
            #expect(try await !home.run(["refresh", "t"]).contains("without"))
            #expect(
                try EdgeTree.files(beneath: "\(site)/\(Self.title)").contains(
                    "video/360p/segment-001.m4s"))
            try await origin.stop()
            let edge = try await NginxServer(root: site)
            _ = try await Self.play("\(edge.url)/\(Self.title)/master.m3u8")
            withExtendedLifetime(source) {}
        }

        @Test func playlistsAreWrittenForTheEdge() async throws {
            // Whole URLs and paths from the root.
            let (source, origin) = try await Self.origin(
                "s,^video/,/titles/clockwork/video/,;"
                    + "s,URI=\"audio,URI=\"ORIGIN/titles/clockwork/audio,")
            _ = try await ChildProcess.run([
                "sed", "-i", "s,^segment-001,\(origin.url)/\(Self.title)/video/360p/&,",
                source.path("\(Self.title)/video/360p/playlist.m3u8"),
            ])
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let prefetch = try home.prefetch("\(origin.url)/\(Self.title)/master.m3u8")
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            let site = "\(home.edge)/127.0.0.1:\(origin.port)"
            func read(_ file: String) throws -> String {
                try String(contentsOfFile: "\(site)/\(Self.title)/\(file)", encoding: .utf8)
            }
            let master = try read("master.m3u8")
            #expect(
                !master.contains(origin.url) && master.contains("URI=\"audio/en/playlist.m3u8\""))
            #expect(master.contains("\nvideo/360p/playlist.m3u8"))
            #expect(try read("video/360p/playlist.m3u8").contains("\nsegment-001.m4s\n"))
            _ = try await EdgeTree.checkSums(beneath: site)
            try await origin.stop()
            // Of any depth, and with no configuration of its own.
            let edge = try await NginxServer(root: home.edge)
            _ = try await Self.play(
                "\(edge.url)/127.0.0.1:\(origin.port)/\(Self.title)/master.m3u8")
            withExtendedLifetime(source) {}
        }

        /// Names with spaces, and queries that are signed: with slashes, and longer than a file's name.
        @Test func namesAndQueriesOfOriginsPlayAtTheEdge() async throws {
            let source = try TemporaryDirectory("queries")
            _ = try await ChildProcess.run(["sh", "-ec", Self.makeSigned, source.path])
            let origin = try await NginxServer(root: source.path)
            let titles = ["my title.m3u8", "signed.m3u8", "signed.mpd", "file.mpd"]
            let list = try source.write(
                titles.map { "\(origin.url)/\($0.replacing(" ", with: "%20"))\n" }.joined(),
                to: "list.txt")
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let prefetch = try home.prefetch(list)
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            try await origin.stop()
            let site = "\(home.edge)/127.0.0.1:\(origin.port)"
            #expect(
                try String(contentsOfFile: "\(site)/my title.m3u8", encoding: .utf8)
                    .contains("\nmy title 0.ts\n"))
            let edge = try await NginxServer(
                root: site, configuration: "try_files \"$uri?$args\" $uri =404;")
            for title in titles {
                _ = try await Self.play("\(edge.url)/\(title.replacing(" ", with: "%20"))")
            }
            #expect(edge.requests().allSatisfy { $0.status < 400 })
            withExtendedLifetime(source) {}
        }

        private static let makeSigned = """
            cd "$0"
            ffmpeg -nostdin -v error -f lavfi -i testsrc2=size=160x90:rate=25:duration=4 \\
                -c:v libx264 -preset ultrafast -g 50 -keyint_min 50 -sc_threshold 0 source.mp4
            ffmpeg -nostdin -v error -i source.mp4 -c copy -f hls -hls_time 2 -hls_playlist_type vod \\
                -hls_segment_filename 'my title %d.ts' 'my title.m3u8'
            policy=$(printf 'k%.0s' $(seq 300))
            mkdir signed
            cp my*.ts signed
            sed "s,^.*0.ts,signed/&?hdnea=exp=1~acl=/*~hmac=ab,;s,^.*1.ts,signed/&?P=$policy\\&S=b," \\
                'my title.m3u8' >signed.m3u8
            ffmpeg -nostdin -v error -i source.mp4 -c copy -f dash -seg_duration 2 dash.mpd
            sed "s,init-[^ ]*m4s,&?acl=/*~hmac=ab,;s,chunk-[^ ]*m4s,&?Policy=$policy/x\\&amp;Signature=b," \\
                dash.mpd >signed.mpd
            ffmpeg -nostdin -v error -i source.mp4 -c copy -movflags \\
                +frag_keyframe+empty_moov+default_base_moof 'my title.mp4'
            cat >file.mpd <<'END'
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT4S"
             profiles="urn:mpeg:dash:profile:isoff-on-demand:2011">
            <Period><AdaptationSet mimeType="video/mp4"><Representation id="a b" bandwidth="9000">
            <BaseURL>my title.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>
            END
            """

        @Test func aLiveTitleIsTakenForWhatItLists() async throws {
            let (source, origin) = try await Self.origin("/EXT-X-ENDLIST/d;/EXT-X-PLAYLIST-TYPE/d")
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let url = "\(origin.url)/\(Self.title)/master.m3u8"
            let refused = try home.prefetch(url, ["--name", "t"])
            #expect(try await refused.wait() == .exited(1))
            #expect(refused.errors.contains("manifest.live"))
            let taken = try home.prefetch(url, ["--name", "t", "--live", "snapshot"])
            #expect(try await taken.wait() == .exited(0), "\(taken.errors)")
            try await origin.stop()
            let edge = try await NginxServer(root: "\(home.edge)/127.0.0.1:\(origin.port)")
            _ = try await Self.play("\(edge.url)/\(Self.title)/master.m3u8")
            withExtendedLifetime(source) {}
        }
    }
}
