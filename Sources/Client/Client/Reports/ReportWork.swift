import API
import CoordinatorClient
import Model
import Planner
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

    /// Maximum number of workers in one minute.
    package var workers: Int
    /// Used part of the workers' connections while they had jobs, 0 to 1.
    package var utilisation: Double
    /// Mean time of a fetch on the network; `fetchCV2` is the variance over the squared mean.
    package var fetchSeconds: Double
    package var fetchCV2: Double

    /// Returns the work that workers reported during an ended catalog, including that for other
    /// catalogs. Returns nil if there is none, or if no coordinator answers.
    static func of(_ status: CatalogStatus, _ client: CoordinatorClient) async -> ReportWork? {
        let seconds = Int(min(max(60, status.totals.seconds), Double(WorkersHistory.keptSeconds)))
        guard let history = try? await client.workersHistory(seconds: seconds) else { return nil }
        return ReportWork(history)
    }

    private init?(_ history: WorkersHistory) {
        let work = ClusterHistory.Work(history.minutes)
        guard let workers = work.maxWorkers, work.slotSeconds > 0 else { return nil }
        self.workers = workers
        utilisation = rounded(
            min(1, work.fetches.mean * Double(work.fetches.count) / work.slotSeconds))
        fetchSeconds = rounded(work.fetches.mean)
        fetchCV2 = rounded(work.fetches.cv2)
    }
}

/// Rounds to a microsecond.
private func rounded(_ value: Double) -> Double { (value * 1e6).rounded() / 1e6 }
