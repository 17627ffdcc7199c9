import Schedule
import Testing

@Suite struct PointInTimeTests {
    @Test(arguments: [
        ("1970-01-01T00:00Z", 0), ("2026-11-22T18:00Z", 1_795_370_400),
        ("2026-11-22 18:00:30+01:00", 1_795_366_830), ("2026-11-22t18:00-05:30", 1_795_390_200),
        ("2028-02-29T12:00z", 1_835_438_400), ("9999-12-31T23:59:59Z", 253_402_300_799),
        ("45s", 1_045), ("90m", 6_400), ("6h", 22_600), ("2d", 173_800), ("0s", 1_000),
    ])
    func isRead(_ text: String, _ seconds: Double) {
        #expect(pointInTime(text, now: 1_000) == seconds)
    }

    /// Without a zone it would be another time on each machine.
    @Test(arguments: [
        "", "Z", "tomorrow", "2026-11-22", "2026-11-22T18:00", "2026-11-22T18Z",
        "2026-11-31T18:00Z", "2027-02-29T18:00Z", "2026-13-01T18:00Z", "2026-11-22T24:00Z",
        "2026-11-22T18:60Z", "2026-11-22T18:00+1:00", "2026-11-22T18:00+01:00x",
        "2026-11-22T18:00:Z", "1969-12-31T23:59Z", "1970-01-01T00:00+01:00", "10", "-1h", "+1h",
        "1.5h", "6 h", "h", "1000001d", "٣h", "2026‑11-22T18:00Z",
    ])
    func isNotRead(_ text: String) {
        #expect(pointInTime(text, now: 1_000) == nil)
    }
}
