import LoadModel
import Testing

@testable import LoadGenerator

/// What heads of responses say of a cache.
@Suite struct CacheHeadTests {
    private static func finding(_ lines: String, _ reader: inout CacheHeadReader) -> CacheFinding {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\(lines)\r\n"
        return Array(head.utf8).withUnsafeBytes { reader.finding(in: $0) }
    }

    @Test(arguments: [
        ("", CacheFinding.unknown), ("X-Cache: HIT\r\n", .hit(ageSeconds: nil)),
        ("x-cache: Miss from cloudfront\r\n", .miss), ("Age: 7\r\n", .hit(ageSeconds: 7)),
        ("Age: 0\r\n", .unknown), ("AGE:7\r\nX-CACHE-STATUS:HIT\r\n", .hit(ageSeconds: 7)),
        ("Cache-Status: edge; hit\r\n", .hit(ageSeconds: nil)),
        ("Cache-Status: origin; hit, edge; fwd=uri-miss; stored\r\n", .miss),
        ("CF-Cache-Status: DYNAMIC\r\n", .miss), ("X-Varnish: 5 3\r\n", .hit(ageSeconds: nil)),
        ("X-Cacher: HIT\r\nAgent: 3\r\nVia: 1.1 proxy\r\nX-Cache HIT\r\n", .unknown),
        ("X-Cache: MISS\r\nX-Cache: HIT\r\nAge: x\r\n", .hit(ageSeconds: nil)),
    ])
    func headsAreRead(lines: String, expected: CacheFinding) {
        var reader = CacheHeadReader()
        for _ in 0..<2 { #expect(Self.finding(lines, &reader) == expected) }
    }

    @Test func manyDifferentHeadsAreRead() {
        var reader = CacheHeadReader()
        for age in 1...2_000 {
            #expect(Self.finding("Age: \(age)\r\n", &reader) == .hit(ageSeconds: age))
        }
    }

    @Test func hitsAndMissesAreCounted() {
        var cache = LoadCounts.Cache()
        CacheFinding.unknown.count(bytes: 1, into: &cache)
        CacheFinding.hit(ageSeconds: 10).count(bytes: 30, into: &cache)
        CacheFinding.hit(ageSeconds: nil).count(bytes: 30, into: &cache)
        CacheFinding.hit(ageSeconds: 20).count(bytes: 30, into: &cache)
        CacheFinding.miss.count(bytes: 10, into: &cache)
        #expect(cache.hitRatio == 0.75 && cache.byteHitRatio == 0.9)
        #expect(cache.meanAgeSeconds == 15)
        #expect(LoadCounts.Cache().hitRatio == nil && LoadCounts.Cache().meanAgeSeconds == nil)
    }
}
