import Model
import Testing

@Suite("Query parameters that an operator keeps in keys, or leaves out")
struct KeyQueryRulesTests {
    private static let names = KeyQueryRules.Names(
        keep: ["token", "sig", "h"], leaveOut: ["session", "cb", "signature", "expires"])

    @Test(
        "what stands in a key",
        arguments: [
            ("session=1&v=2", "v=2"), ("v=2&SESSION=1&cb", "v=2"), ("v=2;cb=1;w=3", "v=2;w=3"),
            ("%73ession=1&v=2", "v=2"), ("v=2&c%42=7", "v=2"), ("session=1", ""),
            ("v=1&amp;session=2&amp;w=3", "v=1&amp;w=3"), ("session=1&session=2&a", "a"),
            ("token=1080p&session=1", "token=1080p"), ("Token=a&auth=s", "Token=a"),
            ("%74oken=a&jwt=s&cb=1", "%74oken=a"),
            // Removed parameters still identify the others.
            ("Signature=s&Policy=p&n=1", "n=1"), ("md5=0123456789abcdef&expires=9", ""),
            ("sig=1~exp=2~hmac=ab", ""),
        ])
    func leftOut(query: String, kept: String) {
        let rest = SignedQuery.withoutSecrets(Array(query.utf8)[...], Self.names)
        #expect(rest.map { String(decoding: $0, as: UTF8.self) } == kept)
    }

    @Test(
        "what stays as it is",
        arguments: [
            "", "v=1", "token=1080p", "TOKEN=a&v=1", "sv=1&sig=s&se=9", "sessions=1", "cbx",
            "v=session", "sig=s&Policy=p", "h=0123456789abcdef&e=1700000000",
        ])
    func whole(query: String) {
        #expect(SignedQuery.withoutSecrets(Array(query.utf8)[...], Self.names) == nil)
    }

    private static let rules = KeyQueryRules([
        KeyQueryRule(leaveOut: ["SESSION"]),
        KeyQueryRule(origin: "http://o.test:8080", keep: ["sig"], leaveOut: ["cb"]),
    ])

    @Test(
        "two URLs are one object where they differ in what is left out by their origin",
        arguments: [
            ("http://h/a?session=1", "http://h/a?session=2", true),
            ("http://h/a?session=1", "http://h/a", true), ("http://h/a?cb=1", "http://h/a", false),
            ("http://o.test:8080/a?cb=1", "http://o.test:8080/a?cb=2", true),
            ("http://o.test:8080/a?session=1", "http://o.test:8080/a?session=2", false),
            ("http://o.test:8080/a?sig=1", "http://o.test:8080/a?sig=2", false),
            ("http://h/a?sig=1", "http://h/a?sig=2", true),
            ("http://h/a?sig=1&session=1", "http://h/a?session=2&sig=2", true),
            ("http://h/a?token=1&session=1", "http://h/a?token=2&session=1", false),
        ])
    func objects(left: String, right: String, areOne: Bool) {
        let pair = (Array(left.utf8), Array(right.utf8))
        #expect(SignedQuery.isSameObject(pair.0, pair.1, Self.rules) == areOne)
        #expect(SignedQuery.isSameObject(pair.1, pair.0, Self.rules) == areOne)
    }

    @Test("settings of origins make rules in a fixed order, and none that say the same")
    func ofSettings() {
        var standard = OriginSettings()
        #expect(OriginSettingsTable(standard: standard, origins: [:]).keyQueries == nil)
        standard.keyQuery = KeyQueryRule(leaveOut: ["cb"])
        var own = OriginSettings()
        own.keyQuery = KeyQueryRule(keep: ["token"])
        var none = OriginSettings()
        none.keyQuery = KeyQueryRule()
        let table = OriginSettingsTable(
            standard: standard,
            origins: ["http://c": OriginSettings(), "http://b": own, "http://a": none])
        #expect(
            table.keyQueries == [
                KeyQueryRule(leaveOut: ["cb"]), KeyQueryRule(origin: "http://a"),
                KeyQueryRule(origin: "http://b", keep: ["token"]),
            ])
        let rules = KeyQueryRules(table.keyQueries)
        #expect(rules.names(of: "http://c/x".utf8).leaveOut == ["cb"])
        #expect(rules.names(of: "http://a/x".utf8).isEmpty)
        #expect(rules.names(of: "http://b?x".utf8).keep == ["token"])
    }
}
