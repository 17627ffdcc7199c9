/// The end of one shard of a test, with its totals by URL, target and rendition.
package struct LoadShardEnd: Sendable, Codable {
    package var ending: LoadResult.Ending
    /// Seconds from the test's start until which it sent requests.
    package var loadSeconds: Double
    package var breakdown: LoadBreakdown

    package init(ending: LoadResult.Ending, loadSeconds: Double, breakdown: LoadBreakdown) {
        self.ending = ending
        self.loadSeconds = loadSeconds
        self.breakdown = breakdown
    }
}
