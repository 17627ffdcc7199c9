internal import Foundation
internal import Glibc

/// A real nginx over a directory, on its own loopback port; stopped with the last reference.
package final class NginxServer: Sendable {
    /// One line of the access log.
    package struct Request: Sendable {
        package let method: String
        /// The requested target with its query.
        package let target: String
        package let status: Int
        /// Bytes of the body.
        package let bytesSent: Int64
        /// The Range header; nil without one.
        package let range: String?
        /// `HTTP/1.1` or `HTTP/2.0`.
        package let version: String
        /// Number of its connection.
        package let connection: Int
        /// Time from its first byte to the last byte of the response.
        package let seconds: Double
        /// Its end in seconds since 1970, to the millisecond.
        package let ended: Double
    }

    /// TLS, with or without HTTP/2.
    package struct Encryption: Sendable {
        package let certificate: TestCertificate
        package let offersHTTP2: Bool

        package init(_ certificate: TestCertificate, offersHTTP2: Bool = false) {
            self.certificate = certificate
            self.offersHTTP2 = offersHTTP2
        }
    }

    package let port: UInt16
    private let isEncrypted: Bool
    private let directory: TemporaryDirectory
    private let process: ChildProcess

    /// Starts nginx and waits until it accepts connections.
    ///
    /// - Parameters:
    ///   - root: the served directory.
    ///   - configuration: lines added to the `server` block.
    ///   - requestsPerSecond: limit per second, beyond which requests wait, so that a run has a
    ///     known minimum duration.
    ///   - encryption: nil for plain HTTP.
    package init(
        root: String, configuration: String = "", requestsPerSecond: Int? = nil,
        encryption: Encryption? = nil
    ) async throws {
        let directory = try TemporaryDirectory("nginx")
        self.directory = directory
        isEncrypted = encryption != nil
        // The chosen port may be taken before nginx binds it.
        var started: (UInt16, ChildProcess)?
        for _ in 0..<5 where started == nil {
            let port = try Socket.freePort()
            let path = try directory.write(
                Self.configuration(
                    directory: directory.path, root: root, port: port, server: configuration,
                    requestsPerSecond: requestsPerSecond, encryption: encryption),
                to: "nginx.conf")
            let child = try ChildProcess(
                ["nginx", "-p", directory.path, "-c", path, "-e", directory.path("error.log")],
                environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"], deathSignal: "TERM")
            try await waitUntil(deadlineSeconds: 60, "the start of nginx") {
                // Written once it listens: a connection might be to another process on that port.
                child.ending != nil || (try? directory.read("nginx.pid"))?.isEmpty == false
            }
            if child.ending == nil { started = (port, child) }
        }
        guard let started else {
            let log = (try? directory.read("error.log")) ?? []
            throw POSIXFailure("nginx does not start: \(String(decoding: log, as: UTF8.self))")
        }
        (port, process) = started
    }

    deinit { process.endNow(by: SIGTERM, deadlineSeconds: 5) }

    /// `http://127.0.0.1:PORT`, or `https://localhost:PORT` for the certificate, without a trailing
    /// slash.
    package var url: String {
        isEncrypted ? "https://localhost:\(port)" : "http://127.0.0.1:\(port)"
    }

    /// Stops it, as when the origin fails.
    package func stop() async throws {
        process.signal(SIGTERM)
        try await process.wait()
    }

    /// Returns the requests so far. nginx logs a request after its response was sent, so a test
    /// that counts waits with `waitUntil`.
    package func requests() -> [Request] {
        let log = (try? directory.read("access.log")) ?? []
        return String(decoding: log, as: UTF8.self).split(separator: "\n").compactMap { line in
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
            guard fields.count == 9, let status = Int(fields[2]), let bytes = Int64(fields[3]),
                let connection = Int(fields[6]), let seconds = Double(fields[7]),
                let ended = Double(fields[8])
            else { return nil }
            return Request(
                method: String(fields[0]), target: String(fields[1]), status: status,
                bytesSent: bytes, range: fields[4] == "-" ? nil : String(fields[4]),
                version: String(fields[5]), connection: connection, seconds: seconds,
                ended: ended)
        }
    }

    private static func configuration(
        directory: String, root: String, port: UInt16, server: String, requestsPerSecond: Int?,
        encryption: Encryption?
    ) -> String {
        // Root's workers would run as nobody, who may not access the test's directory.
        let user = geteuid() == 0 ? "user root;" : ""
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(directory)/\($0);" }.joined(separator: "\n")
        let zone = requestsPerSecond.map {
            "limit_req_zone $server_addr zone=all:32k rate=\($0)r/s;"
        }
        let limit = requestsPerSecond.map { _ in "limit_req zone=all burst=1000000;" }
        let protocols = encryption.map { $0.offersHTTP2 ? " ssl http2" : " ssl" } ?? ""
        let certificate = encryption.map {
            "ssl_certificate \($0.certificate.certificate); "
                + "ssl_certificate_key \($0.certificate.key);"
        }
        return """
            daemon off;
            \(user)
            worker_processes 2;
            pid \(directory)/nginx.pid;
            events { worker_connections 1024; }
            http {
                include /etc/nginx/mime.types;
                types_hash_max_size 4096;
                default_type application/octet-stream;
                sendfile on;
                tcp_nopush on;
                keepalive_requests 1000000;
                \(temporary)
                log_format fields
                    '$request_method\\t$request_uri\\t$status\\t$body_bytes_sent\\t$http_range\\t'
                    '$server_protocol\\t$connection\\t$request_time\\t$msec';
                access_log \(directory)/access.log fields;
                \(zone ?? "")
                server {
                    listen 127.0.0.1:\(port)\(protocols) backlog=1024;
                    \(certificate ?? "")
                    root "\(root)";
                    \(limit ?? "")
                    \(server)
                }
            }
            """
    }
}
