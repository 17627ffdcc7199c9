/// The end of one shard of a test, with its totals by URL, target and rendition.
package struct LoadShardEnd: Sendable, Codable {
    package var ending: LoadResult.Ending
    /// Seconds from the test's start to the end of its last request, possibly after the end of the
    /// load.
    package var elapsedSeconds: Double
    package var breakdown: LoadBreakdown

    package init(ending: LoadResult.Ending, elapsedSeconds: Double, breakdown: LoadBreakdown) {
        self.ending = ending
        self.elapsedSeconds = elapsedSeconds
        self.breakdown = breakdown
    }
}
