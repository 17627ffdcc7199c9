internal import Foundation
internal import Glibc
package import Testing

/// A real S3 server on a loopback port, with the bucket `edge`; stopped with the last reference.
package final class S3Server: Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        /// A simulation in Python. It does not check signatures.
        case moto
        /// Ceph's gateway over a cluster of its own.
        case radosgw

        /// True if its programs are installed.
        package var isInstalled: Bool {
            switch self {
            case .moto: S3Server.motoProgram != nil
            case .radosgw:
                ["radosgw", "ceph-mon", "ceph-osd", "ceph-mgr"].allSatisfy {
                    access("/usr/bin/\($0)", X_OK) == 0
                }
            }
        }
    }

    package static let needs: Comment =
        "needs Ceph's radosgw, or moto_server, or DRAY_TEST_MOTO: pip install 'moto[server]'"

    package static var installed: [Kind] { Kind.allCases.filter(\.isInstalled) }

    package let kind: Kind
    package let port: Int
    private let directory: TemporaryDirectory
    private let process: ChildProcess

    /// Variables for a client that uses it.
    package static let environment = [
        "AWS_ACCESS_KEY_ID": "draytest", "AWS_SECRET_ACCESS_KEY": "draytestsecret",
        "AWS_EC2_METADATA_DISABLED": "true",
    ]

    /// Variables for a client that is another user of radosgw.
    package static let otherEnvironment = [
        "AWS_ACCESS_KEY_ID": "drayother", "AWS_SECRET_ACCESS_KEY": "drayothersecret",
        "AWS_EC2_METADATA_DISABLED": "true",
    ]

    private static let moto = start(.moto)
    private static let radosgw = start(.radosgw)

    private static func start(_ kind: Kind) -> Task<S3Server, any Error> {
        Task.detached {
            let server = try await S3Server(kind)
            ExitCleanup.add {
                server.process.endNow(by: SIGTERM)
                server.directory.remove()
            }
            return server
        }
    }

    /// Returns the server that all suites of the process share; started on first use.
    package static func shared(_ kind: Kind) async throws -> S3Server {
        switch kind {
        case .moto: try await moto.value
        case .radosgw: try await radosgw.value
        }
    }

    /// `$DRAY_TEST_MOTO`, or else `moto_server` on the path; nil if it does not run.
    fileprivate static let motoProgram: String? = {
        let named = ProcessInfo.processInfo.environment["DRAY_TEST_MOTO"] ?? "moto_server"
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [named, "--help"]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return nil }
        process.waitUntilExit()
        return process.terminationStatus == 0 ? named : nil
    }()

    private init(_ kind: Kind) async throws {
        self.kind = kind
        directory = try TemporaryDirectory("s3")
        port = Int(try Socket.freePort())
        switch kind {
        case .moto:
            process = try ChildProcess(
                [Self.motoProgram ?? "moto_server", "-H", "127.0.0.1", "-p", "\(port)"],
                workingDirectory: directory.path)
        case .radosgw:
            let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .deletingLastPathComponent().deletingLastPathComponent()
                .appendingPathComponent("Services/radosgw").path
            process = try ChildProcess(
                [script, directory.path, "\(port)"], deathSignal: "TERM")
        }
        let (process, port) = (process, port)
        try await waitUntil(deadlineSeconds: 90, "\(kind): \(process.errors)") {
            switch kind {
            case .moto: Self.answers(port)
            case .radosgw: process.output.contains("ready")
            }
        }
        try await ChildProcess.run([
            "curl", "-fsS", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user",
            "draytest:draytestsecret", "-H",
            "x-amz-content-sha256: UNSIGNED-PAYLOAD", "-X", "PUT",
            "http://127.0.0.1:\(port)/edge",
        ])
    }

    private static func answers(_ port: Int) -> Bool {
        SocketTable.text().contains(
            ":" + String(port, radix: 16, uppercase: true) + " 00000000:0000 0A")
    }

    /// Returns header lines of an object of the bucket; names are in lower case.
    package func head(_ key: String) async throws -> [String: String] {
        let answer = try await ChildProcess.run([
            "curl", "-fsSI", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user",
            "draytest:draytestsecret", "http://127.0.0.1:\(port)/edge/\(key)",
        ])
        return answer.split(whereSeparator: \.isNewline).reduce(into: [:]) { headers, line in
            guard let colon = line.firstIndex(of: ":") else { return }
            headers[line[..<colon].lowercased()] =
                line[colon...].dropFirst().trimmingCharacters(in: .whitespaces)
        }
    }

    /// The URL of a site below a prefix of the bucket.
    package func url(_ prefix: String, port: Int? = nil) -> String {
        "s3://edge/\(prefix)?endpoint=http://127.0.0.1:\(port ?? self.port)"
    }
}
