import API
import Foundation
import Model
import TestSupport
import Testing

@Suite struct OriginTests {
    /// Whatever way a URL is written, its origin has one name.
    @Test(arguments: [
        ("http://h/a?b#c", "http://h"), ("HTTP://Host.Example:8080/A", "http://host.example:8080"),
        ("http://h:80/a", "http://h"), ("https://h:443", "https://h"),
        ("https://h:80/", "https://h:80"),
        ("http://h:/a", "http://h"), ("http://h?x", "http://h"), ("http://u:p@h/a@b", "http://h"),
        ("http://[::1]:81/", "http://[::1]:81"), ("https://[::1]/", "https://[::1]"),
    ])
    func anOriginHasOneName(url: String, name: String) {
        #expect(originName(of: url) == name)
    }

    @Test(arguments: ["", "h/a", "ftp://h/a", "http:/h", "http://", "http:///a", "http://u@/a"])
    func whatIsNoWebAddressHasNone(url: String) {
        #expect(originName(of: url) == nil)
    }

    @Test func credentialsAreRefusedWhereTheyMayNotBe() {
        #expect(originName(of: "http://u@h/a", allowsUserInfo: false) == nil)
        #expect(originName(of: "http://h/a@b", allowsUserInfo: false) == "http://h")
    }

    @Test func absentLimitsAreNotSent() throws {
        func keys(_ value: some Encodable) throws -> Set<String> {
            let object = try JSONSerialization.jsonObject(with: try JSONEncoder().encode(value))
            return Set(((object as? [String: Any]) ?? [:]).keys)
        }
        let grant = LeaseGrant(lease: nil, seconds: 1)
        #expect(try !keys(grant).contains("shares"))
        #expect(try keys(HeartbeatAnswer(leases: [], seconds: 1)) == ["leases", "seconds"])
        let beat = Heartbeat(
            worker: "w", leases: [], progress: [:], name: "n", activeTransfers: 0)
        #expect(try !keys(beat).contains("origins"))
    }
}
