import Curl
import Testing

@Suite("URLs as libcurl reads them")
struct CurlURLTests {
    @Test("takes a URL apart")
    func parts() throws {
        let url = try CurlURL("HTTPS://ann:s%40crt@Example.COM:8443/a/./b/../c.mp4?x=1&y=2#top")
        #expect(url.scheme == "https")
        #expect(url.userInfo == "ann:s%40crt")
        #expect(url.host == "Example.COM")
        #expect(url.port == 8443)
        #expect(url.path == "/a/c.mp4")
        #expect(url.query == "x=1&y=2")
        #expect(url.origin == "https://example.com:8443")
        #expect(url.isHTTP)
        #expect(!url.string.contains("#"))
    }

    @Test("knows the default ports")
    func ports() throws {
        #expect(try CurlURL("http://a/").port == 80)
        #expect(try CurlURL("https://[::1]/").port == 443)
        #expect(try CurlURL("http://a:80/x").origin == CurlURL("http://A/y").origin)
        #expect(try CurlURL("http://a/").origin != CurlURL("https://a/").origin)
    }

    @Test(
        "joins references",
        arguments: [
            ("seg/1.ts", "http://o/v/seg/1.ts"), ("/1.ts", "http://o/1.ts"),
            ("../1.ts?t=2", "http://o/1.ts?t=2"), ("//p/1.ts", "http://p/1.ts"),
            ("https://q:444/1.ts", "https://q:444/1.ts"), ("file:///etc/passwd", nil),
        ])
    func joins(reference: String, expected: String?) throws {
        let joined = try CurlURL("http://o/v/main.m3u8?token=1").joining(reference)
        if let expected {
            #expect(joined.string == expected)
        } else {
            #expect(!joined.isHTTP)
        }
    }

    @Test(
        "rejects what is no URL",
        arguments: [
            "", "/a/b", "http://", "http://a\r\nHost: b/", "http://a/\u{0}", "http://a/\u{7F}",
            "http://a:99999/", "http://[::1/",
        ])
    func rejections(text: String) {
        #expect(throws: CurlURLError.self) { try CurlURL(text) }
    }

    @Test("puts userinfo in and takes it out")
    func userInfo() throws {
        let url = try CurlURL("http://ann:x@o:81/a?b")
        #expect(try url.withUserInfo(nil).string == "http://o:81/a?b")
        #expect(try url.withUserInfo("bob").string == "http://bob@o:81/a?b")
        #expect(try CurlURL("http://o/a").withUserInfo("a:b").userInfo == "a:b")
    }
}

@Suite("Dates, addresses and header lines")
struct CurlValueTests {
    @Test("reads the three forms of an HTTP date")
    func dates() {
        #expect(HTTPDate.seconds("Sun, 06 Nov 1994 08:49:37 GMT") == 784_111_777)
        #expect(HTTPDate.seconds("Sunday, 06-Nov-94 08:49:37 GMT") == 784_111_777)
        #expect(HTTPDate.seconds("Sun Nov  6 08:49:37 1994") == 784_111_777)
        for junk in ["", "soon", "120", "-5", "Sun, 99 Foo 1994 08:49:37 GMT"] {
            #expect(HTTPDate.seconds(junk) == nil)
        }
    }

    @Test("reads address literals")
    func addresses() {
        #expect(PeerAddress("169.254.169.254") == .v4([169, 254, 169, 254]))
        #expect(PeerAddress("::ffff:1.2.3.4") != nil)
        #expect(PeerAddress("example.com") == nil)
    }

    @Test("rejects header lines with line breaks")
    func headerInjection() throws {
        #expect(throws: CurlError.self) { try CurlHeaders(["A: b\r\nC: d"]) }
        _ = try CurlHeaders(["A: b"])
    }
}
