import Foundation
import Glibc
import TestSupport
import Testing

/// The configuration of the built binary: file, environment, command line.
@Suite(.timeLimit(.minutes(2))) struct ConfigCommandTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory("config") }

    private func dray(
        _ words: [String], environment: [String: String] = [:], exits code: Int32 = 0
    ) async throws -> String {
        let process = try DrayProcess.start(
            words, environment: environment.merging(["DRAY_TOKEN": ""]) { first, _ in first },
            workingDirectory: directory.path)
        #expect(try await process.wait() == .exited(code), "\(process.errors)")
        return process.output + process.errors
    }

    private func write(_ text: String, mode: mode_t = 0o600) throws {
        try directory.write(text, to: "c.toml")
        chmod(directory.path("c.toml"), mode)
    }

    @Test func theOriginOfEachValueIsShownAndNoSecret() async throws {
        try write(
            """
            coordinator = "http://127.0.0.1:1"
            token = "0123456789abcdef0123456789abcdef"
            [worker]
            connections = 5
            durability = "file"
            """)
        let shown = try await dray(
            ["config", "show", "--config", "c.toml", "worker", "--queue", "edge"],
            environment: ["DRAY_ROOTS": "/srv", "DRAY_WORKER_CONNECTIONS": "7"])
        let lines = shown.split(separator: "\n").map {
            $0.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
        }
        for line in [
            "File: c.toml", "coordinator http://127.0.0.1:1 c.toml:1", "token hidden c.toml:2",
            "roots /srv DRAY_ROOTS", "--connections 7 DRAY_WORKER_CONNECTIONS",
            "--durability file c.toml:5", "--queue edge command line", "log-level – default",
        ] {
            #expect(lines.contains(line), "\(line)\n\(shown)")
        }
        #expect(!shown.contains("0123456789abcdef"))
        let json = try await dray(["config", "show", "--json", "--config", "c.toml"])
        let object = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
        #expect(object?["file"] as? String == "c.toml")
        #expect(!json.contains("0123456789abcdef"))
    }

    @Test func aCommandUsesTheFileOfTheUser() async throws {
        try directory.write(
            "coordinator = 'ftp://h'\n", to: "home/dray/config.toml")
        let home = ["DRAY_CONFIG": "", "XDG_CONFIG_HOME": directory.path("home")]
        let answer = try await dray(["status"], environment: home, exits: 2)
        #expect(answer.contains("the coordinator's URL"), "\(answer)")
        let overridden = try await dray(
            ["status"],
            environment: home.merging(["DRAY_COORDINATOR": "http://127.0.0.1:1"]) { $1 },
            exits: 3)
        #expect(overridden.contains("http://127.0.0.1:1"), "\(overridden)")
    }

    @Test(arguments: [
        ("[prefetch]\nconections = 3", mode_t(0o600), "c.toml:2: unknown key conections"),
        ("token = 'x'", 0o644, "c.toml:1: token is a secret, and other users can read the file"),
        ("", 0o666, "every user can write c.toml"),
    ])
    func aFileThatCannotBeUsedStopsEveryCommand(
        text: String, mode: mode_t, message: String
    ) async throws {
        try write(text, mode: mode)
        for words in [["config", "check", "c.toml"], ["plan", "--config", "c.toml"]] {
            let answer = try await dray(words, exits: 2)
            #expect(answer.hasPrefix("dray: \(message)"), "\(answer)")
        }
        // These help to repair it.
        _ = try await dray(["completion", "bash"], environment: ["DRAY_CONFIG": "c.toml"])
    }

    @Test func secretsComeFromFilesThatOptionsName() async throws {
        let cluster = ["DRAY_COORDINATOR": "http://127.0.0.1:1"]
        for (text, mode, code, message) in [
            (nil, mode_t(0o600), Int32(2), "--token-file: token: No such file"),
            ("\n", 0o600, 2, "--token-file: the file token is empty"),
            (String(repeating: "x", count: 70_000), 0o600, 2, "token is larger than 65536 bytes"),
            ("0123456789abcdef0123456789abcdef\n", 0o600, 3, "http://127.0.0.1:1"),
            ("0123456789abcdef0123456789abcdef\n", 0o644, 3, "every user can read token"),
        ] {
            if let text {
                try directory.write(text, to: "token")
                chmod(directory.path("token"), mode)
            }
            let answer = try await dray(
                ["status", "--token-file", "token"], environment: cluster, exits: code)
            #expect(answer.contains(message), "\(answer)")
            #expect(!answer.contains("0123456789abcdef"))
        }
    }
}
