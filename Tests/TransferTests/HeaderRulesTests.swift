import Curl
import Model
import TestSupport
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

    @Test func anAnswersAgeComesFromItsHeader() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        #expect(AnswerTime.seconds(date: date, age: nil) == 784_111_777)
        #expect(AnswerTime.seconds(date: date, age: "23") == 784_111_800)
        #expect(AnswerTime.seconds(date: date, age: "-1") == 784_111_777)
        #expect(AnswerTime.seconds(date: "now", age: "23") == nil)
        #expect(AnswerTime.seconds(date: nil, age: "23") == nil)
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
        #expect(WebPage.isStart("<!-- a -- b -->\n<!-- --><!DOCTYPE html>".utf8))
        #expect(WebPage.isStart("<?xml version=\"1.0\"?>\n<!DOCTYPE html PUBLIC".utf8))
        #expect(WebPage.isStart("<HEAD><title>".utf8))
        #expect(!WebPage.isStart("<?xml version=\"1.0\"?><MPD>".utf8))
        #expect(!WebPage.isStart("<!-- \(String(repeating: "x", count: 600)) --><html>".utf8))
        #expect(!WebPage.isStart("<header>".utf8))
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
        for url in ["http://o/a.mp4", "http://o/a.VTT?b=c.html", "http://o/a/b.jpg#x"] {
            #expect(WebPage.isMedia(at: url), "\(url)")
        }
        for url in [
            "http://o.mp4", "http://o.mp4/", "http://o/mp4", "http://o/a.svg", "http://o/a?b.mp4",
        ] {
            #expect(!WebPage.isMedia(at: url), "\(url)")
        }
    }
}

@Suite("Address policy")
struct AddressPolicyTests {
    @Test(
        "link-local and metadata addresses are never admitted",
        arguments: [
            "169.254.169.254", "169.254.0.1", "169.254.170.2", "100.100.100.200", "192.0.0.192",
            "168.63.129.16", "fe80::1", "febf::1", "fd00:ec2::254",
            "fd00:ec2::23", "fd20:ce::254", "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe", "64:ff9b:1:a9fe:a9:fe08:808:808",
            "2002:a9fe:a9fe::1", "::169.254.169.254", "::2", "::0.0.1.0", "::0.255.255.255",
            "0.0.0.0", "0.1.2.3", "::", "::ffff:0.0.0.0", "224.0.0.1", "255.255.255.255",
            "ff02::1",
        ])
    func denied(literal: String) throws {
        let address = try #require(PeerAddress(literal))
        let everything = try ["0.0.0.0/0", "::/0"].map { try AddressBlock($0) }
        for policy in [
            AddressPolicy(allowsPrivate: true), AddressPolicy(allowsPrivate: false),
            AddressPolicy(allowed: everything), AddressPolicy(denied: everything),
        ] {
            #expect(!policy.admits(address))
            let rejection = try #require(policy.rejection(of: address))
            #expect(rejection.code == "origin.addressForbidden")
            #expect(
                !"\(rejection.message) \(rejection.code.row.hint)".contains("--allow-addresses"))
        }
    }

    @Test(
        "the block that a rejection names admits the address",
        arguments: [
            ("10.0.0.1", "10.0.0.1/32"), ("::1", "::1/128"), ("::ffff:10.0.0.1", "10.0.0.1/32"),
            ("64:ff9b::7f00:1", "127.0.0.1/32"), ("fd12::1", "fd12::1/128"),
            ("2002:a00:1::", "10.0.0.1/32"), ("8.8.8.8", "8.8.8.8/32"),
        ])
    func namedBlock(literal: String, block: String) throws {
        let address = try #require(PeerAddress(literal))
        var policy = AddressPolicy(
            allowsPrivate: false, denied: try ["8.0.0.0/8"].map { try AddressBlock($0) })
        let rejection = try #require(policy.rejection(of: address))
        #expect(rejection.code == "origin.addressDenied")
        #expect(rejection.message.contains("--allow-addresses \(block) "), "\(rejection.message)")
        policy.allowed = [try AddressBlock(block)]
        #expect(policy.rejection(of: address) == nil)
        // Denied by the block itself: what is allowed as well does not count.
        policy.denied = [try AddressBlock(block)]
        let denied = try #require(policy.rejection(of: address))
        #expect(denied.code == "origin.addressBlocked")
        #expect(denied.message.contains("is in --deny-addresses as \(block)"))
        #expect(!"\(denied.message) \(denied.code.row.hint)".contains("--allow-addresses"))
    }

    @Test(
        "private addresses are admitted when they are allowed",
        arguments: [
            "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "127.0.0.1", "127.1.2.3",
            "100.64.0.1", "::1", "fd12::1", "fc00::1", "::ffff:10.0.0.1", "64:ff9b::7f00:1",
            "192.0.0.1", "198.18.0.1", "198.19.255.255",
            "fec0::1", "2001:0:1::", "::ffff:0:10.0.0.1",
        ])
    func conditional(literal: String) throws {
        let address = try #require(PeerAddress(literal))
        #expect(AddressPolicy(allowsPrivate: true).admits(address))
        #expect(!AddressPolicy(allowsPrivate: false).admits(address))
    }

    @Test(
        "no block that IANA keeps for a special purpose is admitted where private ones are not",
        arguments: SpecialPurposeAddresses.rows4 + SpecialPurposeAddresses.rows6)
    func specialPurpose(row: SpecialPurposeAddresses.Row) throws {
        let block = try AddressBlock(row.block)
        let last = block.bytes.indices.map { index in
            block.bytes[index] | (0xFF >> UInt8(min(max(block.bits - index * 8, 0), 8)))
        }
        let policy = AddressPolicy(allowsPrivate: false)
        // What stands for an IPv4 address is judged by that: of these blocks the last one is reserved.
        let standsForV4 = ["::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16"]
        for bytes in standsForV4.contains(row.block) ? [last] : [block.bytes, last] {
            let address: PeerAddress = bytes.count == 4 ? .v4(bytes) : .v6(bytes)
            #expect(!policy.admits(address), "\(row.block), \(row.name)")
        }
    }

    @Test("the table has every row of both registries")
    func registries() {
        #expect(SpecialPurposeAddresses.rows4.count == 26)
        #expect(SpecialPurposeAddresses.blocks4.count == 26)
        #expect(SpecialPurposeAddresses.rows6.count == 25)
        // The IPv4-mapped one is a block of IPv4.
        #expect(SpecialPurposeAddresses.blocks6.count == 24)
    }

    @Test(
        "public addresses are admitted",
        arguments: [
            "1.1.1.1", "172.32.0.1", "169.253.1.1", "100.128.0.1", "192.0.1.1", "192.0.3.1",
            "192.88.98.255", "192.175.49.0", "198.17.255.255", "198.20.0.1", "198.51.101.0",
            "203.0.112.255", "223.255.255.255", "2001:200::1", "2001:db7:ffff::1", "2001:db9::",
            "2606:4700::1111", "2620:4f:8001::", "3ffe:ffff::1", "64:ff9b::101:101",
        ])
    func admitted(literal: String) throws {
        let address = try #require(PeerAddress(literal))
        #expect(AddressPolicy(allowsPrivate: false).admits(address))
    }

    @Test("the longest block decides, and what is never admitted stays so")
    func lists() throws {
        let policy = AddressPolicy(
            allowsPrivate: false,
            allowed: try ["10.1.0.0/16", "fd00::/8", "169.254.0.0/16", "8.8.8.8", "1.1.0.0/16"]
                .map { try AddressBlock($0) },
            denied: try ["10.1.2.0/24", "8.8.0.0/16", "1.1.0.0/16", "::ffff:9.9.9.0/120"]
                .map { try AddressBlock($0) })
        let cases = [
            ("10.1.0.1", true), ("::ffff:10.1.0.1", true), ("10.1.2.3", false),
            ("::ffff:10.1.2.3", false), ("10.2.0.1", false), ("fd12::1", true),
            ("169.254.169.254", false), ("fd00:ec2::254", false), ("8.8.8.8", true),
            ("8.8.4.4", false), ("64:ff9b::808:404", false), ("1.1.1.1", false),
            ("9.9.9.9", false), ("9.9.8.9", true), ("2606:4700::1111", true),
        ]
        let forms = AddressPolicy(
            allowsPrivate: true,
            denied: try ["64:ff9b::/96", "2002::/16"].map { try AddressBlock($0) })
        #expect(!forms.admits(try #require(PeerAddress("64:ff9b::101:101"))))
        #expect(!forms.admits(try #require(PeerAddress("2002:101:101::1"))))
        #expect(forms.admits(try #require(PeerAddress("1.1.1.1"))))
        for (literal, isAdmitted) in cases {
            let address = try #require(PeerAddress(literal))
            #expect(policy.admits(address) == isAdmitted, "\(literal)")
        }
    }

    @Test(
        "what is no block is rejected",
        arguments: [
            "", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/08", "10.1.2.3/8", "10.0.0/8",
            "2001:db8::/129", "2001:db8::1/32", "host", "0x7f.1", "10.0.0.0/8/8",
        ])
    func noBlocks(text: String) throws {
        #expect(throws: Failure.self) { try AddressBlock(text) }
    }
}
