import Glibc
import Model
import TestSupport
import Testing

/// Where commands find tokens and the database's URL, and what they answer if these are wrong.
@Suite(.timeLimit(.minutes(2))) struct SecretUsageTests: UsageSuite {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory("secrets") }

    /// On loopback as well: other users of the machine reach it.
    @Test func whoServesOrWorksNeedsAToken() async throws {
        let database = ["coordinator", "--database", "postgresql://127.0.0.1:1/none"]
        let coordinator = database + ["--listen", "127.0.0.1:0"]
        let worker = ["worker", "--coordinator", "http://127.0.0.1:1"]
        for words in [coordinator, worker] {
            let none = try await dray(words, environment: ["DRAY_TOKEN": ""])
            #expect(none.ending == .exited(2) && none.output.isEmpty)
            #expect(none.errors.contains("the token is missing"), "\(none.errors)")
            #expect(none.errors.contains("openssl rand -hex 32"), "\(none.errors)")
            let weak = try await dray(words, environment: ["DRAY_TOKEN": "geheim0123456789"])
            #expect(weak.ending == .exited(2) && weak.output.isEmpty)
            #expect(weak.errors.contains("DRAY_TOKEN: The token is rejected: its length is 16;"))
            #expect(weak.errors.contains("for 128 bits (input.token)"), "\(weak.errors)")
            #expect(weak.errors.contains("(input.token)") && !weak.errors.contains("geheim"))
        }
        let up = ["up", "--state", directory.path("state"), "--listen", "127.0.0.1:0"]
        let weak = try await dray(up, environment: ["DRAY_TOKEN": "geheim0123456789"])
        #expect(weak.ending == .exited(2) && weak.errors.contains("(input.token)"))
        let both = try await dray(
            coordinator, environment: ["DRAY_TOKEN_FILE": directory.path("token")])
        #expect(both.errors.contains("DRAY_TOKEN and DRAY_TOKEN_FILE are both set"))
        #expect(try names.isEmpty)
    }

    @Test func secretsMayComeFromFiles() async throws {
        try directory.write("\(AccessToken.test.text)\n", to: "token")
        try directory.write("postgresql://dray:geheim@127.0.0.1:1/none\n", to: "database")
        chmod(directory.path("token"), 0o600)
        chmod(directory.path("database"), 0o644)
        let secrets = ["DRAY_TOKEN": "", "DRAY_TOKEN_FILE": directory.path("token")]
        let url = ["DRAY_DATABASE_URL": "postgresql://dray:geheim@127.0.0.1:1/none"]
        let file = ["DRAY_DATABASE_FILE": directory.path("database")]
        for (words, more, isReadable) in [
            ([], url, false), ([], file, true),
            (["--database-file", directory.path("database")], [:], true),
        ] as [([String], [String: String], Bool)] {
            for command in [["database", "migrate"], ["coordinator", "--listen", "127.0.0.1:0"]] {
                let answer = try await dray(
                    command + words, environment: secrets.merging(more) { $1 })
                // It has a token, and a database to look for.
                #expect(answer.ending == .exited(3), "\(answer.errors)")
                #expect(answer.errors.contains("Check that PostgreSQL is up"))
                #expect(answer.errors.contains("every user can read") == isReadable)
                #expect(!answer.errors.contains("geheim"))
            }
        }
    }

    @Test func whatIsWrongWithASecretIsNamedWithItsSource() async throws {
        try directory.write("\n", to: "empty")
        let empty = directory.path("empty")
        chmod(empty, 0o600)
        let token = try await dray(
            ["status"], environment: ["DRAY_TOKEN": "", "DRAY_TOKEN_FILE": empty])
        #expect(token.ending == .exited(2))
        #expect(
            token.errors.hasPrefix("dray: DRAY_TOKEN_FILE: the file \(empty) is empty"),
            "\(token.errors)")
        #expect(token.errors.contains("openssl rand -hex 32"))
        let database = try await dray(
            ["database", "migrate"], environment: ["DRAY_DATABASE_FILE": empty])
        #expect(database.errors.contains("DRAY_DATABASE_FILE: the file \(empty) is empty"))
        let missing = try await dray(
            ["database", "migrate", "--database-file", directory.path("none")])
        #expect(missing.errors.contains("--database-file: \(directory.path("none")): No such"))
        for (url, isWarned) in [
            ("postgresql://dray:geheim@127.0.0.1:1/none", true),
            ("postgresql://127.0.0.1:1/none?user=d&password=geheim", true),
            ("host=127.0.0.1 port=1 password=geheim", true),
            ("postgresql://dray@127.0.0.1:1/none", false), ("postgresql://127.0.0.1:1/none", false),
        ] {
            let answer = try await dray(["database", "migrate", "--database", url])
            #expect(answer.ending == .exited(3) && !answer.errors.contains("geheim"))
            #expect(answer.errors.contains("use --database-file") == isWarned, "\(answer.errors)")
        }
    }
}
