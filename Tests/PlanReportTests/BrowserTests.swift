import TestSupport
import Testing

@testable import PlanReport

/// The page of a plan in a real browser.
@Suite(.enabled(if: Browser.isInstalled, Browser.needs), .timeLimit(.minutes(2)))
struct BrowserTests {
    /// In a usual window nothing is clipped; in a narrow one tables of figures scroll. 320 pixels are
    /// those of a window of 1,280 at 400 %.
    @Test(
        arguments: [
            ("1100,4000", nil, false), ("1200,4000", nil, false), ("500,900", nil, true),
            ("500,900", 400, true), ("500,900", 320, true),
        ] as [(String, Int?, Bool)])
    func allOfItCanBeRead(windowSize: String, frameWidth: Int?, scrolls: Bool) async throws {
        for originRequests in [nil, 1.0] {
            let page = try PlanPage.page(originRequests: originRequests).text
            let faults = try await Browser.faults(
                of: page, windowSize: windowSize, frameWidth: frameWidth, scrolls: scrolls)
            #expect(faults == "[]")
        }
    }
}
