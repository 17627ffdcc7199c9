import Foundation
import Glibc
import TestSupport
import Testing

@Suite struct ServerTests {
    @Test func postgresKeepsSchemasApart() async throws {
        let server = try await PostgresServer.shared()
        let first = try await server.schemaURL("fixture")
        let second = try await server.schemaURL("fixture")
        for url in [first, second] {
            try await ChildProcess.run(["psql", "-qc", "CREATE TABLE t (x int)", url])
        }
        let path = try await ChildProcess.run(["psql", "-Atqc", "SHOW search_path", first])
        #expect(first.hasSuffix(path.trimmingSuffix()))
        let database = try await server.databaseURL("fixture")
        #expect(database != server.url)
    }

    @Test func postgresSurvivesKillAndCrash() async throws {
        let server = try await PostgresServer(isDurable: true)
        try await server.execute("CREATE TABLE t AS SELECT 7 AS x")
        try await server.kill()
        await #expect(throws: (any Error).self) { try await server.execute("SELECT 1") }
        try await server.start()
        #expect(try await server.execute("SELECT x FROM t") == "7\n")
        try await server.crashAndRestart()
        #expect(try await server.execute("SELECT x FROM t") == "7\n")
        try await server.stop()
    }

    @Test func nginxServesAndLogs() async throws {
        let directory = try TemporaryDirectory("root")
        try directory.write("hello, cart", to: "a b/c.txt")
        let server = try await NginxServer(root: directory.path)
        let url = "\(server.url)/a%20b/c.txt"
        #expect(try await ChildProcess.run(["curl", "-sf", url]) == "hello, cart")
        #expect(try await ChildProcess.run(["curl", "-sf", "-r", "0-4", url]) == "hello")
        try await waitUntil(deadlineSeconds: 60) { server.requests().count == 2 }
        let requests = server.requests()
        #expect(requests.map(\.target) == ["/a%20b/c.txt", "/a%20b/c.txt"])
        #expect(requests.map(\.status) == [200, 206])
        #expect(requests.map(\.bytesSent) == [11, 5])
        #expect(requests.map(\.range) == [nil, "bytes=0-4"])
        try await server.stop()
    }

    @Test func aProcessIsWaitedForAndSignalled() async throws {
        let failing = try ChildProcess(["sh", "-c", "echo out; echo err >&2; exit 3"])
        #expect(try await failing.wait() == .exited(3))
        #expect(failing.output == "out\n")
        #expect(failing.errors == "err\n")
        let sleeping = try ChildProcess(["sleep", "1000"])
        sleeping.signal(SIGKILL)
        #expect(try await sleeping.wait() == .signalled(SIGKILL))
    }

    /// A script that is killed cannot end what it has started.
    @Test(arguments: ["wait", "exit"])
    func whatAProgramHasStartedEndsWithIt(end: String) async throws {
        let shell = try ChildProcess(["sh", "-c", "sleep 1000 & echo $!; \(end)"])
        try await waitUntil(deadlineSeconds: 30, "the start") { shell.output.hasSuffix("\n") }
        let pid = try #require(pid_t(shell.output.dropLast()))
        if end == "wait" { shell.signal(SIGKILL) }
        try await shell.wait()
        try await waitUntil(deadlineSeconds: 30, "the end of what it has started") {
            // A zombie has no command line any more.
            let words = try? String(contentsOfFile: "/proc/\(pid)/cmdline", encoding: .utf8)
            return (words ?? "").isEmpty
        }
    }

    @Test func aDroppedProcessIsKilled() async throws {
        var child: ChildProcess? = try ChildProcess(["sleep", "1000"])
        let pid = try #require(child?.pid)
        child = nil
        try await waitUntil(deadlineSeconds: 60) { kill(pid, 0) != 0 }
    }

    @Test func theBuiltBinaryIsFoundAndRun() async throws {
        let process = try DrayProcess.start(["--version"], environment: ["DRAY_TEST": "1"])
        #expect(try await process.wait() == .exited(0))
        #expect(process.output.hasPrefix("dray"))
    }

    @Test func temporaryDirectoriesAreRemoved() throws {
        var directory: TemporaryDirectory? = try TemporaryDirectory()
        let path = try #require(directory?.path)
        try directory?.write("x", to: "deep/er/file")
        #expect(try directory?.files() == ["deep/er/file"])
        directory = nil
        #expect(access(path, F_OK) != 0)
    }
}

extension String {
    fileprivate func trimmingSuffix() -> Substring { prefix { $0 != "\n" } }
}
