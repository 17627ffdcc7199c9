import CoordinatorClient
import Model
import Planner
import Statistics

/// How workers did in a run, as its report has it, and as a plan is held against it.
package struct ReportWork: Codable {
    /// From a catalog's start until a file of it was stored, in seconds.
    package struct Waits: Codable {
        package var p50: Double
        package var p95: Double
        package var p99: Double

        /// Nil of nothing.
        init?(_ waits: LogHistogram) {
            guard waits.count > 0 else { return nil }
            p50 = rounded(waits.quantile(0.5))
            p95 = rounded(waits.quantile(0.95))
            p99 = rounded(waits.quantile(0.99))
        }
    }

    /// Most that worked in one minute.
    package var workers: Int
    /// The share of the transfers that workers can have under way which were, while they had work.
    package var utilisation: Double
    /// The mean time of a fetch on the network, and its variance over its squared mean.
    package var fetchSeconds: Double
    package var fetchCV2: Double

    /// Of what workers told in the time of a catalog that has just ended, other catalogs' work in it; nil
    /// when that is nothing, or no coordinator answers.
    static func of(_ status: CatalogStatus, _ client: CoordinatorClient) async -> ReportWork? {
        let seconds = Int(min(max(60, status.totals.seconds), Double(WorkersHistory.keptSeconds)))
        guard let history = try? await client.workersHistory(seconds: seconds) else { return nil }
        return ReportWork(history)
    }

    private init?(_ history: WorkersHistory) {
        let work = ClusterHistory.Work(history.minutes)
        guard let workers = work.mostWorkers, work.slotSeconds > 0 else { return nil }
        self.workers = workers
        utilisation = rounded(
            min(1, work.fetches.mean * Double(work.fetches.count) / work.slotSeconds))
        fetchSeconds = rounded(work.fetches.mean)
        fetchCV2 = rounded(work.fetches.cv2)
    }
}

/// To a microsecond.
private func rounded(_ value: Double) -> Double { (value * 1e6).rounded() / 1e6 }
