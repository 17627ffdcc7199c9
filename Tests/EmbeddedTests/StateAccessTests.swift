import Glibc
import Model
import TestSupport
import Testing

@testable import Embedded

// Beside the tests that start programs: a child has the descriptors of its parent, and with them its
// locks, for a moment.
extension EmbeddedPostgresTests {
    /// What a state directory is rejected for, and its token.
    @Suite struct StateAccessTests {
        private static func mode(of path: String) -> mode_t? {
            var status = stat()
            return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
        }

        private static func write(_ text: String, to path: String, mode: mode_t = 0o600) {
            let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode)
            Glibc.write(file, text, text.utf8.count)
            close(file)
            chmod(path, mode)
        }

        @Test func theFirstStartMakesATokenAndLaterOnesKeepIt() async throws {
            try await withState { path in
                let first = try await StateDirectory.open(path).tokenFile.readOrMake()
                #expect(first.text.utf8.count == 64)
                #expect(Self.mode(of: "\(path)/token") == 0o600)
                #expect(readSmallFile("\(path)/token") == "\(first.text)\n")
                #expect(!directoryNames(path).contains("token.new"))
                #expect(try await StateDirectory.open(path).tokenFile.readOrMake() == first)
            }
        }

        /// Each with what is done to a good token file first.
        static let spoilt: [(reason: String, spoil: @Sendable (String) -> Void)] = [
            ("has mode 640", { chmod($0, 0o640) }),
            ("has mode 604", { chmod($0, 0o604) }),
            (
                "is a symbolic link",
                {
                    rename($0, "\($0).other"); symlink("\($0).other", $0)
                }
            ),
            (
                "is a symbolic link",
                {
                    unlink($0); symlink("\($0).nowhere", $0)
                }
            ),
            (
                "is not a regular file",
                {
                    unlink($0); mkfifo($0, 0o600)
                }
            ),
            (
                "is not a regular file",
                {
                    unlink($0); mkdir($0, 0o700)
                }
            ),
            ("holds no token", { Self.write("0123456789abcdef\n", to: $0) }),
            ("holds no token", { Self.write("", to: $0) }),
            (
                "holds no token",
                { Self.write(String(repeating: "0123456789abcdef", count: 80), to: $0) }
            ),
        ]

        @Test(arguments: spoilt.indices)
        func aTokenFileThatOthersMayKnowIsRefused(index: Int) async throws {
            let (reason, spoil) = Self.spoilt[index]
            try await withState { path in
                let token = try await StateDirectory.open(path).tokenFile.readOrMake()
                spoil("\(path)/token")
                let state = try await StateDirectory.open(path)
                let failure = #expect(throws: Failure.self) { try state.tokenFile.readOrMake() }
                #expect(failure?.code == "input.token")
                let message = failure?.message ?? ""
                #expect(message.contains("\(path)/token \(reason)"), "\(message)")
                #expect(message.contains("Remove it") && !message.contains(token.text))
            }
        }

        @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
        func aTokenFileOfAnotherUserIsRefused() async throws {
            try await withState { path in
                _ = try await StateDirectory.open(path).tokenFile.readOrMake()
                chown("\(path)/token", 65_534, 65_534)
                let state = try await StateDirectory.open(path)
                let failure = #expect(throws: Failure.self) { try state.tokenFile.readOrMake() }
                #expect(failure?.message.contains("belongs to the user nobody") == true)
            }
        }

        @Test(arguments: [0o770, 0o702, 0o777] as [mode_t])
        func aStateThatOthersMayWriteToIsRefused(mode: mode_t) async throws {
            try await withState { path in
                mkdir(path, mode)
                chmod(path, mode)
                let failure = await #expect(throws: Failure.self) {
                    try await StateDirectory.open(path)
                }
                #expect(failure?.code == "input.destination")
                #expect(failure?.message.contains("chmod go-w '\(path)'") == true)
                #expect(directoryNames(path).isEmpty)
            }
        }

        /// A mistyped path gets no database.
        @Test func aDirectoryWithOtherFilesIsRefused() async throws {
            try await withState { path in
                mkdir(path, 0o700)
                mkdir("\(path)/.snapshot", 0o700)
                _ = try await StateDirectory.open(path)
                // It is one now, whatever else comes there.
                mkdir("\(path)/notes", 0o700)
                _ = try await StateDirectory.open(path)
            }
            try await withState { path in
                mkdir(path, 0o700)
                mkdir("\(path)/photos", 0o700)
                let failure = await #expect(throws: Failure.self) {
                    try await StateDirectory.open(path)
                }
                #expect(failure?.code == "input.destination")
                #expect(failure?.message.contains("such as photos") == true)
                #expect(directoryNames(path) == ["photos"])
            }
        }

        @Test(.enabled(if: geteuid() == 0, "only root can give directories away"))
        func aStateOfAnotherUserIsRefused() async throws {
            try await withState { path in
                mkdir(path, 0o700)
                chown(path, 65_534, 65_534)
                let state = await #expect(throws: Failure.self) {
                    try await StateDirectory.open(path)
                }
                #expect(state?.message.contains("belongs to the user nobody") == true)
                #expect(directoryNames(path).isEmpty)
            }
        }

        /// As versions made it that ran the server as `postgres`.
        @Test(.enabled(if: geteuid() == 0, "only root runs the server as another user"))
        func aDatabaseOfAnotherUserIsRefusedWithTheWayOut() async throws {
            try await withState { path in
                _ = try await StateDirectory.open(path)
                let directory = "\(path)/postgresql"
                #expect(try await ServerUser.current().name == "dray-postgres")
                chown(directory, 65_534, 65_534)
                let failure = await #expect(throws: Failure.self) {
                    try await StateDirectory.open(path)
                }
                #expect(failure?.code == "input.destination")
                #expect(
                    failure?.message.contains("run: chown -R dray-postgres: '\(directory)'") == true
                )
            }
        }

        @Test func onlyWhoHoldsTheLockIsARunningCluster() async throws {
            try await withState { path in
                var state: StateDirectory? = try await StateDirectory.open(path)
                #expect(StateDirectory.running(in: path) == nil)
                try state?.announce("http://127.0.0.1:7")
                let found = StateDirectory.running(in: path)
                #expect(found?.coordinatorURL == "http://127.0.0.1:7")
                #expect(found?.tokenFile.path == "\(path)/token")
                #expect(found?.runToken == nil)
                let token = AccessToken.random()
                try state?.announce("http://127.0.0.1:7", runToken: token)
                #expect(StateDirectory.running(in: path)?.runToken?.text == token.text)
                try state?.announce("http://127.0.0.1:7")
                // Looking takes no lock away.
                #expect(StateDirectory.running(in: path) == found)
                state = nil
                #expect(readSmallFile("\(path)/lock")?.contains("http://127.0.0.1:7") == true)
                #expect(StateDirectory.running(in: path) == nil)
            }
        }
    }
}
