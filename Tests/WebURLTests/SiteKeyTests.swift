import Model
import TestSupport
import Testing
import WebURL

@Suite struct SiteKeyTests {
    @Test(arguments: [
        ("http://Host/a/b.mp4", "host/a/b.mp4"),
        ("https://host:443/a", "host/a"),
        ("https://host:8443/a", "host:8443/a"),
        ("http://[::1]:8080/a", "[::1]:8080/a"),
        ("http://h", "h/index.html"),
        ("http://h/", "h/index.html"),
        ("http://h/a/", "h/a/index.html"),
        ("http://h/a/?x=1", "h/a/index.html?x=1"),
        ("http://h//a///b", "h/a/b"),
        ("http://h/a/../b", "h/b"),
        ("http://h/%61%20%C3%A4.mp4", "h/a ä.mp4"),
        ("http://h/100%25.mp4", "h/100%.mp4"),
        ("http://h/a%5Cb", "h/a\\b"),
        ("http://h/%2E%2E%2E", "h/..."),
        ("http://h/.hidden", "h/.hidden"),
        ("http://h/What%3F.mp4", "h/What?.mp4"),
        ("http://h/Who%3F%3DMe%20again.mp4", "h/Who?=Me again.mp4"),
        ("http://h/a?x=1&y=2", "h/a?x=1&y=2"),
        ("http://h/a?123", "h/a?123="),
        ("http://h/a?x=/etc/\"passwd\"", "h/a?x=%2Fetc%2F%22passwd%22"),
        ("http://h/a?x=../../b", "h/a?x=..%2F..%2Fb"),
        ("http://h/a?b?c=1", "h/a?b?c=1"),
        ("http://h/a?x='1'", "h/a?x=%271%27"),
        ("http://h/.dray/a", "h/.dray/a"),
        ("http://h/a?token=s", "h/a"),
        ("http://h/a/?token=s", "h/a/index.html"),
        ("http://h/a?v=1&Expires=9&Signature=s&Key-Pair-Id=k", "h/a?v=1"),
        ("http://h/a?X-Amz-Credential=c%2Fd&X-Amz-Signature=s&part=2", "h/a?part=2"),
        ("http://h/a?hdnts=exp=1~acl=/*~hmac=f", "h/a"),
        ("http://h/a?md5=1", "h/a?md5=1"), ("http://h/a?md5=0123456789abcdef&expires=2", "h/a"),
        ("http://h/a?w=3&h=200&t=1700000000", "h/a?w=3&h=200&t=1700000000"),
        ("http://h/exp=1~acl=%2f*~hmac=f/v/a.ts", "h/~/v/a.ts"),
        ("http://h/hdntl=exp%3D1/a", "h/~/a"),
    ])
    func aKeyIsTheServedPath(url: String, key: String) throws {
        #expect(try SiteKey(WebURL(url)).text == key)
    }

    @Test(arguments: [
        "http://h/a%2Fb", "http://h/a%2fb", "http://h/%2e%2e/%2e%2e/etc/passwd", "http://h/%2E",
        "http://h/a/.%2e/b", "http://h/%00", "http://h/a%0Ab", "http://h/%7F", "http://h/%C2%85",
        "http://h/%FF", "http://h/%C0%AE%C0%AE/x", "http://h/%ED%A0%80", "http://h/a%3Fx=1",
    ])
    func pathsThatCannotBeFilesAreRefused(url: String) {
        #expect { try SiteKey(WebURL(url)) } throws: {
            ($0 as? Failure)?.code == "storage.pathRefused"
        }
    }

    @Test func longNamesAreShortenedAndStayApart() throws {
        let query = String(repeating: "k", count: 500)
        let first = try SiteKey(WebURL("http://h/seg.ts?t=\(query)1")).text
        let second = try SiteKey(WebURL("http://h/seg.ts?t=\(query)2")).text
        #expect(first != second)
        #expect(first.hasPrefix("h/seg.ts?="))
        #expect(first.utf8.count == "h/seg.ts?=".utf8.count + 32)
        // Stable between versions: files that are stored already must be found again.
        #expect(try SiteKey(WebURL("http://h/a?\(query)")).text.suffix(32) == Self.stableHash)

        let name = String(repeating: "ä", count: 130)
        let long = try SiteKey(WebURL("http://h/\(name)/x")).text
        let component = long.split(separator: "/")[1]
        #expect(component.utf8.count == 233)
        #expect(component.hasPrefix(String(repeating: "ä", count: 100) + "~"))
        let exact = String(repeating: "n", count: 255)
        #expect(try SiteKey(WebURL("http://h/\(exact)")).text == "h/\(exact)")
    }

    /// Of "a?", 500 times "k" and "=", computed by another program.
    private static let stableHash = "98490bcc58b23fe002863b3fa8430c68"

    @Test func aKeyIsBounded() throws {
        let deep = String(repeating: "a/", count: 127) + "b"
        #expect(throws: Failure.self) { try SiteKey(WebURL("http://h/\(deep)")) }
        let wide = (0..<12).map { _ in String(repeating: "w", count: 200) }
        #expect(throws: Failure.self) {
            try SiteKey(WebURL("http://h/" + wide.joined(separator: "/")))
        }
    }

    @Test func noURLLeavesTheSite() throws {
        // Every combination of pieces that mean something to a parser or to a file system.
        let pieces = ["..", ".", "%2e", "%2F", "/", "\\", "%5C", "a", "%00", "?", "%3F", "#", "%"]
        for first in pieces {
            for second in pieces {
                for third in pieces {
                    for fourth in ["", "/", "x", ".."] {
                        let text = "http://h/" + first + second + third + fourth
                        guard let url = try? WebURL(text), let key = try? SiteKey(url).text
                        else { continue }
                        let components = key.split(
                            separator: "/", omittingEmptySubsequences: false)
                        #expect(components.first == "h", "\(text)")
                        #expect(components.count > 1, "\(text)")
                        let isSafe = components.allSatisfy {
                            !$0.isEmpty && $0 != "." && $0 != ".." && !$0.contains("\0")
                        }
                        #expect(isSafe, "\(text) → \(key)")
                    }
                }
            }
        }
    }

    @Test func aQueryNeverMeetsAPath() throws {
        // A path that decodes to what a query's key looks like is rejected, so that key is unique.
        for query in ["x=1", "=", "a&b=c", "t=a.b-c_d~e", "123", "%41=", "a?b="] {
            let key = try SiteKey(WebURL("http://h/name?\(query)")).text
            let encoded = key.dropFirst(2).utf8.map { byte in
                let digits = String(byte, radix: 16)
                return "%" + (digits.count == 1 ? "0" : "") + digits
            }
            #expect(throws: Failure.self) {
                try SiteKey(WebURL("http://h/" + encoded.joined()))
            }
        }
    }
}
