import Foundation
import TestSupport
import Testing

/// What a failure of `dray inspect` names.
extension InspectTests {
    @Test func whatIsWrongInAFileNamesTheFile() async throws {
        let file = try directory.write("#EXTM3U\n#EXTINF:4,\nftp://h/1.ts\n", to: "bad.m3u8")
        let answer = try await inspect([file, "--base", "http://h/t/m.m3u8"])
        #expect(answer.ending == .exited(1))
        #expect(answer.errors.hasPrefix("dray: \(file) line 3: "), "\(answer.errors)")
        #expect(answer.errors.contains(" (manifest.uriRefused)\n"), "\(answer.errors)")
    }

    /// A URL in a message stays, even if it begins with the text of --base.
    @Test func aURLInAMessageIsNotTakenForTheFile() async throws {
        let file = try directory.write(
            "#EXTM3U\n#EXTINF:4,\n/ab\n#EXTINF:4,\n/ab/1.ts\n#EXT-X-ENDLIST\n",
            to: "conflict.m3u8")
        let answer = try await inspect([file, "--base", "http://h/a"])
        #expect(answer.ending == .exited(1))
        #expect(
            answer.errors.hasPrefix("dray: http://h/ab is a file, and http://h/ab/1.ts needs"),
            "\(answer.errors)")
    }
}
