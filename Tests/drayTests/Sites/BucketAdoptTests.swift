import Digest
import Foundation
import Model
import S3
import TestSupport
import Testing

@testable import Storage

extension EndToEnd {
    /// `dray adopt` of a bucket that another tool has filled with titles.
    @Suite(.enabled(if: !S3Server.installed.isEmpty, S3Server.needs), .timeLimit(.minutes(2)))
    struct BucketAdoptTests {
        private static let master = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000\nlow.m3u8\n"
        private static let media = """
            #EXTM3U
            #EXT-X-TARGETDURATION:4
            #EXTINF:4,
            0.ts
            #EXTINF:4,
            1.ts
            #EXT-X-ENDLIST

            """
        private static let mpd = """
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT8S"
              profiles="urn:mpeg:dash:profile:isoff-live:2011"><Period><AdaptationSet
              mimeType="video/mp4"><Representation id="v" bandwidth="1000"><SegmentTemplate
              initialization="init.mp4" media="$Number$.m4s" duration="4" startNumber="1"/>
              </Representation></AdaptationSet></Period></MPD>

            """
        private static let manifests = ["hls/main.m3u8", "hls/low.m3u8", "dash/main.mpd"]
        private static let segments = [
            "hls/0.ts", "hls/1.ts", "dash/init.mp4", "dash/1.m4s", "dash/2.m4s",
        ]

        /// Writes an HLS title and a DASH title of two segments each.
        private static func write(to source: TemporaryDirectory) throws {
            for (path, text) in zip(manifests, [master, media, mpd]) {
                try source.write(text, to: path)
            }
            for (index, path) in segments.enumerated() {
                try source.write(sampleBytes(4_000, seed: UInt64(index + 1)), to: path)
            }
        }

        /// Manifests are read from the origin; of their segments only one that was cut is downloaded.
        @Test(arguments: S3Server.installed)
        func titlesInABucketAreAdopted(_ kind: S3Server.Kind) async throws {
            let source = try TemporaryDirectory("titles")
            try Self.write(to: source)
            let origin = try await NginxServer(root: source.path)
            let host = "127.0.0.1:\(origin.port)"
            let server = try await S3Server.shared(kind)
            let site = server.url("adopt-\(UInt32.random(in: 0...999_999))")
            let url = try StorageURL(site)
            let bucket = try S3Storage(
                url, try #require(url.bucket),
                access: BucketAccess(BucketOptions(environment: S3Server.environment)))
            func name(_ path: String) throws -> String {
                bucket.key(try ObjectKey("\(host)/\(path)"))
            }
            let cut = "dash/2.m4s"
            for path in Self.manifests + Self.segments {
                let all = try source.read(path)
                let bytes = path == cut ? Array(all.prefix(99)) : all
                // Without what Dray adds to its own objects.
                var request = S3Request("PUT", try name(path))
                request.body = UploadBody(bytes)
                request.bodyHash = SHA256Digest(hashing: bytes).description
                _ = try await bucket.client.send(request)
            }

            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let list = home.path("list.txt")
            try "\(origin.url)/hls/main.m3u8\n\(origin.url)/dash/main.mpd\n"
                .write(toFile: list, atomically: false, encoding: .utf8)
            let adopt = try home.start(
                [
                    "adopt", site, "--catalog", list, "--name", "titles", "--state",
                    home.stateDirectory,
                ], S3Server.environment)
            #expect(try await adopt.wait() == .exited(0), "\(adopt.errors)")
            let output = adopt.output + adopt.errors
            #expect(output.contains("2 titles: "), "\(output)")

            // What lies there is what the origin has, as its SHA256SUMS say.
            let copy = try TemporaryDirectory("bucket")
            for path in Self.manifests + Self.segments + ["hls/SHA256SUMS", "dash/SHA256SUMS"] {
                try copy.write(
                    try #require(try await bucket.client.getSmall(name(path)), "\(path)"), to: path)
            }
            for path in Self.segments { #expect(try copy.read(path) == source.read(path)) }
            #expect(
                try await EdgeTree.checkSums(beneath: copy.path)
                    == Set(Self.manifests + Self.segments))
            // The log has a request after its answer was sent: this one comes last.
            _ = try await ChildProcess.run(["curl", "-s", "\(origin.url)/mark"])
            try await waitUntil(deadlineSeconds: 60, "the access log") {
                origin.requests().contains { $0.target == "/mark" }
            }
            let requests = origin.requests().filter { $0.target != "/mark" }
            let read = requests.filter { $0.method == "GET" }.map(\.target)
            #expect(Set(read) == Set((Self.manifests + [cut]).map { "/\($0)" }), "\(read)")
            let asked = requests.filter { $0.method == "HEAD" }.map(\.target)
            #expect(asked.sorted() == Self.segments.map { "/\($0)" }.sorted())
        }
    }
}
