internal import Foundation
internal import Glibc
package import Testing

/// An origin, and two POPs of a real cache in front of it, until the last reference is gone.
package final class CacheServers: Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case varnish, trafficserver, nginx

        private var program: String {
            switch self {
            case .varnish: "/usr/sbin/varnishd"
            case .trafficserver: "/usr/bin/traffic_server"
            case .nginx: "/usr/sbin/nginx"
            }
        }

        fileprivate var isInstalled: Bool {
            access(program, X_OK) == 0 && access("/usr/sbin/nginx", X_OK) == 0
        }
    }

    package static let needs: Comment = "needs scripts/install-packages test"
    package static var installed: [Kind] { Kind.allCases.filter(\.isInstalled) }

    package let kind: Kind
    private let originPort: Int
    private let port: Int
    private let isEncrypted: Bool
    private let directory: TemporaryDirectory
    private let process: ChildProcess

    /// - Parameter certificate: POPs of nginx serve TLS with it; nil for plain HTTP.
    package init(_ kind: Kind, certificate: TestCertificate? = nil) async throws {
        self.kind = kind
        isEncrypted = certificate != nil
        directory = try TemporaryDirectory("caches")
        originPort = Int(try Socket.freePort())
        port = Int(try Socket.freePort())
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Services/caches").path
        process = try ChildProcess(
            [script, kind.rawValue, directory.path, "\(originPort)", "\(port)"]
                + (certificate.map { [$0.certificate, $0.key] } ?? []),
            deathSignal: "TERM")
        let process = process
        try await waitUntil(deadlineSeconds: 60, "\(kind): \(process.errors)") {
            process.output.contains("ready") || process.ending != nil
        }
        try #require(process.ending == nil, "\(process.errors)")
    }

    /// The script ends the servers, unless it is killed.
    deinit { process.endNow(by: SIGTERM) }

    /// Ends the servers.
    package func stop() async throws {
        process.signal(SIGTERM)
        _ = try await process.wait()
    }

    package var origin: String { "http://127.0.0.1:\(originPort)" }
    package var pops: [String] { ["127.0.0.2:\(port)", "127.0.0.3:\(port)"] }

    /// The name and port of the edge, which no resolver knows.
    package var host: String { "edge.example:\(port)" }

    /// The edge's scheme, name and port.
    package var edge: String { "\(isEncrypted ? "https" : "http")://\(host)" }

    /// The site of `pops`, or of others.
    package func site(_ pops: [String]? = nil) -> String {
        "cache:\(edge)?"
            + (pops ?? self.pops).map { "pop=\($0)" }.joined(separator: "&")
    }

    /// The address of a POP that does not run.
    package var absentPOP: String { "127.0.0.4:\(port)" }

    /// Writes a file that the origin serves under `path`.
    package func serve(_ path: String, _ bytes: [UInt8]) throws {
        let file = URL(fileURLWithPath: directory.path("files/\(path)"))
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: file)
    }

    /// Deletes what the first POP, of nginx, has stored.
    package func evict() throws {
        let stored = directory.path("pop2/cache")
        for file in try FileManager.default.contentsOfDirectory(atPath: stored) {
            try FileManager.default.removeItem(atPath: "\(stored)/\(file)")
        }
    }

    /// Request lines that the origin got.
    package var originRequests: [String] { quoted("origin").map(\.line) }

    /// Host headers that the origin got; the POPs pass on what they got.
    package var originHosts: [String] { quoted("origin").map(\.host) }

    /// Requests that a POP of nginx got for a path: the Host header, and the name of the TLS handshake.
    package func popRequests(_ number: Int, for path: String) -> [(host: String, name: String)] {
        quoted("pop\(number)").filter { $0.line.hasPrefix("GET \(path) ") }
            .map { ($0.host, $0.name) }
    }

    /// The quoted fields of an access log.
    private func quoted(_ server: String) -> [(line: String, host: String, name: String)] {
        let log = FileManager.default.contents(atPath: directory.path("\(server)/access.log"))
        return String(decoding: log ?? Data(), as: UTF8.self).split(separator: "\n").map { line in
            let parts = line.split(separator: "\"", omittingEmptySubsequences: false).map(
                String.init)
            return parts.count > 5 ? (parts[1], parts[3], parts[5]) : ("", "", "")
        }
    }
}
