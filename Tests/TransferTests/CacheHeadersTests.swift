import Model
import Testing

@testable import Transfer

/// How responses of caches are read.
@Suite struct CacheHeadersTests {
    private static func answer(_ fields: [(String, String)]) -> CacheAnswer {
        CacheHeaders { name in
            fields.filter { $0.0.lowercased() == name.lowercased() }.map(\.1)
        }.answer
    }

    @Test(arguments: [
        (#"Edge; hit"#, CacheAnswer.State.hit), ("Edge;hit;ttl=376", .hit),
        // The cache next to the client is the last member.
        ("Origin; hit; ttl=30, Edge; fwd=uri-miss; stored", .stored),
        ("Shield; fwd=uri-miss; stored, Edge; hit", .hit),
        ("Edge; fwd=uri-miss", .miss), ("Edge; fwd=bypass", .notStored),
        ("Edge; fwd=stale; fwd-status=304; collapsed; stored=?1", .stored),
        ("Edge; fwd=uri-miss; stored=?0", .notStored), ("Edge; hit=?0; fwd=miss", .miss),
        (#""a, \"b\"; hit"; fwd=miss;stored"#, .stored),
        (#"Edge; key="https://x/?a=1,2;hit"; fwd=request"#, .miss),
        ("Edge", .unknown), ("", .unknown), ("Edge; hit,", .hit), (#""open; hit"#, .unknown),
        ("Edge hit", .unknown), (String(repeating: "Edge; hit, ", count: 2_000), .unknown),
    ])
    func cacheStatusIsAListOfCaches(field: String, state: CacheAnswer.State) {
        #expect(Self.answer([("Cache-Status", field)]).state == state, "\(field)")
    }

    @Test func severalLinesAreOneList() {
        let fields = [("Cache-Status", "Shield; hit"), ("Cache-Status", "Edge; fwd=miss; stored")]
        #expect(Self.answer(fields).state == .stored)
        #expect(Self.answer(fields + [("X-Cache", "HIT")]).state == .stored)
    }

    @Test(arguments: [
        ("X-Cache", "HIT", CacheAnswer.State.hit), ("X-Cache", "MISS", .miss),
        // Fastly names the shield first.
        ("X-Cache", "HIT, MISS", .miss), ("X-Cache", "MISS, HIT", .hit),
        ("X-Cache", "Hit from cloudfront", .hit), ("X-Cache", "Miss from cloudfront", .miss),
        ("X-Cache", "RefreshHit from cloudfront", .hit),
        ("X-Cache", "Error from cloudfront", .notStored),
        ("X-Cache", "TCP_HIT from a23-1-2-3 (AkamaiGHost/11.2)", .hit),
        ("X-Cache", "TCP_MEM_HIT from a23-1-2-3 (AkamaiGHost/11.2)", .hit),
        ("X-Cache", "TCP_REFRESH_MISS from a23 (AkamaiGHost/11.2)", .miss),
        ("X-Cache", "TCP_MISS from a23-1-2-3 (AkamaiGHost/11.2)", .miss),
        ("X-Cache", "hit-fresh", .hit), ("X-Cache-Status", "EXPIRED", .miss),
        ("X-Cache-Status", "BYPASS", .notStored), ("X-Cache-Status", "REVALIDATED", .hit),
        ("X-Cache-Status", "STALE", .hit), ("X-Proxy-Cache", "UPDATING", .hit),
        ("CF-Cache-Status", "DYNAMIC", .notStored), ("CF-Cache-Status", "HIT", .hit),
        ("X-Varnish", "32770", .miss), ("X-Varnish", "5 32771", .hit),
        ("Via", "http/1.1 ts (ApacheTrafficServer/9.2.9 [uScMsSfWpSeN:t cCMp sS])", .stored),
        ("Via", "http/1.1 ts (ApacheTrafficServer/9.2.9 [uScHs f p eN:t cCHp s ])", .hit),
        ("Via", "http/1.1 ts (ApacheTrafficServer/9.2.9 [uScMsSf pSeN:t cCMp sS])", .notStored),
        ("Via", "1.1 varnish (Varnish/7.1)", .unknown), ("Age", "17", .hit), ("Age", "0", .unknown),
        ("Age", "-1", .unknown), ("X-Cache", "no idea", .unknown), ("Via", "[", .unknown),
    ])
    func vendorsFieldsAreRead(name: String, value: String, state: CacheAnswer.State) {
        #expect(Self.answer([(name, value)]).state == state, "\(name): \(value)")
    }

    @Test func whatForbidsStoringIsNamed() {
        let miss = ("X-Cache-Status", "MISS")
        for (field, state) in [
            (("Cache-Control", "private, max-age=60"), CacheAnswer.State.notStored),
            (("Cache-Control", "max-age=60, s-maxage=0"), .notStored),
            (("Cache-Control", "max-age=0, s-maxage=60"), .miss),
            (("Cache-Control", "no-store"), .notStored), (("Vary", "*"), .notStored),
            (("Set-Cookie", "id=secret"), .miss), (("Cache-Control", "max-age=60"), .miss),
        ] {
            let answer = Self.answer([miss, field])
            #expect(answer.state == state, "\(field)")
            #expect(!answer.detail.contains("secret"))
            #expect(answer.detail.contains("X-Cache-Status: MISS"))
            if state == .notStored { #expect(answer.detail.contains("\(field.0): \(field.1)")) }
        }
        let hit = Self.answer([("X-Cache", "HIT"), ("Cache-Control", "no-store"), ("Age", "9")])
        #expect(hit.state == .hit)
        #expect(hit.ageSeconds == 9)
    }
}
