import API
import CoordinatorClient
import Model
import Statistics

/// The workers' performance in a run, for its report and for comparison with a plan.
package struct ReportWork: Codable {
    /// Seconds from a catalog's start until its files were stored.
    package struct Waits: Codable {
        package var p50: Double
        package var p95: Double
        package var p99: Double

        /// Creates the quantiles; nil without samples.
        init?(_ waits: WaitHistogram) {
            guard waits.count > 0 else { return nil }
            p50 = rounded(waits.quantile(0.5))
            p95 = rounded(waits.quantile(0.95))
            p99 = rounded(waits.quantile(0.99))
        }
    }

    /// Number of workers that had jobs of the run.
    package var workers: Int
    /// Used part of these workers' connections, 0 to 1: from each one's first job to the end of the
    /// run.
    package var utilisation: Double
    /// Mean time of a fetch on the network; `fetchCV2` is the variance over the squared mean.
    package var fetchSeconds: Double
    package var fetchCV2: Double

    /// Returns the work for a catalog's last run. Returns nil if there is none, or if no
    /// coordinator answers.
    static func of(_ status: CatalogStatus, _ client: CoordinatorClient) async -> ReportWork? {
        var work = try? await client.work(for: status.id)
        // Workers report some tenths of a second later what ended last.
        var left = lateTicks
        while left > 0, status.state.isTerminal, let seen = work,
            seen.fetches < status.totals.segmentsDone
        {
            try? await Task.sleep(for: .milliseconds(100))
            work = try? await client.work(for: status.id)
            left = work == seen ? left - 1 : lateTicks
        }
        return work.flatMap { ReportWork($0) }
    }

    /// Tenths of a second to wait for later reports of workers.
    private static let lateTicks = 6

    private init?(_ work: CatalogWork) {
        guard work.fetches > 0, work.connectionSeconds > 0 else { return nil }
        let fetches = Moments(
            count: work.fetches, sum: work.seconds, squares: work.seconds2, cubes: 0,
            fourthPowers: 0)
        workers = work.workers
        utilisation = rounded(min(1, work.usedSeconds / work.connectionSeconds))
        fetchSeconds = rounded(fetches.mean)
        fetchCV2 = rounded(fetches.cv2)
    }
}

/// Rounds to a microsecond.
private func rounded(_ value: Double) -> Double { (value * 1e6).rounded() / 1e6 }
