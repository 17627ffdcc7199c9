import Foundation
import Glibc
import Services
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct SubprocessCaptureTests {
    @Test func bothOutputsAreKeptUpToTheBound() async throws {
        let said = try await Subprocess.capture(
            ["sh", "-c", "printf abc; printf def >&2; exit 3"], bytes: 5, seconds: 60)
        #expect(said.status == 3 && said.output == "abcde" && !said.isOutOfTime)
        // More than a pipe holds: the writer does not block.
        let much = try await Subprocess.capture(
            ["sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x"], bytes: 200_000, seconds: 60)
        #expect(much.status == 0 && much.output.utf8.count == 200_000)
    }

    @Test func whatDoesNotEndIsKilledWithItsChildren() async throws {
        let endless = try await Subprocess.capture(
            ["sh", "-c", "sleep 1000 & echo $!; while :; do printf x; done"], bytes: 100,
            seconds: 0.3)
        #expect(endless.isOutOfTime && endless.status == 128 + SIGKILL)
        #expect(endless.output.utf8.count == 100)
        let child = try #require(endless.output.split(separator: "\n").first.flatMap { pid_t($0) })
        try await waitUntil(deadlineSeconds: 60, "the end of the child") {
            // A zombie has no command line any more.
            let words = try? String(contentsOfFile: "/proc/\(child)/cmdline", encoding: .utf8)
            return (words ?? "").isEmpty
        }

        let cancelled = Task {
            try await Subprocess.capture(["sleep", "1000"], bytes: 100, seconds: 1_000)
        }
        cancelled.cancel()
        #expect(try await cancelled.value.status == 128 + SIGKILL)
        await #expect(throws: SubprocessError.self) {
            _ = try await Subprocess.capture(["/nowhere/ffprobe"], bytes: 100, seconds: 60)
        }
    }
}
