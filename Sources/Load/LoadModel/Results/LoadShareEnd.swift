/// How one share of a test ended, and what it measured of URLs, targets and renditions.
package struct LoadShareEnd: Sendable, Codable {
    package var ending: LoadResult.Ending
    /// From the test's start until the last of its requests ended, after the end of the load perhaps.
    package var elapsedSeconds: Double
    package var breakdown: LoadBreakdown

    package init(ending: LoadResult.Ending, elapsedSeconds: Double, breakdown: LoadBreakdown) {
        self.ending = ending
        self.elapsedSeconds = elapsedSeconds
        self.breakdown = breakdown
    }
}
