import Model
import TestSupport
import Testing

@Suite struct UTCDayTests {
    @Test(arguments: ["2026-11-26", "2024-02-29", "2000-02-29", "1970-01-01", "9999-12-31"])
    func aDayOfTheCalendarIsTaken(text: String) {
        #expect(UTCDay(text)?.description == text)
    }

    @Test(arguments: [
        "", "2026-11-31", "2025-02-29", "2100-02-29", "1969-12-31", "2026-13-01", "2026-00-10",
        "2026-1-01", "+026-01-01", "2026-01-0١", "2026-01-01T00:00Z", "2026-01", "yesterday",
        " 2026-01-01", "2026--1-01",
    ])
    func anythingElseIsNot(text: String) { #expect(UTCDay(text) == nil) }

    @Test func daysAreInOrder() throws {
        let days = try ["2026-11-26", "2025-12-31", "2026-02-01"].map { try #require(UTCDay($0)) }
        #expect(days.sorted().map(\.description) == ["2025-12-31", "2026-02-01", "2026-11-26"])
    }

    @Test func noRetryCorrectsWhatIsNotAddressable() {
        #expect(FailureCode.unaddressable.allSatisfy { $0.isKnown && !$0.row.isRetryable })
        #expect(!FailureCode.originHTTP404.isAddressable)
        #expect(FailureCode.originHTTP503.isAddressable && FailureCode("other").isAddressable)
    }
}
