import Schedule
import Testing

@Suite struct TimeZoneRulesTests {
    @Test(arguments: [
        // 2026-03-29T00:59:59Z and the second after.
        ("Europe/Berlin", 1_774_745_999.0, 3_600), ("Europe/Berlin", 1_774_746_000.0, 7_200),
        ("UTC", 1_774_746_000.0, 0), ("Asia/Kolkata", 1_774_746_000.0, 19_800),
        ("America/New_York", 1_774_746_000.0, -14_400), ("Etc/GMT+3", 0.0, -10_800),
    ])
    func offsets(name: String, seconds: Double, expected: Int) throws {
        let rules = try #require(TimeZoneRules(name))
        #expect(rules.offsetSeconds(at: seconds) == expected)
    }

    @Test(arguments: ["", "Nowhere/City", "europe/berlin", "PST", "BST", "GMT+3", "Europe/"])
    func whatIsNoZoneIsRefused(name: String) {
        #expect(TimeZoneRules(name) == nil)
    }
}
