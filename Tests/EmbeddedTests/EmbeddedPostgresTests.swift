import Glibc
import Model
import Services
import TestSupport
import Testing

@testable import Embedded

/// Ends the server of the data directory `$0` when it gets SIGTERM.
private let endServer = """
    trap 'kill $!
        read -r server <"$0/postmaster.pid" && read -r name <"/proc/$server/comm" &&
            [ "$name" = postgres ] && kill -QUIT "$server"
        exit 0' TERM
    while :; do sleep 60 & wait; done
    """

/// Makes a state below a directory that goes away afterwards, with a server that a failed test has
/// left running. One of a test process that is killed ends too: it would wait for the next Dray.
func withState(
    named name: String = "state", _ body: (String) async throws -> Void
) async throws {
    var template = Array("/tmp/dray-test-XXXXXX".utf8CString)
    try #require(mkdtemp(&template) != nil)
    let scratch = String(
        decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    // The server's user has to pass through.
    chmod(scratch, 0o711)
    let data = "\(scratch)/\(name)/postgresql/data"
    let keeper = try ChildProcess(["sh", "-c", endServer, data], deathSignal: "TERM")
    let result: Result<Void, any Error>
    do {
        result = .success(try await body("\(scratch)/\(name)"))
    } catch {
        result = .failure(error)
    }
    keeper.signal(SIGTERM)
    try await keeper.wait()
    _ = try await Subprocess.run(["rm", "-rf", "--", scratch], output: STDERR_FILENO)
    try result.get()
}

private let environment = ["PATH": "/usr/bin:/bin"]

private func makeServer(_ path: String) async throws -> EmbeddedPostgres {
    EmbeddedPostgres(state: try await StateDirectory.open(path), environment: environment)
}

private func query(_ sql: String, _ server: EmbeddedPostgres) async -> String? {
    await Subprocess.output(of: ["psql", server.databaseURL, "-XAtqc", sql])?
        .filter { $0 != "\n" }
}

@Suite(.serialized, .timeLimit(.minutes(3))) struct EmbeddedPostgresTests {
    @Test func startsStopsAndStartsAgain() async throws {
        try await withState { path in
            let server = try await makeServer(path)
            try await server.start()
            let pid = server.processID
            let file = try #require(PostmasterFile.read(inDataDirectory: "\(path)/postgresql/data"))
            #expect(file.hasSharedMemoryInUse)
            #expect(await query("CREATE TABLE t AS SELECT 7 AS x", server) == "")
            await server.stop()
            #expect(kill(pid, 0) != 0)
            #expect(!file.hasSharedMemoryInUse)

            try await server.start()
            #expect(await query("SELECT x FROM t", server) == "7")
            #expect(await query("SHOW listen_addresses", server) == "")
            #expect(await query("SHOW synchronous_commit", server) == "on")
            await server.stop()
        }
    }

    @Test func onlyOneDrayHasAState() async throws {
        try await withState { path in
            let state = try await StateDirectory.open(path)
            let error = await #expect(throws: Failure.self) { try await StateDirectory.open(path) }
            #expect(error?.code == "cluster.stateInUse")
            #expect(error?.message.contains("process id \(getpid())") == true)
            withExtendedLifetime(state) {}
        }
        try await withState { path in
            _ = try await StateDirectory.open(path)
            _ = try await StateDirectory.open(path)
        }
    }

    @Test func aServerThatWasLeftRunningIsTakenOver() async throws {
        try await withState { path in
            var first: EmbeddedPostgres? = try await makeServer(path)
            try await first?.start()
            let pid = try #require(first?.processID)
            // As after kill -9 of a Dray: nothing holds the lock, the server's children neither.
            first = nil
            let second = try await makeServer(path)
            try await second.start()
            #expect(second.processID == pid)
            #expect(await query("SELECT 1", second) == "1")
            await second.stop()
            // It is this process's child: left unreaped, it keeps the monitor of exit tests busy.
            #expect(waitpid(pid, nil, 0) == pid)
            #expect(PostmasterFile.read(inDataDirectory: "\(path)/postgresql/data") == nil)
        }
    }

    @Test func aKilledServerIsStartedAgain() async throws {
        try await withState { path in
            let server = try await makeServer(path)
            try await server.start()
            #expect(await query("CREATE TABLE t AS SELECT 7 AS x", server) == "")
            let killed = server.processID
            let supervisor = Task { try await server.run() }
            kill(killed, SIGKILL)
            var answer: String?
            while answer == nil || server.processID == killed {
                try Task.checkCancellation()
                answer = await query("SELECT x FROM t", server)
            }
            #expect(answer == "7")
            supervisor.cancel()
            try await supervisor.value
            await server.stop()
        }
    }

    @Test func aLongPathGetsAShortSocket() async throws {
        let name = String(repeating: "long directory %, \"", count: 6)
        try await withState(named: name) { path in
            let server = try await makeServer(path)
            try await server.start()
            #expect(await query("SELECT 1", server) == "1")
            let directory = server.socketDirectory
            #expect(directory.hasPrefix("/tmp/dray-"))
            await server.stop()
            #expect(access(directory, F_OK) != 0)
        }
    }

    @Test func anInterruptedInitializationIsDoneAgain() async throws {
        try await withState { path in
            let server = try await makeServer(path)
            let start = Task { try await server.start() }
            while !directoryNames("\(path)/postgresql").contains(where: { $0.hasPrefix("data.") }) {
                await Task.yield()
            }
            start.cancel()
            await #expect(throws: Failure.self) { try await start.value }
            #expect(access("\(path)/postgresql/data", F_OK) != 0)
            try await server.start()
            #expect(await query("SELECT 1", server) == "1")
            #expect(directoryNames("\(path)/postgresql").allSatisfy { !$0.hasPrefix("data.new") })
            await server.stop()
        }
    }

    @Test func anotherVersionsDataIsRefusedWithTheReason() async throws {
        try await withState { path in
            let server = try await makeServer(path)
            mkdir("\(path)/postgresql/data", 0o700)
            let file = open("\(path)/postgresql/data/PG_VERSION", O_WRONLY | O_CREAT, 0o600)
            write(file, "9\n", 2)
            close(file)
            let error = await #expect(throws: Failure.self) { try await server.start() }
            #expect(error?.code == "cluster.postgresFailed")
            #expect(error?.message.contains("of PostgreSQL 9, and only version") == true)
        }
    }

    @Test func aServerThatCannotStartNamesItsLog() async throws {
        try await withState { path in
            let server = try await makeServer(path)
            try await server.start()
            await server.stop()
            unlink("\(path)/postgresql/data/global/pg_control")
            let error = await #expect(throws: Failure.self) { try await server.start() }
            #expect(error?.message.contains("its log is \(path)/postgresql.log") == true)
        }
    }

    @Test func readsWhatThePostmasterWrites() {
        let text = "123\n/data\n1700000000\n5432\n/run/s\n\n  5432001  196608\nready   \n"
        let file = PostmasterFile(text)
        #expect(file?.pid == 123)
        #expect(file?.socketDirectory == "/run/s")
        #expect(file?.isReady == true)
        #expect(PostmasterFile("-5\n") == nil)
        #expect(PostmasterFile("") == nil)
        #expect(PostmasterFile("12")?.isReady == false)
        #expect(PostgresBinaries.majorVersion(in: "postgres (PostgreSQL) 15.18 (Debian)\n") == 15)
        #expect(PostgresBinaries.majorVersion(in: "postgres (PostgreSQL) 17beta1\n") == 17)
    }

    @Test func theDefaultStateFollowsTheUser() throws {
        let path = try StateDirectory.defaultPath(
            environment: ["HOME": "/home/a", "XDG_STATE_HOME": "/var/state"])
        #expect(path == (geteuid() == 0 ? "/var/lib/dray" : "/var/state/dray"))
    }
}
