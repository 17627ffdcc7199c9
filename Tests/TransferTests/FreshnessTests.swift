import Testing

@testable import Transfer

/// How long responses are fresh for a shared cache (RFC 9111, 4.2.1).
@Suite struct FreshnessTests {
    typealias Fields = [(String, String)]

    private static func seconds(_ fields: Fields) -> Int? {
        Freshness { name in
            fields.filter { $0.0.lowercased() == name.lowercased() }.map(\.1)
        }.seconds
    }

    private static let date = ("Date", "Fri, 27 Nov 2026 10:00:00 GMT")

    @Test(
        arguments: [
            ("max-age=600", 600), ("public, max-age=600", 600), ("Max-Age=600", 600),
            ("max-age=\"600\"", 600), (" max-age = 600 ,x", 600), ("max-age=0", 0),
            // For a shared cache, wherever it stands.
            ("s-maxage=60, max-age=600", 60), ("max-age=600, s-maxage=60", 60),
            ("max-age=600,s-maxage=0", 0),
            // The first one counts.
            ("max-age=1, max-age=2", 1), ("s-maxage=5, s-maxage=7, max-age=2", 5),
            ("no-cache", 0), ("NO-STORE", 0), ("max-age=600, no-cache", 0),
            ("no-store,max-age=6", 0),
            // Of that field alone.
            ("no-cache=\"Set-Cookie, max-age=1\", max-age=600", 600),
            ("ext=\"a, no-store\", max-age=600", 600), ("ext=\"\\\", no-store\", max-age=600", 600),
            // What is malformed is not fresh.
            ("max-age=ten", 0), ("max-age=-1", 0), ("max-age=1.5", 0), ("max-age=", 0),
            ("max-age", 0),
            ("s-maxage=x, max-age=600", 0),
            ("max-age=99999999999999999999999", 2_147_483_648),
            // Nothing of time.
            ("public, must-revalidate", nil), ("", nil), (",,", nil), ("=5", nil),
            ("maxage=5", nil),
            ("max-age2=5", nil), ("\"max-age=5", nil), ("private", nil),
        ] as [(String, Int?)])
    func cacheControlStates(_ field: String, _ seconds: Int?) {
        #expect(Self.seconds([("Cache-Control", field)]) == seconds, "\(field)")
    }

    @Test func severalLinesAreOneList() {
        let lines = [("Cache-Control", "public"), ("cache-control", "max-age=600")]
        #expect(Self.seconds(lines) == 600)
        #expect(Self.seconds(lines + [("Cache-Control", "no-store")]) == 0)
    }

    @Test func theTimeInCachesIsOver() {
        let field = ("Cache-Control", "max-age=600")
        #expect(Self.seconds([field, ("Age", "100")]) == 500)
        #expect(Self.seconds([field, ("Age", "601")]) == 0)
        for malformed in ["-100", "1.5", "", "x"] {
            #expect(Self.seconds([field, ("Age", malformed)]) == 600)
        }
    }

    @Test func expiresCountsFromTheDateOfTheResponse() {
        let expires = ("Expires", "Fri, 27 Nov 2026 11:00:00 GMT")
        #expect(Self.seconds([Self.date, expires]) == 3_600)
        #expect(Self.seconds([Self.date, expires, ("Age", "600")]) == 3_000)
        #expect(Self.seconds([Self.date, expires, ("Cache-Control", "public")]) == 3_600)
        #expect(Self.seconds([Self.date, expires, ("Cache-Control", "max-age=60")]) == 60)
        #expect(Self.seconds([Self.date, ("Expires", "Fri, 27 Nov 2026 09:00:00 GMT")]) == 0)
        #expect(Self.seconds([Self.date, ("Expires", "0")]) == 0)
        #expect(Self.seconds([("Expires", "-1")]) == 0)
        // From an unknown time on.
        #expect(Self.seconds([expires]) == nil)
        #expect(Self.seconds([Self.date]) == nil)
    }

    @Test func longFieldsAreReadInLittleTime() {
        let long = String(repeating: "a=\"b,\", ", count: 20_000) + "max-age=600"
        #expect(Self.seconds([("Cache-Control", long)]) == 600)
    }
}
