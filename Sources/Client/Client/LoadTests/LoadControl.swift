import EventLoop
import Foundation
import Glibc
import LoadModel
package import Model
import Synchronization
import Text

/// Takes changes of a running load test on a Unix socket, which only its user can reach.
///
/// A client sends one line, the new load, and gets one line: `ok`, or the code of a failure and its
/// message. Safe from any thread.
package final class LoadControl: Sendable {
    /// Handles a line; throws to reject it.
    typealias Handler = @Sendable (_ text: String) async throws -> Void

    private static let maxBytes = 64
    private static let maxClients = 8
    /// Seconds after which a silent client is dropped.
    private static let clientSeconds = 5.0
    /// Seconds for which a client waits for its answer: a coordinator may have to be asked first,
    /// which may take its timeout at every endpoint.
    package static let answerSeconds = 45.0

    private let loop: EventLoop
    private let path: String
    private let listener: Int32
    /// Number of connected clients.
    private let clients = Mutex(0)

    /// Creates the socket of this process.
    init(_ handle: @escaping Handler) throws {
        path = try Self.path(ofProcess: getpid())
        Self.removeSockets(in: (path as NSString).deletingLastPathComponent)
        listener = try Self.listen(path)
        loop = try EventLoop(name: "control")
        loop.execute { [weak self] in
            guard let self else { return }
            try? loop.register(listener, for: .readable) { [weak self] _, _ in
                self?.accept(handle)
            }
        }
    }

    /// Removes the socket.
    func close() {
        unlink(path)
        loop.shutdown()
        Glibc.close(listener)
    }

    /// Parses a line, a number, and changes the load of a session.
    static func change(_ session: LoadTestSession, _ text: String) async throws {
        guard let (level, rest) = LoadText.number(text[...]), rest.isEmpty else {
            throw Failure(
                .inputField, at: .field("level"), "given \"\(printable(text))\"",
                allowed: "a number, 0 or more")
        }
        try await session.change(to: level)
    }

    // MARK: Serving, on the loop

    private func accept(_ handle: @escaping Handler) {
        let client = Glibc.accept(listener, nil, nil)
        guard client >= 0 else { return }
        _ = fcntl(client, F_SETFD, FD_CLOEXEC)
        _ = fcntl(client, F_SETFL, O_NONBLOCK)
        guard clients.withLock({ $0 }) < Self.maxClients else {
            Glibc.close(client)
            return
        }
        clients.withLock { $0 += 1 }
        let end: @Sendable () -> Void = { [weak self] in
            guard let self else { return }
            if loop.isRegistered(client) { loop.deregister(client) }
            Glibc.close(client)
            clients.withLock { $0 -= 1 }
        }
        var line: [UInt8] = []
        let timer = loop.schedule(afterSeconds: Self.clientSeconds) { end() }
        let read: (Int32, Readiness) -> Void = { [weak self] _, _ in
            var buffer = [UInt8](repeating: 0, count: Self.maxBytes)
            let count = recv(client, &buffer, buffer.count, 0)
            if count > 0 { line += buffer.prefix(count) }
            guard count <= 0 || line.contains(10) || line.count >= Self.maxBytes else { return }
            timer.cancel()
            guard line.contains(10) else { return end() }
            // It is answered once, however much more it sends.
            self?.loop.deregister(client)
            let text = String(decoding: line.prefix { $0 != 10 }, as: UTF8.self)
            Task { [weak self] in
                Self.answer(client, await Self.result(text, handle))
                self?.loop.execute { end() }
            }
        }
        do { try loop.register(client, for: .readable, handler: read) } catch {
            timer.cancel()
            end()
        }
    }

    private static func result(_ text: String, _ handle: Handler) async -> String {
        do {
            try await handle(text)
            return "ok"
        } catch {
            let failure = error as? Failure ?? Failure(.workerInternal, "\(error)")
            return "\(failure.code) \(printable(failure.message))"
        }
    }

    private static func answer(_ client: Int32, _ text: String) {
        let bytes = Array("\(text)\n".utf8)
        // A client that does not read loses its answer.
        _ = Glibc.send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    // MARK: Client

    /// Sends a new load to the test of a process.
    ///
    /// Throws `input.unreadable` if it has none, `cluster.coordinatorUnreachable` if it does not answer,
    /// and the failure for which it rejects the load.
    ///
    /// - Parameter seconds: maximum wait for the answer.
    package static func send(
        _ load: String, toProcess process: Int32, atMostSeconds seconds: Double = answerSeconds
    ) throws(Failure) {
        let path = try path(ofProcess: process)
        guard let answer = exchange("\(load)\n", path, seconds) else {
            throw Failure(
                .inputUnreadable,
                "process \(process) is not a running load test of this user: \(printable(path)) does "
                    + "not answer",
                hint:
                    "Give the process id of a running `dray loadtest` of this user; "
                    + "`pgrep -f 'dray loadtest'` lists them.")
        }
        guard !answer.isEmpty else {
            throw Failure(
                .clusterCoordinatorUnreachable,
                "the load test of process \(process) did not answer in time; the change may have been "
                    + "made",
                hint:
                    "Look at the load that the test shows, and repeat the command if it is the old "
                    + "one. If the test runs on a cluster, `dray doctor` checks its coordinators.")
        }
        guard answer != "ok" else { return }
        let parts = answer.split(separator: " ", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { throw Failure(.workerInternal, printable(answer)) }
        throw Failure(FailureCode(parts[0]), printable(parts[1]))
    }

    /// Returns the answer without its line end, empty if none comes; nil if no test listens.
    private static func exchange(_ text: String, _ path: String, _ seconds: Double) -> String? {
        let client = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard client >= 0 else { return nil }
        defer { Glibc.close(client) }
        var limit = timeval(
            tv_sec: Int(seconds), tv_usec: Int(seconds.truncatingRemainder(dividingBy: 1) * 1e6))
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
        setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
        guard withAddress(path, { connect(client, $0, $1) }) == 0 else { return nil }
        let bytes = Array(text.utf8)
        guard Glibc.send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            return ""
        }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while answer.count < buffer.count {
            let count = recv(client, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            answer += buffer.prefix(count)
        }
        return String(decoding: answer.prefix { $0 != 10 }, as: UTF8.self)
    }

    // MARK: Sockets

    /// Returns the path of a process's socket, in a directory that only this user can reach.
    private static func path(ofProcess process: Int32) throws(Failure) -> String {
        let folder: String
        if let runtime = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"],
            runtime.hasPrefix("/")
        {
            folder = "\(runtime)/dray"
        } else {
            folder = "/tmp/dray-\(geteuid())"
        }
        mkdir(folder, 0o700)
        var status = stat()
        guard lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR,
            status.st_uid == geteuid(), status.st_mode & 0o077 == 0
        else {
            throw Failure(
                .inputUnreadable,
                "\(printable(folder)) is not a directory that only this user can reach",
                hint: "Give it mode 0700 and this user as its owner, or set XDG_RUNTIME_DIR to "
                    + "another directory, also for the load test.")
        }
        return "\(folder)/loadtest-\(process).sock"
    }

    private static func listen(_ path: String) throws -> Int32 {
        let kind = Int32(
            SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let listener = socket(AF_UNIX, kind, 0)
        guard listener >= 0 else { throw EventLoopError(call: "socket", code: errno) }
        // That of an earlier process with the same number.
        unlink(path)
        guard withAddress(path, { bind(listener, $0, $1) }) == 0,
            Glibc.listen(listener, Int32(maxClients)) == 0
        else {
            let code = errno
            Glibc.close(listener)
            throw EventLoopError(call: "bind", code: code)
        }
        return listener
    }

    /// Calls `body` with a socket's address; returns -1 for a path that is too long.
    private static func withAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return -1 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, size) }
        }
    }

    /// Removes the sockets of processes that were killed.
    private static func removeSockets(in folder: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for name in names {
            guard name.hasPrefix("loadtest-"), name.hasSuffix(".sock"),
                let process = Int32(name.dropFirst(9).dropLast(5)),
                kill(process, 0) != 0, errno == ESRCH
            else { continue }
            unlink("\(folder)/\(name)")
        }
    }
}
