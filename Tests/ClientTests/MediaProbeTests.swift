import Model
import Services
import Testing

@testable import Client

/// Results of ffprobe's output.
@Suite struct MediaProbeTests {
    private func verdict(
        _ output: String, status: Int32 = 0, isOutOfTime: Bool = false
    ) -> MediaProbe.Verdict {
        MediaProbe.verdict(
            Subprocess.Captured(status: status, output: output, isOutOfTime: isOutOfTime))
    }

    @Test func aTitleOfWhichEveryTrackHasSomethingPlays() {
        #expect(
            verdict(
                "packet,1\npacket,0\n\nprogram,stream,0,video\nstream,0,video\nstream,1,audio\n")
                == .playable)
        // Streams that are neither audio nor video may be empty.
        #expect(
            verdict("packet,0\nstream,0,audio\nstream,1,subtitle\nstream,2,data\n") == .playable)
    }

    @Test(arguments: [
        ("packet,0\nstream,0,video\nstream,1,audio\n", "stream 1 (audio) has nothing to play"),
        ("stream,0,subtitle\npacket,0\n", "neither video nor audio"), ("", "neither"),
        ("stream,,\nstream,x,video\npacket,\npacket,99999999999999999999\n", "neither"),
    ])
    func whatIsEmptyDoesNotPlay(output: String, reason: String) {
        guard case .unplayable(let said) = verdict(output) else {
            Issue.record("\(verdict(output))")
            return
        }
        #expect(said.contains(reason), "\(said)")
    }

    @Test func anErrorIsReportedInOneBoundedLine() {
        let complaint = "[hls @ 0x1] Error \u{1B}[31m" + String(repeating: "x", count: 1_000)
        guard case .unplayable(let said) = verdict("packet,0\n\(complaint)\nmore\n", status: 1)
        else {
            Issue.record("it was not rejected")
            return
        }
        #expect(said.hasPrefix("[hls @ 0x1] Error ") && said.count < 300)
        #expect(!said.unicodeScalars.contains { $0.properties.generalCategory == .control })
        #expect(verdict("", status: 139) == .unplayable("ffprobe failed"))
        #expect(
            verdict("stream,0,video\npacket,0\n", status: 137, isOutOfTime: true)
                == .unchecked("ffprobe did not finish within 60 s"))
        guard case .unchecked = verdict("'file:/srv/a%20b.ts' is missing", status: 1) else {
            Issue.record("a name that plays from a web server was rejected")
            return
        }
    }

    @Test(arguments: [
        ("h/a/film.MP4", true), ("h/film.mp4?x=1", true), ("h/poster.jpg", false),
        ("h/mp4", false), ("h.mp4/readme", false), ("h/film.jpg?v=.mp4", false),
    ])
    func filesThatPlayAreKnownByTheirNames(path: String, isMedia: Bool) {
        #expect(MediaProbe.isMedia(.file, path: path) == isMedia)
        #expect(MediaProbe.isMedia(.hls, path: path))
    }
}
