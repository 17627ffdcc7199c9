import Lists
import Model
import TestSupport
import Testing

/// Rights of assets in a JSON list.
@Suite struct ListRightsTests {
    private static func asset(_ fields: String) throws -> AssetSubmission {
        try #require(try ListReaderTests.read("[{\"url\": \"http://h/a\", \(fields)}]").first)
    }

    @Test(arguments: [
        ("2026-11-22T18:00Z", 1_795_370_400), ("2026-11-22T18:00:30+01:00", 1_795_366_830),
        // The hour that Berlin has twice, when its daylight saving ends, and the one that it has not.
        ("2026-10-25T02:30:00+02:00", 1_792_888_200), ("2026-10-25T02:30:00+01:00", 1_792_891_800),
        ("2026-03-29T02:30:00+01:00", 1_774_747_800),
    ])
    func aTimeHasAnOffset(_ text: String, _ seconds: Double) throws {
        let asset = try Self.asset("\"notBefore\": \"\(text)\"")
        #expect(asset.notBefore == seconds)
        #expect(try Self.asset("\"expiresAt\": \"\(text)\"").expiresAt == seconds)
    }

    @Test func aDurationIsRead() throws {
        #expect(try Self.asset("\"keepFor\": \"48h\"").keepSeconds == 172_800)
        #expect(try Self.asset("\"keepFor\": \"30d\"").keepSeconds == 2_592_000)
        #expect(try Self.asset("\"refreshAfter\": \"6h\"").refreshSeconds == 21_600)
        let byOrigin = try Self.asset("\"refreshAfter\": \"origin\"")
        #expect(byOrigin.refreshByOrigin == true && byOrigin.refreshSeconds == nil)
    }

    @Test func limitsOfATitleAreRead() throws {
        let asset = try Self.asset(
            "\"maxFetches\": {\"count\": 3, \"period\": \"30d\"}, \"maxSites\": 2, "
                + "\"title\": \"L1\"")
        #expect(asset.maxFetches == FetchLimit(count: 3, periodSeconds: 2_592_000))
        #expect(asset.maxSites == 2 && asset.title == "L1")
    }

    @Test(arguments: [
        ("\"maxFetches\": 3", "maxFetches"), ("\"maxFetches\": {\"count\": 3}", "lacks period"),
        ("\"maxFetches\": {\"period\": \"1d\"}", "lacks count"),
        ("\"maxFetches\": {\"count\": 0, \"period\": \"1d\"}", "maxFetches.count"),
        ("\"maxFetches\": {\"counts\": 1}", "maxFetches.counts"),
        ("\"maxSites\": 0", "maxSites"), ("\"maxSites\": 1.5", "maxSites"),
        ("\"title\": \"\"", "title: given"),
        ("\"notBefore\": \"2026-11-22T18:00\"", "notBefore: given"),
        ("\"expiresAt\": \"2026-11-22\"", "expiresAt: given"),
        ("\"expiresAt\": \"2d\"", "expiresAt: given"),
        ("\"expiresAt\": \"2026-02-30T18:00Z\"", "expiresAt: given"),
        ("\"expiresAt\": 1795370400", "expiresAt"), ("\"keepFor\": \"0s\"", "keepFor: given"),
        ("\"refreshAfter\": \"59s\"", "refreshAfter: given"),
        ("\"refreshAfter\": \"Origin\"", "origin, or 1m to 365d"),
        ("\"refreshAfter\": \"366d\"", "refreshAfter: given"),
        ("\"keepFor\": \"2 days\"", "keepFor: given"), ("\"keepFor\": 3", "keepFor"),
    ])
    func mistakesAreNamed(_ fields: String, _ message: String) {
        let failure = ListReaderTests.failure("[{\"url\": \"http://h/a\", \(fields)}]")
        #expect(failure?.code == .inputField)
        #expect(failure?.message.contains(message) == true, "\(failure?.message ?? "")")
    }

    @Test func anEndBeforeTheStartIsRefused() {
        let failure = ListReaderTests.failure(
            "[{\"url\": \"http://h/a\", \"notBefore\": \"2026-11-22T18:00+01:00\", "
                + "\"expiresAt\": \"2026-11-22T17:00Z\"}]")
        #expect(failure?.code == .inputRights)
        #expect(
            failure?.message.contains("expiresAt: it is not later than [0].notBefore") == true,
            "\(failure?.message ?? "")")
    }
}
