import Statistics
import Testing
import WebURL

@Suite struct WebURLTests {
    /// RFC 3986, sections 5.4.1 and 5.4.2, with the base over http; fragments are dropped.
    @Test(arguments: [
        ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"), ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"),
        ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q"), ("g#s", "http://a/b/c/g"),
        ("g?y#s", "http://a/b/c/g?y"), (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"),
        ("g;x?y#s", "http://a/b/c/g;x?y"), ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"),
        ("./", "http://a/b/c/"), ("..", "http://a/b/"), ("../", "http://a/b/"),
        ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../", "http://a/"),
        ("../../g", "http://a/g"), ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"),
        ("/./g", "http://a/g"), ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."),
        (".g", "http://a/b/c/.g"), ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"),
        ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"),
        ("g/../h", "http://a/b/c/h"), ("g;x=1/./y", "http://a/b/c/g;x=1/y"),
        ("g;x=1/../y", "http://a/b/c/y"), ("g?y/./x", "http://a/b/c/g?y/./x"),
        ("g?y/../x", "http://a/b/c/g?y/../x"), ("g#s/../x", "http://a/b/c/g"),
    ])
    func referencesResolveByTheRFC(reference: String, expected: String) throws {
        let base = try WebURL("http://a/b/c/d;p?q")
        #expect(try base.resolve(reference).text == expected)
    }

    @Test(arguments: [
        "../../../../../g", "g/../../../../../../g", "/../../../g", "http://h/../../..",
    ])
    func whatClimbsFarAboveTheRootIsRefused(reference: String) throws {
        let base = try WebURL("http://a/b/c/d;p?q")
        let error = #expect(throws: WebURLError.self) { try base.resolve(reference) }
        #expect(error?.reason == .climb)
    }

    /// Random paths of everything that means something in one, against the RFC's own steps.
    @Test func pathsAreThoseOfTheRFCsSteps() throws {
        var random = SeededRandom(seed: 5)
        let pieces = [".", ".", "..", "/", "/", "a", "%41", "%2e", " ", "ä", "~"]
        let base = try WebURL("http://h/b/c/d?p")
        for _ in 0..<20_000 {
            let path = (0..<Int.random(in: 1...12, using: &random))
                .map { _ in pieces[Int.random(in: 0..<pieces.count, using: &random)] }.joined()
            let encoded = path.replacing(" ", with: "%20").replacing("ä", with: "%C3%A4")
            for start in ["http://h/x/", "/", "a", "../", "./"] {
                let merged = ["http://h/x/": "/x/", "/": "/"][start] ?? "/b/c/" + start
                let (expected, climbed) = Self.withoutDotSegments(merged + encoded)
                // A host would follow, and spaces at the end are none of a reference.
                if start == "/" && path.first == "/" || path.last == " " { continue }
                let given = start + path
                if climbed > 2 {
                    let error = #expect(throws: WebURLError.self, "\(given)") {
                        try base.resolve(given)
                    }
                    #expect(error?.reason == .climb, "\(given)")
                } else {
                    #expect(try base.resolve(given).text == "http://h" + expected, "\(given)")
                }
                if start == "http://h/x/", !path.contains(" ") {
                    #expect(try WebURL(given).text == "http://h" + expected, "\(given)")
                }
            }
        }
    }

    /// RFC 3986, section 5.2.4, step by step; and the number of folders above the root.
    private static func withoutDotSegments(_ path: String) -> (path: String, climbed: Int) {
        var (input, output, climbed) = (path[...], "", 0)
        while !input.isEmpty {
            if input.hasPrefix("/./") {
                input = input.dropFirst(2)
            } else if input == "/." {
                input = "/"
            } else if input.hasPrefix("/../") || input == "/.." {
                input = input == "/.." ? "/" : input.dropFirst(3)
                if output.isEmpty { climbed += 1 }
                output = output.lastIndex(of: "/").map { String(output[..<$0]) } ?? ""
            } else {
                let end = input.dropFirst().firstIndex(of: "/") ?? input.endIndex
                output += input[..<end]
                input = input[end...]
            }
        }
        return (output, climbed)
    }

    @Test(arguments: [
        ("my title 0.ts", "http://a/b/c/my%20title%200.ts"),
        ("a b/c d?e f", "http://a/b/c/a%20b/c%20d?e%20f"),
        (" g ", "http://a/b/c/g"), (" /x y", "http://a/x%20y"), ("http://h/a b", "http://h/a%20b"),
    ])
    func spacesOfReferencesAreEncoded(reference: String, expected: String) throws {
        let base = try WebURL("http://a/b/c/d;p?q")
        #expect(try base.resolve(reference).text == expected)
        #expect(throws: WebURLError.self) { try base.resolve(reference + "\tx") }
        #expect(throws: WebURLError.self) { try base.resolve("http://a b/") }
    }

    @Test(arguments: [
        ("HTTP://Example.COM", "http://example.com/"),
        ("https://h:443/a", "https://h/a"),
        ("http://h:443/a", "http://h:443/a"),
        ("http://h:80", "http://h/"),
        ("http://h:/a", "http://h/a"),
        ("http://h/a?", "http://h/a"),
        ("http://h/a#f?x", "http://h/a"),
        ("http://h?q", "http://h/?q"),
        ("http://h/a//b/", "http://h/a//b/"),
        ("http://h/a/../../b", "http://h/b"),
        ("http://h/ä\"<>", "http://h/%C3%A4%22%3C%3E"),
        ("http://h/a\\b", "http://h/a%5Cb"),
        ("http://h/%7e%41", "http://h/%7e%41"),
        ("http://h/a?100%&ü=[1]", "http://h/a?100%&%C3%BC=%5B1%5D"),
        ("http://[2001:DB8::1]:8080/x", "http://[2001:db8::1]:8080/x"),
        ("http://[::ffff:192.0.2.1]/", "http://[::ffff:192.0.2.1]/"),
        ("http://a_b-c.example/", "http://a_b-c.example/"),
        ("http://192.0.2.1/", "http://192.0.2.1/"),
        ("http://1.example/", "http://1.example/"),
    ])
    func absoluteURLsAreNormalised(given: String, expected: String) throws {
        #expect(try WebURL(given).text == expected)
        #expect(try WebURL(expected).text == expected)
    }

    @Test(arguments: [
        ("", WebURLError.Reason.scheme), ("example.com/a", .scheme), ("ftp://h/a", .scheme),
        ("file:///etc/passwd", .scheme), ("http:/h/a", .scheme), ("http:h", .scheme),
        ("javascript:alert(1)", .scheme), ("//h/a", .scheme),
        ("http://", .host), ("http:///a", .host), ("http://?q", .host), ("http://:80/", .host),
        ("http://.dray/a", .host), ("http://a..b/", .host), ("http://h./", .host),
        ("http://münchen.example/", .host), ("http://h%41/", .host), ("http://a\\b/", .host),
        ("http://127.1/", .host), ("http://0x7f000001/", .host), ("http://2130706433/", .host),
        ("http://0177.0.0.1/", .host), ("http://1.2.3.256/", .host), ("http://h.0x1/", .host),
        ("http://[::1", .host), ("http://[::1%25eth0]/", .host), ("http://[:1]/", .host),
        ("http://[1:2:3:4:5:6:7:8:9]/", .host), ("http://[1::2::3]/", .host),
        ("http://[12345::]/", .host), ("http://[]/", .host), ("http://[::1]x/", .host),
        ("http://user@h/", .userInformation), ("http://user:pass@h/", .userInformation),
        ("http://h@evil/", .userInformation),
        ("http://h:0/", .port), ("http://h:65536/", .port), ("http://h:8a/", .port),
        ("http://h:99999999999999999999/", .port), ("http://h:-1/", .port),
        ("http://h/a b", .character), ("http://h/a\r\nX: y", .character),
        ("http://h/\u{0}", .character), ("http://h/\u{7F}", .character), (" http://h/", .character),
        ("http://h/%", .escape), ("http://h/%4", .escape), ("http://h/%zz", .escape),
    ])
    func badURLsAreRefused(given: String, reason: WebURLError.Reason) {
        #expect { try WebURL(given) } throws: { ($0 as? WebURLError)?.reason == reason }
    }

    @Test func lengthIsBounded() throws {
        let start = "http://h/"
        let longest = start + String(repeating: "a", count: 8_192 - start.utf8.count)
        #expect(try WebURL(longest).text == longest)
        #expect { try WebURL(longest + "a") } throws: {
            ($0 as? WebURLError)?.reason == .tooLong
        }
        // Percent-encoding must not lead past the bound either.
        #expect { try WebURL(start + String(repeating: "ä", count: 3_000)) } throws: {
            ($0 as? WebURLError)?.reason == .tooLong
        }
        let base = try WebURL(longest.dropLast(1_000) + "/")
        #expect(throws: WebURLError.self) {
            try base.resolve(String(repeating: "b", count: 1_500))
        }
    }

    @Test func partsAreWhereTheyBelong() throws {
        let url = try WebURL("https://Host:8443/a/b?x=1&y")
        #expect(url.isSecure)
        #expect(url.authority == "host:8443")
        #expect(url.path == "/a/b")
        #expect(url.query == "x=1&y")
        #expect(try WebURL("http://h/").query == nil)
        #expect(try url.resolve("c.ts").path == "/a/c.ts")
        #expect(try url.resolve("c.ts?z").query == "z")
    }
}
