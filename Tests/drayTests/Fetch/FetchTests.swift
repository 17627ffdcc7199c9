import Digest
import Foundation
import TestSupport
import Testing

/// `dray fetch`: the bytes in FILE or on stdout, its messages, and an unchanged FILE otherwise.
@Suite(.timeLimit(.minutes(2))) struct FetchTests {
    private let directory: TemporaryDirectory
    private static let body = [UInt8]("The quick brown fox".utf8)
    private static let digest = SHA256Digest(hashing: body).description

    init() throws { directory = try TemporaryDirectory("fetch") }

    private func start(_ arguments: [String]) throws -> ChildProcess {
        try DrayProcess.start(["fetch"] + arguments, workingDirectory: directory.path)
    }

    private func run(
        _ arguments: [String]
    ) async throws -> (ending: ChildProcess.Ending, output: String, errors: String) {
        let process = try start(arguments)
        return (try await process.wait(), process.output, process.errors)
    }

    private func file(_ name: String) -> [UInt8]? {
        FileManager.default.contents(atPath: directory.path(name)).map { Array($0) }
    }

    private struct Report: Decodable {
        struct Problem: Decodable {
            let code: String
        }

        let bytes: Int64
        let failure: Problem?
        let file: String?
        let finalURL: String?
        let httpVersion: String?
        let parts: Int
        let sha256: String?
        let status: Int?
        let url: String
        let verified: Bool
    }

    private func report(_ text: String) throws -> Report {
        try JSONDecoder().decode(Report.self, from: Data(text.utf8))
    }

    @Test func aFileIsNamedByItsURLAndItsFiguresAreReported() async throws {
        let origin = try FaultOrigin()
        origin.route(
            "/films/my%20film.mp4",
            .init(
                headers: [("Content-Disposition", "attachment; filename=evil.sh")], body: Self.body)
        )
        let fetched = try await run([origin.url("/films/my%20film.mp4?sig=secret")])
        #expect(fetched.ending == .exited(0), "\(fetched.errors)")
        #expect(fetched.output.isEmpty)
        #expect(try directory.files() == ["my film.mp4"])
        #expect(file("my film.mp4") == Self.body)
        #expect(fetched.errors.contains("my film.mp4: 19 B in "))
        #expect(fetched.errors.contains("first byte after "))
        #expect(fetched.errors.contains("SHA-256 \(Self.digest)"))
        #expect(!fetched.errors.contains("secret"))

        // A derived name overwrites nothing.
        let again = try await run([origin.url("/films/my%20film.mp4")])
        #expect(again.ending == .exited(2))
        #expect(again.errors.contains("already exists"))
        #expect(origin.requests.count == 1)
    }

    @Test func stdoutGetsTheBytesAndNothingElse() async throws {
        let origin = try FaultOrigin()
        origin.route("/x", .init(body: Self.body))
        let fetched = try await run(["-o", "-", origin.url("/x")])
        #expect(fetched.ending == .exited(0), "\(fetched.errors)")
        #expect(Array(fetched.output.utf8) == Self.body)
        #expect(fetched.errors.contains("SHA-256 \(Self.digest)"))
        let quiet = try await run(["--quiet", "--output=-", origin.url("/x")])
        #expect(quiet.output == fetched.output)
        #expect(quiet.errors.isEmpty)
        #expect(try directory.files().isEmpty)
    }

    /// A file that the shell opened is written to, not replaced.
    @Test func theNameOfStdoutIsWhatTheShellOpened() async throws {
        let origin = try FaultOrigin()
        origin.route("/x", .init(body: Self.body))
        let script = "{ printf 'before '; \"$0\" fetch --quiet -o /dev/stdout \"$1\"; } > out"
        let shell = try ChildProcess(
            ["sh", "-c", script, try DrayProcess.binary(), origin.url("/x")],
            workingDirectory: directory.path)
        #expect(try await shell.wait() == .exited(0), "\(shell.errors)")
        #expect(file("out") == Array("before ".utf8) + Self.body)
        #expect(try directory.files() == ["out"])
    }

    @Test func jsonReportsTheResponse() async throws {
        let origin = try FaultOrigin()
        origin.route("/old", .redirect(to: "/new?token=secret"))
        origin.route("/new", .init(body: Self.body))
        let fetched = try await run([
            "--json", "--quiet", "-o", "f", "--expect-sha256", Self.digest.uppercased(),
            origin.url("/old?key=secret"),
        ])
        #expect(fetched.ending == .exited(0), "\(fetched.errors)")
        #expect(fetched.errors.isEmpty)
        let report = try report(fetched.output)
        #expect(report.bytes == 19 && report.status == 200 && report.httpVersion == "1.1")
        #expect(report.sha256 == Self.digest && report.verified && report.failure == nil)
        #expect(report.finalURL == origin.url("/new?…") && report.file == "f")
        #expect(!fetched.output.contains("secret"))
    }

    @Test(arguments: ["/404", "/cut", "/page.mp4", "/changed"])
    func aFailureLeavesTheFileAsItWas(path: String) async throws {
        let origin = try FaultOrigin()
        origin.route("/cut", FaultOrigin.Response(body: Self.body).cut(after: 7))
        origin.route("/page.mp4", .htmlPage())
        origin.route("/changed", .init(body: Self.body))
        try directory.write([1, 2, 3], to: "f")
        let expected = ["--expect-sha256", String(repeating: "0", count: 64)]
        let fetched = try await run(
            ["--json", "-o", "f", origin.url(path), "--retries", "0"] + expected)
        #expect(fetched.ending == .exited(1))
        #expect(try directory.files() == ["f"])
        #expect(file("f") == [1, 2, 3])
        let codes = [
            "/404": "origin.http.404", "/cut": "content.lengthMismatch",
            "/page.mp4": "content.unexpectedType", "/changed": "integrity.digestMismatch",
        ]
        let code = try report(fetched.output).failure?.code
        // libcurl or the length detects a body that ends early, whichever is first.
        #expect(code == codes[path] || path == "/cut" && code == "origin.truncated")
    }

    @Test(arguments: [
        (["ftp://h/x"], "the URL must start with http://"), (["http://u:p@h/x"], "a user name"),
        (["http://h/"], "index.html"),
        (["http://h/x", "-o", "no/f"], "no/f: No such file"), (["http://h/x", "-o", "."], "is a"),
        (["http://h/x", "--header", "Range: bytes=0-"], "set by Dray"),
        (["http://h/x", "--header", "no colon"], "Name: value"),
        (["http://h/x", "--expect-sha256", "abc"], "64 hex digits"),
        (["http://h/x", "--json", "-o", "-"], "both write to stdout"),
    ])
    func badInputSendsNoRequestAndWritesNothing(arguments: [String], message: String) async throws {
        try directory.write([1], to: "index.html")
        let fetched = try await run(arguments)
        #expect(fetched.ending == .exited(2))
        #expect(fetched.errors.contains(message), "\(fetched.errors)")
        #expect(try directory.files() == ["index.html"])
    }

    @Test func headersGoToTheOriginThatTheyAreForAlone() async throws {
        let elsewhere = try FaultOrigin()
        elsewhere.route("/x", .init(body: Self.body))
        let origin = try FaultOrigin()
        origin.route("/x", .redirect(to: elsewhere.url("/x")))
        let fetched = try await run(["--header", "X-Key: s3cret", "-o", "f", origin.url("/x")])
        #expect(fetched.ending == .exited(0), "\(fetched.errors)")
        #expect(origin.requests.first?.headers["x-key"] == "s3cret")
        #expect(elsewhere.requests.first.map { $0.headers["x-key"] == nil } == true)
    }

    @Test func aLargeFileComesInPartsAndWhole() async throws {
        let body = (0..<40).flatMap { [UInt8](repeating: $0, count: 1 << 20) }
        try directory.write(body, to: "root/large.bin")
        let server = try await NginxServer(root: directory.path("root"))
        let digest = SHA256Digest(hashing: body).description
        let fetched = try await run([
            "--json", "--connections", "3", "-o", "copy", "\(server.url)/large.bin",
            "--expect-sha256", digest,
        ])
        #expect(fetched.ending == .exited(0), "\(fetched.errors)")
        let report = try report(fetched.output)
        #expect(report.sha256 == digest && report.bytes == Int64(body.count) && report.verified)
        #expect(report.parts == 3)
        #expect(file("copy") == body)
    }

    @Test func ctrlCEndsItAndKeepsNothing() async throws {
        let gate = Gate()
        defer { gate.open() }
        let origin = try FaultOrigin()
        origin.route("/x", FaultOrigin.Response(body: Self.body).held(after: 5, at: gate))
        let process = try start(["-o", "f", origin.url("/x")])
        try await waitUntil(deadlineSeconds: 60, "the request") { origin.requests.count == 1 }
        process.signal(SIGINT)
        #expect(try await process.wait() == .exited(130))
        #expect(try directory.files().isEmpty)
    }
}
