import API
import CoordinatorClient
import Foundation
import Model
import Synchronization
import TestSupport
import Testing

/// What tests of refreshes share: an origin whose objects change, and a title there.
enum RefreshFixture {
    typealias C = Cluster

    /// What an origin has, which may change.
    final class Objects: Sendable {
        struct Object: Sendable {
            var body: [UInt8]
            var etag: String?
            var status = 200
            var gate: Gate?
        }

        private let objects = Mutex<[String: Object]>([:])
        private let origin: FaultOrigin

        init(_ origin: FaultOrigin) { self.origin = origin }

        subscript(path: String) -> Object? { objects.withLock { $0[path] } }

        /// Serves `body` under a tag of its own, or none.
        func set(
            _ path: String, _ body: [UInt8], tag: (String) -> String? = { "\"\($0)\"" },
            status: Int = 200, gate: Gate? = nil
        ) {
            let object = Object(
                body: body, etag: tag(String(C.sha256(body).prefix(8))), status: status, gate: gate)
            objects.withLock { $0[path] = object }
            let type = path.hasSuffix("m3u8") ? "application/vnd.apple.mpegurl" : "video/mp2t"
            origin.route(path) { request in
                guard let object = self[path] else { return .init(404) }
                guard object.status == 200 else { return .init(object.status) }
                var response = request.serve(object.body, etag: object.etag, type: type)
                response.gate = object.gate
                return response
            }
        }
    }

    /// Refreshes a catalog and answers its assets at the end.
    static func refresh(
        _ cluster: Cluster, _ catalog: CatalogID
    ) async throws -> [String: AssetStatus] {
        let answer = try await cluster.client.apply(
            SelectionAction(.refresh, catalog: CatalogReference(catalog)))
        #expect(answer.catalog == catalog)
        return try await cluster.end(of: catalog)
    }

    static let segments = (1...6).map { "/t/low/s\($0).ts" }

    /// A title of one rendition; its playlist names `count` segments.
    static func serveTitle(_ objects: Objects, count: Int = 6, note: String = "") {
        objects.set(
            "/t/main.m3u8",
            Array("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000\nlow/index.m3u8\n".utf8))
        var list = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n\(note)"
        for number in 1...count { list += "#EXTINF:4,\ns\(number).ts\n" }
        objects.set("/t/low/index.m3u8", Array("\(list)#EXT-X-ENDLIST\n".utf8))
    }

    static func storeTitle(_ cluster: Cluster, _ objects: Objects) async throws -> CatalogID {
        serveTitle(objects)
        for (index, path) in Self.segments.enumerated() {
            objects.set(path, sampleBytes(4_000, seed: UInt64(index + 1)))
        }
        let catalog = try await cluster.submit([try cluster.title("/t/main.m3u8")])
        let ended = try await cluster.end(of: catalog)
        #expect(ended.values.map(\.state) == [.completed])
        return catalog
    }

    /// All that lies at the edge, by path.
    static func edge(_ cluster: Cluster) throws -> [String: [UInt8]] {
        Dictionary(
            uniqueKeysWithValues: try cluster.storedPaths().map { ($0, cluster.stored($0) ?? []) })
    }
}
