import Foundation
import Glibc
import TestSupport
import Testing

/// `sslmode=verify-full` to a PostgreSQL that serves TLS over TCP.
@Suite(.timeLimit(.minutes(2))) struct DatabaseTLSTests {
    private static let password = "Passw0rdOfTheDatabase"

    /// Runs `dray database migrate` with a URL in a file, as an operator has it.
    private static func migrate(
        _ url: String, in directory: TemporaryDirectory
    ) async throws -> ChildProcess {
        let file = try directory.write(url + "\n", to: "database-url")
        chmod(file, 0o600)
        let process = try DrayProcess.start(["database", "migrate", "--database-file", file])
        try await process.wait()
        #expect(!process.errors.contains(password), "\(process.errors)")
        return process
    }

    @Test func onlyTheServerOfTheNameAndTheAuthorityIsUsed() async throws {
        let directory = try TemporaryDirectory("database-tls")
        let authority = try await TestAuthority(in: directory)
        let other = try await TestAuthority(in: directory, "other")
        let server = try await PostgresServer(
            tls: try await authority.server("database", names: "DNS:db.example"))
        try await server.execute("ALTER ROLE postgres PASSWORD '\(Self.password)'")
        let address = try #require(server.address)
        func url(_ host: String, _ rest: String) -> String {
            "postgresql://postgres:\(Self.password)@\(host)/postgres?hostaddr=\(address)&\(rest)"
        }
        func failure(_ url: String, _ words: String) async throws {
            let refused = try await Self.migrate(url, in: directory)
            #expect(refused.ending == .exited(3), "\(refused.errors)")
            #expect(
                refused.errors.hasPrefix("dray: the TLS connection to PostgreSQL failed: ")
                    && refused.errors.contains(words)
                    && refused.errors.contains("(cluster.databaseCertificate)\nSet sslrootcert"),
                "\(refused.errors)")
        }
        let verified = "sslmode=verify-full&sslrootcert="
        try await failure(
            url("other.example", verified + authority.certificate),
            #"server certificate for "db.example" does not match host name "other.example""#)
        try await failure(
            url("db.example", verified + other.certificate), "certificate verify failed")
        try await failure(
            url("db.example", verified + directory.path("none")), "root certificate file")
        #expect(try await server.execute("SELECT to_regclass('dray.catalog') IS NULL") == "t\n")

        let right = try await Self.migrate(
            url("db.example", verified + authority.certificate), in: directory)
        #expect(right.ending == .exited(0), "\(right.errors)")
        #expect(try await server.execute("SELECT to_regclass('dray.catalog') IS NULL") == "f\n")
        // What the manual warns of: without the mode, anybody's certificate does.
        let trusting = try await Self.migrate(url("other.example", ""), in: directory)
        #expect(trusting.ending == .exited(0), "\(trusting.errors)")
        // The server itself refuses to speak without TLS.
        let plain = try await Self.migrate(url("db.example", "sslmode=disable"), in: directory)
        #expect(plain.ending == .exited(3))
        #expect(plain.errors.contains("no encryption"), "\(plain.errors)")
        try await server.stop()
    }
}
