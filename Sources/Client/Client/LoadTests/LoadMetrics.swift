import Foundation
package import LoadModel
import LoadReport
import Metrics
import Synchronization

/// Serves the metrics of a running load test. Safe to use from any thread.
package final class LoadMetrics: Sendable {
    private let live: Mutex<LoadLive>
    private let generators: @Sendable () -> LoadGenerators

    /// - Parameter generators: called for each request.
    package init(_ scenario: LoadScenario, generators: @escaping @Sendable () -> LoadGenerators) {
        live = Mutex(LoadLive(scenario, startedSeconds: Date().timeIntervalSince1970))
        self.generators = generators
    }

    /// Starts the metrics of a run.
    func begin(_ scenario: LoadScenario) { live.withLock { $0.begin(scenario) } }

    /// Continues the run with another plan.
    func change(to scenario: LoadScenario) { live.withLock { $0.change(to: scenario) } }

    /// Adds a complete second, and the totals up to then.
    func take(_ interval: LoadInterval, _ result: LoadResult) {
        live.withLock { $0.add(interval, of: result) }
    }

    /// Ends the run's metrics.
    func end() { live.withLock { $0.end() } }

    /// Returns the metrics as text.
    func page(_ format: MetricsFormat) -> [UInt8] { LoadPrometheus.text(current, format) }

    /// Returns the metrics with their samples.
    func families() -> [(family: MetricFamily, samples: [MetricSample])] {
        LoadPrometheus.families(current)
    }

    private var current: LoadLive {
        let generators = generators()
        var copy = live.withLock(\.self)
        copy.cores = generators.cores
        copy.shards = generators.shards
        return copy
    }
}

extension MetricsListener {
    /// Creates the listener of a load test. It shows no URL and no header.
    package convenience init(_ listen: ListenAddress, isQuiet: Bool, _ metrics: LoadMetrics) {
        self.init(
            listen, isQuiet: isQuiet,
            pages: [
                "/metrics": { accept in
                    let format = MetricsFormat(accept: accept)
                    return (format.contentType, metrics.page(format))
                }
            ])
    }
}
