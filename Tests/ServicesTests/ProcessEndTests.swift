import Foundation
import Glibc
import Services
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct ProcessEndTests {
    @Test func theEndOfAChildIsAnEvent() async throws {
        let child = try Subprocess.spawn(["sleep", "1000"], output: STDERR_FILENO)
        #expect(await !child.end.wait(atMost: .milliseconds(1)))
        // Any number of tasks can wait.
        let other = try ProcessEnd(of: child.pid)
        await child.kill()
        #expect(child.end.hasHappened)
        await other.wait()
        #expect(child.reap() == 128 + SIGKILL)
        #expect(try ProcessEnd(of: child.pid).hasHappened)
    }

    @Test func aCancelledWaitEndsBeforeTheProcess() async throws {
        let child = try Subprocess.spawn(["sleep", "1000"], output: STDERR_FILENO)
        let waiter = Task { await child.end.wait() }
        waiter.cancel()
        await waiter.value
        #expect(!child.end.hasHappened)
        await child.kill()
        _ = child.reap()
    }

    @Test func aProcessThatIsNoChildCanBeWatched() async throws {
        let started = try await Subprocess.capture(
            ["sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!"], bytes: 100, seconds: 60)
        let pid = try #require(started.output.split(separator: "\n").first.flatMap { pid_t($0) })
        let end = try ProcessEnd(of: pid)
        #expect(!end.hasHappened)
        kill(pid, SIGKILL)
        await end.wait()
        #expect(end.hasHappened)
    }

    @Test func changesOfADirectoryAreEvents() async throws {
        let directory = try TemporaryDirectory("changes")
        let changes = try DirectoryChanges(in: directory.path)
        for name in ["a", "a", "b"] {
            let change = changes.next()
            try Data("x".utf8).write(to: URL(fileURLWithPath: "\(directory.path)/\(name)"))
            await change.wait()
            #expect(change.isDraining)
        }
        #expect(throws: (any Error).self) { try DirectoryChanges(in: "/nowhere") }
    }
}
