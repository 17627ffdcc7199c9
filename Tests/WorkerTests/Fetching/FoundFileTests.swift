import API
import CoordinatorClient
import Foundation
import Model
import TestSupport
import Testing

@testable import Worker

@Suite struct FoundFileTests {
    private static let modified: Int64 = 1_732_000_000

    private func serve(
        _ cluster: Cluster, _ path: String, _ body: [UInt8], date: Int64,
        type: String = "application/octet-stream"
    ) {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let text = formatter.string(from: Date(timeIntervalSince1970: Double(date)))
        cluster.origin.route(path) { request in
            var response = request.serve(body, lastModified: text, type: type)
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
    /// Puts a file of another tool under the key of a path.
    private func leave(
        _ cluster: Cluster, _ path: String, _ bytes: [UInt8], modified: Int64 = modified
    ) throws {
        let file = try cluster.edge.write(bytes, to: cluster.root + path)
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: Double(modified))],
            ofItemAtPath: file)
    }

    /// Serves a title of one rendition with these segments.
    private func serveTitle(_ cluster: Cluster, _ names: [String]) {
        let type = "application/vnd.apple.mpegurl"
        let main = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000\nlow/index.m3u8\n"
        serve(cluster, "/t/main.m3u8", Array(main.utf8), date: Self.modified, type: type)
        let list =
            "#EXTM3U\n#EXT-X-TARGETDURATION:4\n"
            + names.map { "#EXTINF:4,\n\($0).ts\n" }.joined() + "#EXT-X-ENDLIST\n"
        serve(cluster, "/t/low/index.m3u8", Array(list.utf8), date: Self.modified, type: type)
    }

    @Test func segmentsAndSidecarsOfATitleAreAdoptedOnceItsManifestIsRead() async throws {
        try await Cluster.with { cluster in
            let names = ["same", "older", "newer", "cut", "link", "none"]
            let body = sampleBytes(5_000)
            serveTitle(cluster, names)
            for name in names {
                let date = Self.modified + (name == "older" ? -60 : name == "newer" ? 60 : 0)
                serve(cluster, "/t/low/\(name).ts", body, date: date, type: "video/mp2t")
            }
            serve(cluster, "/t/poster.jpg", body, date: Self.modified, type: "image/jpeg")
            for path in ["/t/low/same.ts", "/t/low/older.ts", "/t/poster.jpg"] {
                try leave(cluster, path, body)
            }
            try leave(cluster, "/t/low/newer.ts", sampleBytes(5_000, seed: 9))
            try leave(cluster, "/t/low/cut.ts", Array(body.prefix(99)))
            try FileManager.default.createSymbolicLink(
                atPath: cluster.edge.path(cluster.root + "/t/low/link.ts"),
                withDestinationPath: "same.ts")
            var title = try cluster.title("/t/main.m3u8")
            title.adopts = true
            title.sidecars = [
                SidecarSubmission(
                    url: cluster.origin.url("/t/poster.jpg"), key: cluster.root + "/t/poster.jpg",
                    role: .image)
            ]
            let ended = try await cluster.run([title])
            #expect(ended.values.map(\.state) == [.completed])
            #expect(ended[title.name]?.adoptedBytes == 15_000)
            for path in names.map({ "/t/low/\($0).ts" }) + ["/t/poster.jpg"] {
                #expect(cluster.stored(path) == body, "\(path)")
                let methods = cluster.origin.requests(for: path).map(\.method)
                switch path {
                case "/t/low/newer.ts", "/t/low/cut.ts": #expect(methods == ["HEAD", "GET"])
                case "/t/low/link.ts", "/t/low/none.ts": #expect(methods == ["GET"])
                default: #expect(methods == ["HEAD"], "\(path)")
                }
            }
            // It is recorded like all else.
            let before = cluster.origin.requests.count
            _ = try await cluster.run([title])
            #expect(cluster.origin.requests.count == before)
        }
    }

    /// Without the mark of an adoption what lies there counts for nothing.
    @Test func aTitleThatIsNotAdoptedIsFetched() async throws {
        try await Cluster.with { cluster in
            let body = sampleBytes(5_000)
            serveTitle(cluster, ["s"])
            serve(cluster, "/t/low/s.ts", body, date: Self.modified, type: "video/mp2t")
            try leave(cluster, "/t/low/s.ts", body)
            let ended = try await cluster.run([try cluster.title("/t/main.m3u8")])
            #expect(ended.values.map(\.state) == [.completed])
            #expect(cluster.origin.requests(for: "/t/low/s.ts").map(\.method) == ["GET"])
        }
    }
}
