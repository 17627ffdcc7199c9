import Foundation
import TestSupport
import Testing

/// The load of a running test is changed by another command.
@Suite(.timeLimit(.minutes(2))) struct LoadRateCommandTests {
    private let directory: TemporaryDirectory
    private let origin: NginxServer

    init() async throws {
        directory = try TemporaryDirectory("loadtest")
        try FileManager.default.createDirectory(
            atPath: directory.path("www"), withIntermediateDirectories: true)
        try directory.write([UInt8](repeating: 7, count: 2_000), to: "www/file")
        origin = try await NginxServer(root: directory.path("www"))
    }

    private var environment: [String: String] {
        ["LANG": "C.UTF-8", "XDG_RUNTIME_DIR": directory.path]
    }

    private func start(_ arguments: [String]) throws -> ChildProcess {
        try DrayProcess.start(
            ["loadtest", "\(origin.url)/file", "--json", "--quiet"] + arguments,
            environment: environment, workingDirectory: directory.path)
    }

    private func change(_ process: Int32, _ load: String) async throws -> (
        ending: ChildProcess.Ending, errors: String
    ) {
        let command = try DrayProcess.start(
            ["loadtest", "rate", "\(process)", load], environment: environment,
            workingDirectory: directory.path)
        return (try await command.wait(), command.errors)
    }

    private func requests(_ count: Int) async throws {
        try await waitUntil(deadlineSeconds: 30, "\(count) requests") {
            origin.requests().count >= count
        }
    }

    private func result(_ process: ChildProcess) throws -> [String: Any] {
        let value = try JSONSerialization.jsonObject(with: Data(process.output.utf8))
        return try #require(value as? [String: Any])
    }

    @Test func aNegativeRateIsRefusedAsANumber() async throws {
        let changed = try await change(1, "-5")
        #expect(changed.ending == .exited(2))
        #expect(changed.errors.contains("NEW: given '-5'"), "\(changed.errors)")
        #expect(
            changed.errors.contains("a number, 0 or more") && !changed.errors.contains("option"))
    }

    @Test func theRateOfARunningTestChanges() async throws {
        // Ten in ten minutes by its plan.
        let load = try start(["--rate", "0.0167", "-d", "10m"])
        try await requests(2)
        let changed = try await change(load.pid, "200")
        #expect(changed.ending == .exited(0), "\(changed.errors)")
        try await requests(200)
        #expect(try await change(load.pid, "0").ending == .exited(0))
        load.signal(SIGINT)
        #expect(try await load.wait() == .exited(130))
        let result = try result(load)
        let asked = try #require(result["asked"] as? [String: Any])
        let stages = try #require(asked["stages"] as? [[String: Any]])
        #expect(stages.map { $0["to"] as? Double } == [0.0167, 200, 0])
        let counts = try #require(result["counts"] as? [String: Any])
        #expect(counts["planned"] as? Int ?? 0 >= 199)
        #expect(counts["missedSends"] as? Int == 0)
        let warnings = try #require(result["warnings"] as? [String])
        #expect(warnings.contains { $0.contains("changed while it ran, to 200/s after") })
        // Its socket is gone with it.
        let folder = directory.path("dray")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }

    @Test func theUsersOfAClosedTestChange() async throws {
        let load = try start(["--users", "1", "--think", "10m", "-d", "10m"])
        try await requests(2)
        #expect(try await change(load.pid, "30").ending == .exited(0))
        // One before the test, and one for each user.
        try await requests(31)
        for (users, message) in [
            ("1001", "given 1001, allowed a whole number of users up to 1000"),
            ("1.5", "given 1.5, allowed a whole number"),
        ] {
            let refused = try await change(load.pid, users)
            #expect(refused.ending == .exited(2))
            #expect(refused.errors.contains(message), "\(refused.errors)")
        }
        load.signal(SIGINT)
        _ = try await load.wait()
    }

    @Test func othersAreRefused() async throws {
        let search = try start([
            "--rate", "1", "--search", "--step", "1h", "-t", "error_rate < 1%",
        ])
        try await requests(2)
        let refused = try await change(search.pid, "5")
        #expect(refused.ending == .exited(2))
        #expect(refused.errors.contains("without --search"), "\(refused.errors)")
        search.signal(SIGINT)
        _ = try await search.wait()
        for (process, load, message) in [
            (search.pid, "5", "is not a running load test of this user"),
            (1, "5", "Give the process id of a running `dray loadtest`"), (0, "5", "a process id"),
            (1, "five", "a number, 0 or more"), (1, "5", "is not a running load test"),
        ] {
            let answer = try await change(process, load)
            #expect(answer.ending == .exited(2), "\(answer.errors)")
            #expect(answer.errors.contains(message), "\(answer.errors)")
        }
        // No other user may reach the sockets.
        let folder = directory.path("dray")
        #expect(chmod(folder, 0o755) == 0)
        #expect(try await change(1, "5").errors.contains("only this user can reach"))
    }
}
