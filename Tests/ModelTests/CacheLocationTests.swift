import Model
import TestSupport
import Testing

@Suite struct CacheLocationTests {
    @Test(arguments: [
        ("cache:https://Edge.Example", "cache:https://edge.example", ["edge.example"]),
        ("CACHE:http://edge.example:80/", "cache:http://edge.example", ["edge.example"]),
        (
            "cache:https://edge.example?pop=192.0.2.2:8443&pop=192.0.2.1",
            "cache:https://edge.example?pop=192.0.2.1&pop=192.0.2.2:8443",
            ["192.0.2.1", "192.0.2.2:8443"]
        ),
        (
            "cache:http://edge.example:8080?pop=192.0.2.1&pop=[2001:DB8::1]&pop=192.0.2.3:80",
            "cache:http://edge.example:8080?pop=192.0.2.1:8080&pop=192.0.2.3:80&pop=[2001:db8::1]:8080",
            ["192.0.2.1:8080", "192.0.2.3", "[2001:db8::1]:8080"]
        ),
    ])
    func aCacheHasOneText(text: String, canonical: String, pops: [String]) throws {
        let url = try StorageURL(text)
        #expect(url.description == canonical)
        #expect(try StorageURL(canonical) == url)
        #expect(url.cache?.pops == pops)
    }

    @Test(arguments: [
        "cache:", "cache:edge.example", "cache:ftp://edge.example", "cache:https://",
        "cache:https://edge.example/path", "cache:https://user:pw@edge.example",
        "cache:https://edge.example:0", "cache:https://edge.example:x",
        "cache:https://edge.example?pop=", "cache:https://edge.example?pop=pop1.example",
        "cache:https://edge.example?pop=192.0.2.256", "cache:https://edge.example?pop=192.0.2.1:",
        "cache:https://edge.example?pop=192.0.2.1:99999", "cache:https://edge.example?region=x",
        "cache:https://edge.example?pop=192.0.2.1&pop=192.0.2.1:443",
        "cache:https://edge.example?pop=192.0.2.1/x", "cache:https://edge.example?pop=[x]",
        "cache:https://edge.example?pop=[2001:db8::1]x", "cache:https://edge.example?pop=%zz",
    ])
    func anotherFormIsRefused(text: String) {
        let failure = #expect(throws: Failure.self) { try StorageURL(text) }
        #expect(failure?.code == "storage.unreachable")
    }

    @Test func aCacheHasAtMost64POPs() throws {
        func text(_ count: Int) -> String {
            "cache:https://edge.example?"
                + (1...count).map { "pop=192.0.2.\($0)" }.joined(separator: "&")
        }
        #expect(try StorageURL(text(64)).cache?.pops.count == 64)
        #expect(throws: Failure.self) { try StorageURL(text(65)) }
    }

    @Test func aPOPIsAskedForThePathAndQuery() throws {
        let cache = try #require(
            StorageURL("cache:https://edge.example?pop=192.0.2.1&pop=192.0.2.2:8443").cache)
        #expect(
            cache.url("http://origin.example:81/a/b?x=/1#f", at: "192.0.2.2:8443")
                == "https://192.0.2.2:8443/a/b?x=/1")
        #expect(cache.url("https://origin.example", at: "192.0.2.1") == "https://192.0.2.1/")
        #expect(cache.url("https://origin.example?x", at: "192.0.2.1") == "https://192.0.2.1/?x")
        #expect(cache.url("text", at: "192.0.2.1") == nil)
        #expect(
            cache.served("https://edge.example/a", at: "192.0.2.1") == "https://192.0.2.1/a")
        #expect(cache.served("https://192.0.2.1/a", at: "192.0.2.1") == "https://192.0.2.1/a")
        for other in [
            "https://edge.example.org/a", "https://192.0.2.2:8443/a", "http://edge.example/a",
            "https://origin.example/a", "https://192.0.2.10/a",
        ] {
            #expect(cache.served(other, at: "192.0.2.1") == nil, "\(other)")
        }
    }

    @Test func anAnswerIsOneLine() throws {
        let answer = CacheAnswer(.stored, ageSeconds: 0, detail: "X-Cache: MISS\nfrom x")
        #expect(answer.text == "stored 0 X-Cache: MISSfrom x")
        #expect(CacheAnswer(text: answer.text) == answer)
        #expect(CacheAnswer(text: "hit - ") == CacheAnswer(.hit, detail: ""))
        for text in ["", "hit", "hit 1", "cold 1 x", "hit x y", "hit -1 x"] {
            #expect(CacheAnswer(text: text) == nil, "\(text)")
        }
        #expect(CacheAnswer(.hit, detail: String(repeating: "x", count: 999)).detail.count == 300)
    }
}
