import Foundation
import Glibc
import LoadGenerator
import LoadModel
import Model
import Statistics
import TestSupport
import Testing

/// Viewers of live titles of a real packager, ffmpeg, behind nginx, whose access log is the judge.
@Suite(.timeLimit(.minutes(2))) struct LiveEngineTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory("live") }

    /// Packages a test picture and a tone in real time, with segments of a second.
    private func package(_ output: [String], until text: String) async throws -> ChildProcess {
        let packager = try ChildProcess(
            [
                "ffmpeg", "-nostdin", "-v", "error", "-re", "-f", "lavfi", "-i",
                "testsrc2=size=160x90:rate=25", "-re", "-f", "lavfi", "-i", "sine=frequency=440",
                "-map", "0:v", "-map", "1:a", "-c:a", "aac", "-c:v", "libx264", "-preset",
                "ultrafast", "-tune", "zerolatency", "-g", "25", "-keyint_min", "25",
                "-sc_threshold", "0",
            ] + output, workingDirectory: directory.path, deathSignal: "KILL")
        let folder = directory.path
        try await waitUntil(deadlineSeconds: 30, "the first segments") {
            if packager.ending != nil { return true }
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return names.contains { name in
                name.hasPrefix("live")
                    && (try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8))?
                        .contains(text) == true
            }
        }
        try #require(packager.ending == nil, "\(packager.errors)")
        return packager
    }

    /// Plays a title for ten seconds to three viewers.
    private func play(
        _ url: String, _ kind: AssetKind, _ change: (inout ViewerSettings) -> Void = { _ in }
    ) async throws -> EngineRun {
        var scenario = LoadScenario.closed(users: 3, seconds: 10)
        scenario.targets = [LoadTarget(name: "t", source: .url(url, kind))]
        var settings = ViewerSettings()
        settings.startupSeconds = 1
        change(&settings)
        scenario.user = .viewers(settings)
        let plan = try await preflight(scenario).plan
        #expect(plan.targets[0].live != nil)
        return try await EngineRun(plan, scenario, threads: 2)
    }

    private func check(_ run: EngineRun, seconds range: ClosedRange<Double>) {
        #expect(run.counts.viewers.started == 3)
        #expect(run.counts.viewers.failed == 0)
        #expect(run.total.errors == [:])
        // Ten seconds each, less the start.
        #expect(run.counts.playback.playedSeconds > 3 * 8, "\(run.counts.playback.playedSeconds)")
        let latency = Double(run.total[.liveLatency]?.value(quantile: 0.5) ?? 0) / 1e6
        #expect(range.contains(latency), "\(latency)")
        #expect(run.counts.live.skips == 0)
    }

    /// The numbers of the requested segments of each viewer are consecutive.
    private func segments(_ origin: NginxServer, _ suffix: String) -> [String: Int] {
        var counts: [String: Int] = [:]
        for request in origin.requests() where request.target.hasSuffix(suffix) {
            #expect(request.status == 200, "\(request)")
            counts[request.target, default: 0] += 1
        }
        return counts
    }

    @Test func viewersFollowASlidingWindow() async throws {
        let packager = try await package(
            [
                "-f", "hls", "-hls_time", "1", "-hls_list_size", "6", "-hls_flags",
                "delete_segments+program_date_time", "-hls_segment_filename", "%d.ts",
                "live.m3u8",
            ], until: "5.ts")
        defer { packager.signal(SIGKILL) }
        let origin = try await NginxServer(root: directory.path)
        let run = try await play("\(origin.url)/live.m3u8", .hls)
        // Three seconds from the end of the list, which is up to one old.
        check(run, seconds: 2.5...5.5)
        // Each viewer requests each segment once; the preflight has one of them.
        let counts = segments(origin, ".ts")
        #expect(counts.count >= 10)
        #expect(counts.values.allSatisfy { $0 <= 4 }, "\(counts)")
        #expect(run.counts.playback.segments >= 3 * 9)
        let lists = origin.requests().count { $0.target == "/live.m3u8" }
        #expect(lists >= 3 * 9 && lists <= 3 * 22 + 2, "\(lists)")
        #expect(run.counts.live.playlistReloads > 3 * 7)
        #expect(run.counts.live.stalePlaylists == 0)
    }

    @Test func videoAndAudioAreFollowedBesideEachOther() async throws {
        let packager = try await package(
            [
                "-f", "hls", "-hls_time", "1", "-hls_list_size", "6", "-hls_flags",
                "delete_segments+independent_segments", "-hls_segment_type", "fmp4",
                "-hls_fmp4_init_filename", "init-%v.mp4", "-hls_segment_filename", "%v-%d.m4s",
                "-var_stream_map", "v:0,agroup:a,name:v a:0,agroup:a,name:a,default:yes",
                "-master_pl_name", "main.m3u8", "live-%v.m3u8",
            ], until: "v-5.m4s")
        defer { packager.signal(SIGKILL) }
        let origin = try await NginxServer(root: directory.path)
        let run = try await play("\(origin.url)/main.m3u8", .hls)
        // Without dates, latency counts from when the segments were listed.
        check(run, seconds: 2.5...5.5)
        #expect(origin.requests().count { $0.target == "/init-v.mp4" } >= 3)
        #expect(origin.requests().count { $0.target == "/init-a.mp4" } >= 3)
        #expect(segments(origin, ".m4s").keys.count { $0.hasPrefix("/a-") } >= 9)
        #expect(segments(origin, ".m4s").keys.count { $0.hasPrefix("/v-") } >= 9)
    }

    @Test func viewersFollowADynamicManifest() async throws {
        let packager = try await package(
            [
                "-f", "dash", "-seg_duration", "1", "-window_size", "8", "-extra_window_size",
                "8", "-use_template", "1", "-use_timeline", "1", "-streaming", "0", "live.mpd",
            ], until: "type=\"dynamic\"")
        defer { packager.signal(SIGKILL) }
        let names = directory.path
        try await waitUntil(deadlineSeconds: 30, "five segments") {
            ((try? FileManager.default.contentsOfDirectory(atPath: names)) ?? [])
                .contains { $0.hasSuffix("-00005.m4s") }
        }
        let origin = try await NginxServer(root: directory.path)
        let run = try await play("\(origin.url)/live.mpd", .dash)
        check(run, seconds: 1...6.5)
        #expect(segments(origin, ".m4s").count >= 18)
        #expect(run.counts.live.playlistReloads > 3 * 5)
    }

    @Test func aTitleThatEndsIsPlayedToItsEnd() async throws {
        let packager = try await package(
            [
                "-t", "9", "-f", "hls", "-hls_time", "1", "-hls_list_size", "4", "-hls_flags",
                "delete_segments", "-hls_segment_filename", "%d.ts", "live.m3u8",
            ], until: "4.ts")
        let origin = try await NginxServer(root: directory.path)
        var scenario = LoadScenario.open(rate: 2, seconds: 1)
        scenario.stages.append(LoadStage(seconds: 12, from: 0, to: 0))
        scenario.targets = [LoadTarget(name: "t", source: .url("\(origin.url)/live.m3u8", .hls))]
        scenario.user = .viewers(ViewerSettings())
        let plan = try await preflight(scenario).plan
        let run = try await EngineRun(plan, scenario, threads: 1) { $0.counts.viewers.ended == 2 }
        #expect(try await packager.wait() == .exited(0))
        #expect(run.counts.viewers.ended == 2)
        #expect(run.counts.viewers.failed == 0)
        let counts = segments(origin, ".ts")
        #expect(counts.keys.contains("/8.ts"), "\(counts)")
    }
}
