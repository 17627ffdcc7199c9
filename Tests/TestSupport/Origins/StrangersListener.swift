internal import Glibc

/// A process of another user, Debian's `nobody`, that listens on loopback and records what it
/// receives. Needs root.
package final class StrangersListener: Sendable {
    package static let user: UInt32 = 65_534
    package let port: Int
    private let process: ChildProcess

    /// Starts the process.
    ///
    /// - Parameters:
    ///   - prefix: words before the command, such as `nsenter`.
    ///   - accepts: true accepts connections and responds with 200; otherwise they wait in the
    ///     socket's queue.
    package init(
        _ prefix: [String] = [], address: String = "127.0.0.1", port: Int = 0, accepts: Bool = true
    ) async throws {
        let loop =
            accepts
            ? """
            while (my $c = $s->accept) { sysread($c, my $b, 65536); print "<$b>\\n";
            syswrite($c, "HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n"); close $c }
            """ : "sleep 600"
        let script = """
            use IO::Socket::INET; $| = 1;
            my $s = IO::Socket::INET->new(LocalAddr => "\(address)", LocalPort => \(port), Listen => 8,
            ReuseAddr => 1) or die "$!"; print $s->sockport, "\\n"; \(loop)
            """
        let process = try ChildProcess(
            prefix + [
                "setpriv", "--reuid=\(Self.user)", "--regid=\(Self.user)", "--clear-groups",
                "--pdeathsig=KILL", "perl", "-e", script,
            ])
        try await waitUntil(deadlineSeconds: 30, "the stranger listens") {
            guard process.ending == nil else { throw POSIXFailure(process.errors) }
            return process.output.contains("\n")
        }
        self.process = process
        self.port = Int(process.output.prefix { $0 != "\n" }) ?? 0
    }

    package var url: String { "http://127.0.0.1:\(port)" }

    /// All requests so far.
    package var received: String { String(process.output.drop { $0 != "<" }) }

    package func end() async throws {
        process.signal(SIGKILL)
        try await process.wait()
    }
}
