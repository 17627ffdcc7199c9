import Curl
import Testing

@testable import Transfer

@Suite("What headers say")
struct HeaderRulesTests {
    @Test("Content-Range", arguments: [("bytes 0-99/200", true), ("bytes 199-199/200", true)])
    func contentRange(text: String, isGood: Bool) {
        #expect((ContentRange(text) != nil) == isGood)
    }

    @Test(
        "Content-Range that cannot be used",
        arguments: [
            "", "bytes */200", "bytes 0-99/*", "items 0-9/10", "bytes 9-0/10", "bytes 0-10/10",
            "bytes -1-5/10", "bytes 0-5", "bytes 0-5/99999999999999999999", "bytes 0- 5/10",
        ])
    func badContentRange(text: String) {
        #expect(ContentRange(text) == nil)
    }

    @Test("Retry-After in seconds, as a date, huge, past and junk")
    func retryAfter() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        #expect(RetryAfter.seconds("120", date: nil) == 120)
        #expect(RetryAfter.seconds("0", date: nil) == 0)
        #expect(RetryAfter.seconds("99999999999999999999999", date: nil) == 3_600)
        #expect(RetryAfter.seconds("Sun, 06 Nov 1994 08:50:07 GMT", date: date) == 30)
        #expect(RetryAfter.seconds("Sun, 06 Nov 1994 07:00:00 GMT", date: date) == 0)
        #expect(RetryAfter.seconds("Sun, 06 Nov 2094 07:00:00 GMT", date: date) == 3_600)
        #expect(RetryAfter.seconds("Sun, 06 Nov 1994 08:50:07 GMT", date: nil) == nil)
        for junk in ["", "soon", "-5", "1.5", "1e9", "0x10"] {
            #expect(RetryAfter.seconds(junk, date: date) == nil, "\(junk)")
        }
        #expect(RetryAfter.seconds(nil, date: date) == nil)
    }

    @Test("validators must be strong")
    func validators() {
        let old = "Sun, 06 Nov 1994 08:49:37 GMT"
        let now = "Sun, 06 Nov 1994 08:49:38 GMT"
        #expect(Validator.of(etag: "\"a\"", lastModified: nil, date: nil) == "\"a\"")
        #expect(Validator.of(etag: "W/\"a\"", lastModified: nil, date: now) == nil)
        #expect(Validator.of(etag: "a", lastModified: nil, date: now) == nil)
        #expect(Validator.of(etag: "W/\"a\"", lastModified: old, date: now) == old)
        #expect(Validator.of(etag: nil, lastModified: now, date: now) == nil)
        #expect(Validator.of(etag: nil, lastModified: old, date: nil) == nil)
    }

    @Test("recognises web pages")
    func webPages() {
        #expect(WebPage.isType("text/html; charset=utf-8"))
        #expect(WebPage.isType("TEXT/HTML"))
        #expect(!WebPage.isType("text/plain"))
        #expect(!WebPage.isType(nil))
        #expect(WebPage.isStart("\u{FEFF}\n  <!DOCTYPE HTML>".utf8))
        #expect(WebPage.isStart("<html lang=en>".utf8))
        #expect(!WebPage.isStart("#EXTM3U\n".utf8))
        #expect(!WebPage.isStart("<ht".utf8))
    }

    @Test("knows where a page is expected")
    func expectedPages() {
        for url in ["http://o/a.html", "http://o/a.HTM?x=b.mp4", "http://o/", "http://o/a"] {
            #expect(WebPage.isExpected(at: url), "\(url)")
        }
        for url in ["http://o/a.mp4", "http://o/a.html/b.ts"] {
            #expect(!WebPage.isExpected(at: url), "\(url)")
        }
    }
}

@Suite("Address policy")
struct AddressPolicyTests {
    @Test(
        "link-local and metadata addresses are never admitted",
        arguments: [
            "169.254.169.254", "169.254.0.1", "169.254.170.2", "100.100.100.200", "192.0.0.192",
            "168.63.129.16", "fe80::1", "febf::1", "fd00:ec2::254", "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe", "2002:a9fe:a9fe::1", "::169.254.169.254",
            "0.0.0.0", "0.1.2.3", "::", "::ffff:0.0.0.0", "224.0.0.1", "255.255.255.255",
            "ff02::1",
        ])
    func denied(literal: String) throws {
        let address = try #require(PeerAddress(literal))
        #expect(!AddressPolicy(allowsPrivate: true).admits(address))
        #expect(!AddressPolicy(allowsPrivate: false).admits(address))
    }

    @Test(
        "private addresses are admitted when they are allowed",
        arguments: [
            "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "127.0.0.1", "127.1.2.3",
            "100.64.0.1", "::1", "fd12::1", "fc00::1", "::ffff:10.0.0.1", "64:ff9b::7f00:1",
        ])
    func conditional(literal: String) throws {
        let address = try #require(PeerAddress(literal))
        #expect(AddressPolicy(allowsPrivate: true).admits(address))
        #expect(!AddressPolicy(allowsPrivate: false).admits(address))
    }

    @Test(
        "public addresses are admitted",
        arguments: [
            "1.1.1.1", "172.32.0.1", "192.0.2.1", "169.253.1.1", "100.128.0.1", "2001:db8::1",
            "2606:4700::1111", "64:ff9b::101:101",
        ])
    func admitted(literal: String) throws {
        let address = try #require(PeerAddress(literal))
        #expect(AddressPolicy(allowsPrivate: false).admits(address))
    }
}
