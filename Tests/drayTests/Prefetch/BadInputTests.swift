import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// What a list, a destination or a database that cannot be used gets: the place and the reason on
    /// stderr, the exit code, and not one file or folder.
    @Suite(.timeLimit(.minutes(2))) struct BadInputTests {
        struct Case: Sendable, CustomTestStringConvertible {
            let testDescription: String
            let list: String
            /// All of these stand in the message.
            let says: [String]

            init(_ description: String, _ list: String, _ says: String...) {
                testDescription = description
                self.list = list
                self.says = says
            }
        }

        private static let good = "http://127.0.0.1:1/good"

        static let lists = [
            Case("nothing at all", "", "line 1, column 1", "names no asset"),
            Case("only comments", "# one\n\n# two\n", "names no asset"),
            Case("no asset in JSON", #"{"name": "x", "assets": []}"#, "names no asset"),
            Case("no assets field", #"{"name": "x"}"#, "line 1, column 1", "assets"),
            Case("JSON cut off", "{\"assets\": [\n  {\"url\": ", "line 2, column"),
            Case(
                "a comma too many", "{\"assets\": [\n  \"\(good)\",\n  ]\n}", "line 3, column 3"),
            Case("a number for a URL", "[\n  7\n]", "line 2, column 3"),
            Case(
                "an unknown field", "[\n  {\"url\": \"\(good)\", \"sha265\": \"x\"}\n]",
                "line 2, column", "sha265"),
            Case(
                "a digest of the wrong length",
                "[{\"url\": \"\(good)\", \"sha256\": \"abc\"}]", "sha256", "64 hex digits"),
            Case(
                "a negative length", "[{\"url\": \"\(good)\", \"bytes\": -1}]", "bytes"),
            Case(
                "two assets of one name",
                "[{\"url\": \"\(good)\", \"name\": \"n\"},\n{\"url\": \"\(good)2\", \"name\": \"n\"}]",
                "line 2: field name", "of line 1"),
            Case("not http(s)", "\(good)\nftp://127.0.0.1/x\n", "line 2, column 1", "http"),
            Case("a file URL", "file:///etc/passwd\n", "line 1, column 1", "http"),
            Case("no scheme", "\(good)\n\(good)2\n127.0.0.1/x\n", "line 3, column 1"),
            Case("a control character", "\(good)\u{1}\n", "line 1, column"),
            Case("a control character in JSON", "[\"\(good)\\u0007\"]", "line 1, column"),
            Case("CR in a URL", "http://h/a\rb\n", "line 1, column"),
            Case("credentials in a URL", "http://user:secret@127.0.0.1:1/x\n", "line 1, column"),
            Case("an encoded slash", "http://h/a%2f..%2f..%2fetc/passwd\n", "line 1", "%2F"),
            Case("an encoded ..", "\(good)\nhttp://h/a/%2e%2e/%2E./x\n", "line 2", "out of its"),
            Case("an encoded NUL", "http://h/a%00b\n", "line 1", "control"),
            Case("an encoded newline", "http://h/a%0Ab\n", "line 1", "control"),
        ]

        @Test(arguments: lists) func aBadListIsRefusedWhole(bad: Case) async throws {
            let home = try await EmbeddedHome(.current)
            let list = home.path("bad.list")
            try bad.list.write(toFile: list, atomically: false, encoding: .utf8)
            let before = try home.everything()
            let process = try home.start([
                "prefetch", list, "--to", home.edge, "--state", home.path("state"),
                "--report", home.path("report.json"),
            ])
            #expect(try await process.wait() == .exited(2))
            #expect(process.errors.hasPrefix("dray: \(list): "), "\(process.errors)")
            for part in bad.says {
                #expect(process.errors.contains(part), "\(process.errors)")
            }
            #expect(!process.errors.contains("secret"))
            #expect(process.output.isEmpty)
            #expect(try home.everything() == before)
        }

        @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
        func whatMayNotBeReadOrWrittenIsNamed() async throws {
            let home = try await EmbeddedHome(.ordinary)
            let list = home.path("list.txt")
            try Self.good.write(toFile: list, atomically: false, encoding: .utf8)
            let closed = home.path("closed")
            try FileManager.default.createDirectory(
                atPath: closed, withIntermediateDirectories: false)
            let dangling = home.path("own/dangling")
            symlink(home.path("nowhere/at/all"), dangling)
            let hidden = home.path("hidden.txt")
            try Self.good.write(toFile: hidden, atomically: false, encoding: .utf8)
            chmod(hidden, 0)
            let before = try home.everything()
            for (list, destination, named, code) in [
                (list, closed, "\(closed): Permission denied", 2),
                (list, "\(closed)/deep/er", "\(closed): Permission denied", 2),
                (list, "\(list)/edge", "Not a directory", 2),
                (
                    list, dangling,
                    "\(dangling) is a symlink to \(home.path("nowhere/at/all")): No such file", 2
                ),
                (list, "/proc/edge", "/proc", 2),
                (hidden, home.edge, "\(hidden): Permission denied", 2),
            ] as [(String, String, String, Int32)] {
                let process = try home.start(["prefetch", list, "--to", destination])
                #expect(try await process.wait() == .exited(code), "\(destination)")
                #expect(process.errors.contains(named), "\(process.errors)")
                #expect(process.output.isEmpty)
                #expect(try home.everything() == before)
            }
        }

        @Test func aDatabaseOfANewerDrayIsNotChanged() async throws {
            let server = try await PostgresServer()
            try await server.execute(
                """
                CREATE SCHEMA dray;
                CREATE TABLE dray.schema_migration (version int PRIMARY KEY, checksum text);
                INSERT INTO dray.schema_migration (version) VALUES (4711)
                """)
            for words in [
                ["coordinator", "--database", server.url, "--listen", "127.0.0.1:0"],
                ["database", "migrate", "--database", server.url],
            ] {
                let process = try DrayProcess.start(words)
                #expect(try await process.wait() == .exited(3))
                #expect(process.errors.contains("schema version 4711"), "\(process.errors)")
                #expect(process.errors.contains("upgrade this binary"))
                #expect(process.output.isEmpty)
            }
            let tables = try await server.execute(
                "SELECT count(*) FROM pg_tables WHERE schemaname = 'dray'")
            #expect(tables == "1\n")
            try await server.stop()
        }

        @Test func aDatabaseThatIsDownIsNamed() async throws {
            let server = try await PostgresServer()
            try await server.stop()
            let process = try DrayProcess.start([
                "coordinator", "--database", server.url, "--listen", "127.0.0.1:0",
            ])
            #expect(try await process.wait() == .exited(3))
            #expect(process.errors.contains(server.socketDirectory), "\(process.errors)")
            #expect(process.errors.contains("Check that PostgreSQL is up"))
        }
    }
}
