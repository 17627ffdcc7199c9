import API
import CoordinatorClient
import Foundation
import Model
import TestSupport
import Testing

@testable import Worker

@Suite struct FoundFileTests {
    private static let modified: Int64 = 1_732_000_000

    private func serve(_ cluster: Cluster, _ path: String, _ body: [UInt8], date: Int64) {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let text = formatter.string(from: Date(timeIntervalSince1970: Double(date)))
        cluster.origin.route(path) { request in
            var response = request.serve(body, lastModified: text)
            guard request.method == "HEAD" else { return response }
            response.headers.append(("Content-Length", "\(body.count)"))
            response.steps = []
            return response
        }
    }

    /// Puts a file under the key of a path, and names it to the cluster.
    private func found(
        _ cluster: Cluster, _ path: String, _ bytes: [UInt8], modified: Int64 = modified
    ) throws -> AssetSubmission {
        var asset = try cluster.file(path)
        try cluster.edge.write(bytes, to: asset.key)
        asset.found = FoundFile(
            bytes: Int64(bytes.count), sha256: Cluster.sha256(bytes), modified: modified)
        return asset
    }

    @Test func whatTheOriginDescribesAlikeIsAdoptedAndAllElseFetched() async throws {
        try await Cluster.with { cluster in
            let body = sampleBytes(5_000)
            for path in ["/same", "/older", "/newer", "/cut", "/lies", "/none"] {
                let date = Self.modified + (path == "/older" ? -60 : path == "/newer" ? 60 : 0)
                serve(cluster, path, body, date: date)
            }
            let other = sampleBytes(5_000, seed: 9)
            var lies = try found(cluster, "/lies", other)
            // What was said of the file is not what lies there.
            lies.found?.sha256 = Cluster.sha256(body)
            let assets = [
                try found(cluster, "/same", body), try found(cluster, "/older", body),
                try found(cluster, "/newer", other),
                try found(cluster, "/cut", Array(body.prefix(99))),
                lies, try cluster.file("/none"),
            ]
            let ended = try await cluster.run(assets)
            #expect(ended.values.allSatisfy { $0.state == .completed })
            for path in ["/same", "/older", "/newer", "/cut", "/lies", "/none"] {
                #expect(cluster.stored(path) == body, "\(path)")
                let methods = cluster.origin.requests(for: path).map(\.method)
                switch path {
                case "/same", "/older": #expect(methods == ["HEAD"])
                case "/newer", "/cut": #expect(methods == ["HEAD", "GET"])
                default: #expect(methods == ["GET"])
                }
                #expect((ended[path]?.adoptedBytes == 5_000) == ["/same", "/older"].contains(path))
            }
            // It is recorded like all else: another start compares the digests, and sends no request.
            let before = cluster.origin.requests.count
            _ = try await cluster.run(assets)
            #expect(cluster.origin.requests.count == before)
        }
    }
}
