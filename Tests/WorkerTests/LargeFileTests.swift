import CoordinatorClient
import Model
import Synchronization
import TestSupport
import Testing

@testable import Worker

@Suite struct LargeFileTests {
    typealias C = Cluster
    static let partBytes: Int64 = 1 << 20
    /// Five parts and a bit.
    static let body = C.bytes(5 << 20 | 12_345)
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

            // It is one file now, and adopted as one.
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

    @Test func anObjectThatChangesBetweenPartsIsFetchedAnew() async throws {
        try await C.with(partBytes: Self.partBytes) { cluster in
            let new = C.bytes(Self.body.count, seed: 99)
            // The first answer is the old object; every later one the new.
            cluster.origin.route(Self.path) { request in
                request.number == 1
                    ? request.serve(Self.body, etag: "\"old\"")
                    : request.serve(new, etag: "\"new\"")
            }
            let ended = try await cluster.run([try cluster.file(Self.path)])
            #expect(ended[Self.path]?.state == .completed, "\(ended)")
            #expect(cluster.stored(Self.path) == new)
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
