import API
import CoordinatorClient
import Digest
import Foundation
import Model
import Synchronization
import TestSupport
import Testing

@testable import Worker

@Suite struct LargeFileTests {
    typealias C = Cluster
    static let partBytes: Int64 = 1 << 20
    /// Five parts and a bit.
    static let body = sampleBytes(5 << 20 | 12_345)
    static let path = "/large/file.bin"

    private static func ranges(_ cluster: Cluster) -> [String] {
        cluster.origin.requests(for: path).compactMap { $0.headers["range"] }
    }

    @Test(arguments: [nil, C.sha256(body)])
    func twoWorkersFetchThePartsOfOneFile(sha256: String?) async throws {
        try await C.with(workers: 2, partBytes: Self.partBytes) { cluster in
            cluster.origin.serve(Self.path, Self.body, etag: "\"v1\"")
            let ended = try await cluster.run([try cluster.file(Self.path, sha256: sha256)])
            #expect(ended[Self.path]?.state == .completed)
            #expect(cluster.stored(Self.path) == Self.body)
            #expect(Set(Self.ranges(cluster)).count == 5)
            #expect(
                cluster.origin.requests(for: Self.path).allSatisfy {
                    $0.headers["range"] == nil || $0.headers["if-range"] == "\"v1\""
                })
            #expect(try await cluster.checkSums("/large") == 1)
            #expect(try cluster.temporaryFiles().isEmpty)

            // It is one file now, and reused as one.
            let before = cluster.origin.requests.count
            _ = try await cluster.run([try cluster.file(Self.path, sha256: sha256)])
            #expect(cluster.origin.requests.count == before)
        }
    }

    /// No connection is as fast as that: it is split once its first bytes are stored.
    @Test func aFileThatComesSlowlyIsSplitOnItsWay() async throws {
        try await C.with(workers: 2, partBytes: Self.partBytes, splitBelow: 1e15) { cluster in
            cluster.origin.serve(Self.path, Self.body, etag: "\"v1\"")
            let ended = try await cluster.run([
                try cluster.file(Self.path, sha256: C.sha256(Self.body))
            ])
            #expect(ended[Self.path]?.state == .completed)
            #expect(cluster.stored(Self.path) == Self.body)
            #expect(Set(Self.ranges(cluster)).count == 5)
            #expect(cluster.origin.count(Self.path) == 6)
            #expect(try await cluster.checkSums("/large") == 1)
            #expect(try cluster.temporaryFiles().isEmpty)
        }
    }

    @Test func aFileThatComesFastComesInOne() async throws {
        try await C.with(workers: 2, partBytes: Self.partBytes, splitBelow: 1) { cluster in
            cluster.origin.serve(Self.path, Self.body, etag: "\"v1\"")
            let ended = try await cluster.run([try cluster.file(Self.path)])
            #expect(ended[Self.path]?.state == .completed)
            #expect(cluster.stored(Self.path) == Self.body)
            #expect(cluster.origin.count(Self.path) == 1 && Self.ranges(cluster).isEmpty)
        }
    }

    @Test(arguments: [nil, "W/\"weak\""])
    func withoutAStrongValidatorAFileIsFetchedInOne(etag: String?) async throws {
        try await C.with(partBytes: Self.partBytes) { cluster in
            cluster.origin.serve(Self.path, Self.body, etag: etag)
            let ended = try await cluster.run([try cluster.file(Self.path)])
            #expect(ended[Self.path]?.state == .completed)
            #expect(cluster.stored(Self.path) == Self.body)
            #expect(cluster.origin.count(Self.path) == 1 && Self.ranges(cluster).isEmpty)
        }
    }

    @Test func anObjectThatChangesBetweenPartsIsFetchedAgain() async throws {
        try await C.with(partBytes: Self.partBytes) { cluster in
            let new = sampleBytes(Self.body.count, seed: 99)
            // The first answer is the old object; every later one the new.
            cluster.origin.route(Self.path) { request in
                request.number == 1
                    ? request.serve(Self.body, etag: "\"old\"")
                    : request.serve(new, etag: "\"new\"")
            }
            let ended = try await cluster.run([try cluster.file(Self.path)])
            #expect(ended[Self.path]?.state == .completed, "\(ended)")
            #expect(cluster.stored(Self.path) == new)
            #expect(try cluster.temporaryFiles().isEmpty)
        }
    }

    @Test func anObjectThatChangesAllTheTimeFails() async throws {
        try await C.with(partBytes: Self.partBytes) { cluster in
            cluster.origin.route(Self.path) { request in
                request.serve(Self.body, etag: "\"v\(request.number)\"")
            }
            cluster.origin.serve("/large/other", Self.body)
            let ended = try await cluster.run([
                try cluster.file(Self.path), try cluster.file("/large/other"),
            ])
            #expect(ended[Self.path]?.failure?.code == "content.changed")
            #expect(ended["/large/other"]?.state == .completed)
            #expect(cluster.stored(Self.path) == nil)
        }
    }

    @Test func anOriginThatIgnoresRangesIsNeverAppended() async throws {
        try await C.with(partBytes: Self.partBytes) { cluster in
            cluster.origin.route(Self.path) { request in
                Response200.whole(Self.body)
            }
            let ended = try await cluster.run([try cluster.file(Self.path)])
            #expect(ended[Self.path]?.state == .completed, "\(ended)")
            #expect(cluster.stored(Self.path) == Self.body)
            #expect(cluster.origin.requests.last?.headers["range"] == nil)
        }
    }

    @Test func anOriginThatDropsRangesWithAConditionIsAskedWithoutOne() async throws {
        try await C.with(workers: 2, partBytes: Self.partBytes) { cluster in
            cluster.origin.route(Self.path) { request in
                request.headers["if-range"] == nil
                    ? request.serve(Self.body, etag: "\"v\"") : Response200.whole(Self.body)
            }
            let ended = try await cluster.run([try cluster.file(Self.path)])
            #expect(ended[Self.path]?.state == .completed, "\(ended)")
            #expect(ended[Self.path]?.retries == 0)
            #expect(cluster.stored(Self.path) == Self.body)
        }
    }

    /// Once, or for every range: the received bytes look like others.
    @Test(arguments: ["Content-Range", "ETag"], [false, true])
    func aPartWithAnotherRangeOrValidatorStartsTheFileOver(
        header: String, isLasting: Bool
    ) async throws {
        try await C.with(workers: 2, partBytes: Self.partBytes) { cluster in
            let isWrong = Mutex(true)
            cluster.origin.route(Self.path) { request in
                let answer = request.serve(Self.body, etag: "\"v1\"")
                let range = request.headers["range"]
                guard let range, range.hasPrefix("bytes=\(2 * Self.partBytes)-"),
                    isWrong.withLock({ wrong in
                        defer { wrong = isLasting }
                        return wrong
                    })
                else { return answer }
                let other = "bytes 0-\(Self.partBytes - 1)/\(Self.body.count)"
                return answer.with(header, header == "ETag" ? "\"v2\"" : other)
            }
            let ended = try await cluster.run([try cluster.file(Self.path)])
            let asset = ended[Self.path]
            let starts = cluster.origin.requests(for: Self.path).count {
                $0.headers["range"] == nil
            }
            if isLasting && header == "ETag" {
                // Bounded.
                #expect(asset?.failure?.code == "content.changed" && starts == 4)
                #expect(cluster.stored(Self.path) == nil)
            } else {
                #expect(asset?.state == .completed && starts == 2, "\(ended)")
                #expect(cluster.stored(Self.path) == Self.body)
            }
        }
    }

    /// A sweep, or an operator who frees space.
    @Test func whatOthersPartsLieInIsRemovedAndTheFileStartsOver() async throws {
        try await C.with(workers: 0) { cluster in
            let edge = cluster.edge
            cluster.origin.route(Self.path) { request in
                if request.number == 3, let files = try? edge.files() {
                    for file in files where file.hasPrefix(".dray/multipart/") {
                        unlink(edge.path(file))
                    }
                }
                return request.serve(Self.body, etag: "\"v1\"")
            }
            try cluster.startWorker(connections: 1, partBytes: Self.partBytes)
            let catalog = try await cluster.submit([try cluster.file(Self.path)])
            let ended = try await cluster.end(of: catalog)
            #expect(ended[Self.path]?.state == .completed, "\(ended)")
            #expect(cluster.stored(Self.path) == Self.body)
            #expect(try cluster.temporaryFiles().isEmpty)
        }
    }

    /// Promises ranges and answers every request with the whole object.
    private enum Response200 {
        static func whole(_ body: [UInt8]) -> FaultOrigin.Response {
            FaultOrigin.Response(
                headers: [("Accept-Ranges", "bytes"), ("ETag", "\"v\"")], body: body)
        }
    }

    @Test func aPartThatBreaksOffIsFetchedAgainAlone() async throws {
        try await C.with(workers: 2, partBytes: Self.partBytes) { cluster in
            let isCut = Mutex(false)
            cluster.origin.route(Self.path) { request in
                let whole = request.serve(Self.body, etag: "\"v1\"")
                // The first request for the second part: the last one is shorter than the cut.
                let cuts =
                    request.headers["range"]?.hasPrefix("bytes=\(Self.partBytes)-") == true
                    && isCut.withLock { cut in
                        defer { cut = true }
                        return !cut
                    }
                return cuts ? whole.cut(after: 100_000) : whole
            }
            let ended = try await cluster.run([try cluster.file(Self.path)])
            #expect(ended[Self.path]?.state == .completed)
            #expect(ended[Self.path]?.retries == 1)
            #expect(cluster.stored(Self.path) == Self.body)
            #expect(Set(Self.ranges(cluster)).count == 5 && Self.ranges(cluster).count == 6)
        }
    }

    /// One part after the other, at one worker: the digest of the whole is computed on the way.
    @Test(arguments: [nil, C.sha256(body), String(repeating: "0", count: 64)])
    func oneConnectionFetchesThePartsInTheirOrder(sha256: String?) async throws {
        try await C.with(workers: 0) { cluster in
            cluster.origin.serve(Self.path, Self.body, etag: "\"v1\"")
            try cluster.startWorker(connections: 1, partBytes: Self.partBytes)
            let catalog = try await cluster.submit([try cluster.file(Self.path, sha256: sha256)])
            let ended = try await cluster.end(of: catalog)
            guard sha256 == nil || sha256 == C.sha256(Self.body) else {
                #expect(ended[Self.path]?.failure?.code == "integrity.digestMismatch")
                return
            }
            #expect(ended[Self.path]?.state == .completed)
            #expect(cluster.stored(Self.path) == Self.body)
            #expect(try await cluster.checkSums("/large") == 1)
        }
    }

    /// Said with the first answer, or with one of a part only.
    @Test(arguments: ["first", "part"], [true, false])
    func theOriginsDigestOfTheWholeIsComparedWithItsParts(
        answer: String, isRight: Bool
    ) async throws {
        try await C.with(workers: 2, partBytes: Self.partBytes) { cluster in
            let md5 = Self.digest(.md5, of: isRight ? Self.body : [1])
            let sha256 = Self.digest(.sha256, of: Self.body)
            cluster.origin.route(Self.path) { request in
                let plain = request.serve(Self.body, etag: "\"v1\"")
                switch (answer, request.headers["range"]) {
                case ("first", nil): return plain.with("Content-MD5", md5)
                case ("part", "bytes=\(Self.partBytes)-\(2 * Self.partBytes - 1)"):
                    return plain.with("x-goog-hash", "md5=\(md5)")
                // Of the whole as well; of the part, and of its message.
                case (_, .some):
                    return plain.with("Repr-Digest", "sha-256=:\(sha256):")
                        .with("Content-MD5", Self.digest(.md5, of: [2]))
                        .with("Content-Digest", "md5=:\(Self.digest(.md5, of: [3])):")
                        .with("x-amz-checksum-sha256", "\(sha256)-5")
                default: return plain
                }
            }
            let catalog = try await cluster.submit([try cluster.file(Self.path)])
            let asset = try await cluster.end(of: catalog)[Self.path]
            guard isRight else {
                #expect(asset?.failure?.code == "integrity.digestMismatch")
                #expect(cluster.stored(Self.path) == nil)
                return
            }
            #expect(asset?.state == .completed, "\(String(describing: asset))")
            #expect(cluster.stored(Self.path) == Self.body)
            let files = try await cluster.client.files(of: catalog, after: nil).files
            #expect(files.map(\.verified) == [true])
        }
    }

    @Test func aFileInPartsWithoutADigestIsUnverified() async throws {
        try await C.with(partBytes: Self.partBytes) { cluster in
            cluster.origin.serve(Self.path, Self.body, etag: "\"v1\"")
            let catalog = try await cluster.submit([try cluster.file(Self.path)])
            #expect(try await cluster.end(of: catalog)[Self.path]?.state == .completed)
            let files = try await cluster.client.files(of: catalog, after: nil).files
            #expect(files.allSatisfy { $0.verified != true })
        }
    }

    /// In Base64.
    private static func digest(_ algorithm: DigestAlgorithm, of bytes: [UInt8]) -> String {
        var set = DigestSet([algorithm])
        bytes.withUnsafeBytes { set.update($0) }
        let computed = set.finish()
        let all = computed.others + [ExpectedDigest(computed.sha256)]
        let digest = all.first { $0.algorithm == algorithm }
        return Data(digest?.bytes ?? []).base64EncodedString()
    }

    @Test func aWrongDigestOfAWholeFileIsFoundAfterItsParts() async throws {
        try await C.with(partBytes: Self.partBytes) { cluster in
            cluster.origin.serve(Self.path, Self.body, etag: "\"v1\"")
            let ended = try await cluster.run([
                try cluster.file(Self.path, sha256: String(repeating: "0", count: 64))
            ])
            #expect(ended[Self.path]?.failure?.code == "integrity.digestMismatch")
            #expect(cluster.stored(Self.path) == nil)
        }
    }
}
