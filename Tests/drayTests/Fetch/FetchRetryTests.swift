import Digest
import Foundation
import Synchronization
import TestSupport
import Testing

/// `dray fetch` if an origin does not send the file at once: it retries, resumes where a body
/// was interrupted, in the same run and the next, and mixes no versions.
@Suite(.timeLimit(.minutes(3))) struct FetchRetryTests {
    private let directory: TemporaryDirectory
    private let origin: FaultOrigin
    private static let body = (0..<(3 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 7) }
    private static let cut = 2 << 20
    private static let kept = [".f.dray-part", ".f.dray-part.record"]

    init() throws {
        directory = try TemporaryDirectory("fetch")
        origin = try FaultOrigin()
    }

    private struct Report: Decodable {
        struct Problem: Decodable {
            let code: String
        }

        let bytes: Int64
        let failure: Problem?
        let keptBytes: Int64?
        let resumedBytes: Int64?
        let retries: Int
        let sha256: String?
        let verified: Bool
    }

    private func start(_ arguments: [String]) throws -> ChildProcess {
        try DrayProcess.start(["fetch"] + arguments, workingDirectory: directory.path)
    }

    private func fetch(
        _ options: String..., path: String = "/f"
    ) async throws -> (ending: ChildProcess.Ending, report: Report, errors: String) {
        let process = try start(["--json", "-o", "f", origin.url(path)] + options)
        let ending = try await process.wait()
        let report = try JSONDecoder().decode(Report.self, from: Data(process.output.utf8))
        return (ending, report, process.errors)
    }

    private func ranges() -> [String?] { origin.requests.map { $0.headers["range"] } }

    /// Cuts the first answers short.
    private func serve(_ body: [UInt8] = body, cutting cuts: Int, etag: String? = "\"v1\"") {
        origin.route("/f") { request in
            let answer = request.serve(body, etag: etag)
            return request.number <= cuts ? answer.cut(after: Self.cut) : answer
        }
    }

    @Test func whatMayGoAwayByItselfIsTriedAgainFromWhereItBrokeOff() async throws {
        origin.route("/f") { request in
            let answer = request.serve(Self.body, etag: "\"v1\"")
            switch request.number {
            case 1: return FaultOrigin.Response(503, headers: [("Retry-After", "2")])
            case 2: return answer.cut(after: 12_345)
            default: return answer
            }
        }
        let fetched = try await fetch()
        #expect(fetched.ending == .exited(0), "\(fetched.errors)")
        #expect(fetched.report.retries == 2 && fetched.report.bytes == Self.body.count)
        #expect(fetched.report.sha256 == SHA256Digest(hashing: Self.body).description)
        #expect(ranges() == [nil, nil, "bytes=12345-"])
        #expect(origin.requests.last?.headers["if-range"] == "\"v1\"")
        // As long as it was asked to wait.
        let times = origin.requests.map(\.receivedAt)
        #expect(times[1] - times[0] >= 2)
        #expect(fetched.errors.contains("retrying in 2"))
        #expect(try directory.files() == ["f"])
        #expect(try directory.read("f") == Self.body)
    }

    @Test(arguments: [("/missing", 1), ("/busy", 3)])
    func theTableDecidesOnRetries(path: String, requests: Int) async throws {
        origin.route("/busy", .init(500))
        let fetched = try await fetch("--retries", "2", path: path)
        #expect(fetched.ending == .exited(1))
        #expect(fetched.report.retries == requests - 1)
        #expect(origin.requests.count == requests)
        #expect(try directory.files().isEmpty)
    }

    @Test func theNextRunResumesAfterAFailure() async throws {
        serve(cutting: 1)
        let first = try await fetch("--retries", "0")
        #expect(first.ending == .exited(1))
        #expect(first.report.keptBytes == Int64(Self.cut))
        #expect(first.errors.contains("2.00 MiB kept") || first.errors.contains("2 MiB kept"))
        #expect(try directory.files() == Self.kept)
        // What the origin rejects meanwhile costs nothing of it.
        origin.route("/f", .init(403))
        #expect(try await fetch().report.keptBytes == Int64(Self.cut))
        serve(cutting: 0)
        let last = try await fetch("--expect-sha256", SHA256Digest(hashing: Self.body).description)
        #expect(last.ending == .exited(0), "\(last.errors)")
        #expect(last.report.resumedBytes == Int64(Self.cut) && last.report.verified)
        #expect(last.report.bytes == Self.body.count)
        #expect(ranges() == [nil, "bytes=\(Self.cut)-", "bytes=\(Self.cut)-"])
        #expect(try directory.files() == ["f"])
        #expect(try directory.read("f") == Self.body)
    }

    @Test func theNextRunResumesAfterAnInterruption() async throws {
        for number in [SIGINT, SIGKILL] {
            let body = [UInt8](repeating: UInt8(number), count: 20 << 20)
            let gate = Gate()
            defer { gate.open() }
            let path = "/\(number)"
            origin.route(path) { request in
                let answer = request.serve(body, etag: "\"v1\"")
                return request.number == 1 ? answer.held(after: 18 << 20, at: gate) : answer
            }
            let process = try start(["-o", "f", origin.url(path)])
            try await waitUntil(deadlineSeconds: 60, "a record of what has come") {
                try directory.files().contains(Self.kept[1])
                    && directory.read(Self.kept[1]).suffix(4) == Array("end\n".utf8)[...]
            }
            process.signal(number)
            #expect(
                try await process.wait() == (number == SIGINT ? .exited(130) : .signalled(SIGKILL)))
            #expect(try directory.files() == Self.kept)
            if number == SIGINT { #expect(process.errors.contains("kept")) }
            let next = try await fetch(path: path)
            #expect(next.ending == .exited(0), "\(next.errors)")
            #expect(try #require(next.report.resumedBytes) >= 8 << 20)
            #expect(try directory.read("f") == body)
            #expect(try directory.files() == ["f"])
            try FileManager.default.removeItem(atPath: directory.path("f"))
        }
    }

    @Test func aShortFileIsResumedAfterAnInterruption() async throws {
        let (gate, received) = (Gate(), 80_000)
        defer { gate.open() }
        let body = Array(Self.body.prefix(512 << 10))
        origin.route("/f") { request in
            let answer = request.serve(body, etag: "\"v1\"")
            return request.number == 1 ? answer.held(after: received, at: gate) : answer
        }
        let process = try start(["-o", "f", origin.url("/f")])
        try await waitUntil(deadlineSeconds: 60, "the bytes before the gate") {
            try directory.files().contains(Self.kept[0])
                && directory.read(Self.kept[0]).count == received
        }
        process.signal(SIGINT)
        #expect(try await process.wait() == .exited(130))
        let next = try await fetch()
        #expect(next.ending == .exited(0) && next.report.resumedBytes == Int64(received))
        #expect(ranges() == [nil, "bytes=\(received)-"])
        #expect(try directory.read("f") == body)
        #expect(try directory.files() == ["f"])
    }

    @Test func aRunInterruptedBeforeARetryReportsIt() async throws {
        origin.route("/f") { request in
            if request.number == 1 {
                return request.serve(Self.body, etag: "\"v1\"").cut(after: Self.cut)
            }
            return FaultOrigin.Response(429, headers: [("Retry-After", "600")])
        }
        let process = try start(["-o", "f", origin.url("/f")])
        try await waitUntil(deadlineSeconds: 60, "the wait") {
            process.errors.contains("429 (origin.http.429); retrying")
        }
        process.signal(SIGINT)
        #expect(try await process.wait() == .exited(130))
        #expect(process.errors.contains("interrupted; 2.00 MiB kept"), "\(process.errors)")
        #expect(try directory.files() == Self.kept)
    }

    @Test func aFileThatIsReplacedKeepsItsPermissions() async throws {
        serve(cutting: 0)
        for mode in [0o600, 0o640] {
            _ = try directory.write("before", to: "f")
            #expect(chmod(directory.path("f"), mode_t(mode)) == 0)
            #expect(try await fetch().ending == .exited(0))
            var status = stat()
            #expect(stat(directory.path("f"), &status) == 0 && Int(status.st_mode & 0o777) == mode)
            #expect(try directory.read("f") == Self.body)
        }
    }

    @Test(arguments: ["another version", "no ranges", "other bytes", "another URL", "no record"])
    func unprovenBodiesStartOver(case name: String) async throws {
        serve(cutting: 1)
        _ = try await fetch("--retries", "0")
        #expect(try directory.files() == Self.kept)
        var body = Self.body
        switch name {
        case "another version":
            body = body.map { ~$0 }
            let new = body
            origin.route("/f") { $0.serve(new, etag: "\"v2\"") }
        case "no ranges": origin.route("/f", .init(headers: [("ETag", "\"v1\"")], body: body))
        case "other bytes":
            var lost = try directory.read(Self.kept[0])
            lost[7] ^= 1
            try directory.write(lost, to: Self.kept[0])
        case "another URL":
            body = body.map { ~$0 }
            origin.serve("/g", body, etag: "\"v1\"")
        default: try FileManager.default.removeItem(atPath: directory.path(Self.kept[1]))
        }
        let fetched = try await fetch(path: name == "another URL" ? "/g" : "/f")
        #expect(fetched.ending == .exited(0), "\(fetched.errors)")
        #expect(try directory.read("f") == body)
        #expect(try directory.files() == ["f"])
    }

    /// Whoever may write to the directory chooses what the names lead to.
    @Test(arguments: [0, 1], [true, false])
    func aLinkWithAKeptFilesNameIsNotFollowed(place: Int, isHard: Bool) async throws {
        serve(cutting: 1)
        try directory.write([1, 2, 3], to: "precious")
        let (precious, name) = (directory.path("precious"), directory.path(Self.kept[place]))
        #expect((isHard ? link(precious, name) : symlink(precious, name)) == 0)
        let first = try await fetch("--retries", "0")
        #expect(first.ending == .exited(1))
        let last = try await fetch()
        #expect(last.ending == .exited(0), "\(last.errors)")
        #expect(try directory.read("f") == Self.body)
        #expect(try directory.read("precious") == [1, 2, 3])
    }

    @Test func nothingIsKeptThatCannotBeResumed() async throws {
        serve(cutting: 9, etag: nil)
        let fetched = try await fetch("--retries", "1")
        #expect(fetched.ending == .exited(1) && fetched.report.keptBytes == nil)
        #expect(ranges() == [nil, nil])
        #expect(try directory.files().isEmpty)
    }

    @Test func twoAtOnceDoNotConflict() async throws {
        let gate = Gate()
        defer { gate.open() }
        origin.route("/f") { request in
            let answer = request.serve(Self.body, etag: "\"v1\"")
            return request.number == 1 ? answer.held(after: Self.cut, at: gate) : answer
        }
        let first = try start(["-o", "f", origin.url("/f")])
        try await gate.waitUntilReached()
        #expect(try await fetch().ending == .exited(0))
        #expect(try directory.read("f") == Self.body)
        gate.open()
        #expect(try await first.wait() == .exited(0), "\(first.errors)")
        #expect(try directory.read("f") == Self.body)
        #expect(try directory.files() == ["f"])
    }

    @Test func aPipeGetsEachByteOnce() async throws {
        let body = Self.body.map { 0x20 + $0 % 64 }
        serve(body, cutting: 1)
        let process = try start(["-o", "-", origin.url("/f")])
        #expect(try await process.wait() == .exited(0), "\(process.errors)")
        #expect(Array(process.output.utf8) == body)
        #expect(ranges() == [nil, "bytes=\(Self.cut)-"])
        // What it has got cannot be taken back.
        origin.route("/g") { request in
            request.serve(body).cut(after: request.number == 1 ? Self.cut : body.count)
        }
        let other = try start(["-o", "-", origin.url("/g")])
        #expect(try await other.wait() == .exited(2))
        #expect(other.errors.contains("cannot restart"))
        #expect(Array(other.output.utf8) == Array(body[..<Self.cut]))
    }

    @Test func theAnswersOwnDigestsCount() async throws {
        let digest = SHA256Digest(hashing: Self.body).withUnsafeBytes { Data($0) }
            .base64EncodedString()
        origin.route("/f") { $0.serve(Self.body).with("Repr-Digest", "sha-256=:\(digest):") }
        #expect(try await fetch().report.verified)
        serve(cutting: 0)
        #expect(try await !fetch().report.verified)
        // Of what broke off, and comes with none the second time.
        origin.route("/f") { request in
            let answer = request.serve(Self.body, etag: "\"v1\"")
            guard request.headers["range"] == nil else { return answer }
            return answer.with("Repr-Digest", "sha-256=:\(digest):").cut(after: Self.cut)
        }
        #expect(try await fetch().report.verified)
    }

    /// One part gets a Retry-After, and unstarted ones wait with it.
    @Test func aFileInPartsIsNotResumedWhileAPartIsUnknown() async throws {
        let body = (0..<40).flatMap { [UInt8](repeating: $0, count: 1 << 20) }
        let counts = Counter()
        origin.route("/f") { request in
            let start = request.range(within: body.count)?.lowerBound ?? 0
            guard start != 16 << 20 || counts.count(start) > 1 else {
                return FaultOrigin.Response(503, headers: [("Retry-After", "6")])
            }
            return request.serve(body, etag: "\"v1\"")
        }
        let fetched = try await fetch("--connections", "2")
        #expect(fetched.ending == .exited(0), "\(fetched.errors)")
        #expect(fetched.report.retries == 1)
        #expect(try directory.read("f") == body)
        let times = origin.requests.filter { $0.headers["range"]?.contains("=16777216-") == true }
            .map(\.receivedAt)
        #expect(times.count == 2 && times[1] - times[0] >= 6)
    }

    @Test func whereRangesAreServedWrongTheFileComesInOne() async throws {
        let body = (0..<20).flatMap { [UInt8](repeating: $0, count: 1 << 20) }
        origin.route("/f") { request in
            let answer = request.serve(body, etag: "\"v1\"")
            guard request.headers["range"] != nil else { return answer }
            return answer.with("Content-Range", "bytes 0-\(body.count - 1)/\(body.count)")
        }
        let fetched = try await fetch("--connections", "2")
        #expect(fetched.ending == .exited(0), "\(fetched.errors)")
        #expect(try directory.read("f") == body)
        let ranges = origin.requests.map { $0.headers["range"] }
        #expect(ranges == [nil, "bytes=16777216-20971519", nil])
    }

    @Test func ofAFileInPartsEachIsTriedAgainAndTheWholeIsCompared() async throws {
        let body = (0..<40).flatMap { [UInt8](repeating: $0, count: 1 << 20) }
        var digest = SHA256Digest(hashing: body).withUnsafeBytes { Data($0) }
        for isRight in [true, false] {
            if !isRight { digest[0] ^= 1 }
            let text = digest.base64EncodedString()
            let path = "/\(isRight)"
            let counts = Counter()
            origin.route(path) { request in
                let answer = request.serve(body, etag: "\"v1\"")
                    .with("Repr-Digest", "sha-256=:\(text):")
                // The first try of the first and of the second part.
                let start = request.range(within: body.count)?.lowerBound ?? 0
                let isFirst = counts.count(start) == 1
                return isFirst && start <= 16 << 20 && isRight ? answer.cut(after: 1 << 20) : answer
            }
            let fetched = try await fetch(
                "--connections", "2", "--retries", isRight ? "3" : "0", path: path)
            #expect(fetched.ending == .exited(isRight ? 0 : 1), "\(fetched.errors)")
            #expect(fetched.report.verified == isRight)
            if isRight {
                #expect(fetched.report.retries == 2)
                #expect(try directory.read("f") == body)
            } else {
                #expect(fetched.report.failure?.code == "integrity.digestMismatch")
            }
        }
        #expect(try directory.files() == ["f"])
    }
}

/// How often something was seen.
private final class Counter: Sendable {
    private let counts = Mutex<[Int: Int]>([:])

    /// This time included.
    func count(_ value: Int) -> Int {
        counts.withLock { counts in
            counts[value, default: 0] += 1
            return counts[value] ?? 0
        }
    }
}
