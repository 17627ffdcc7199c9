import API
package import Metrics
import Model
import Storage
import Transfer

/// Counts and measures the work of a worker. Safe from any thread.
///
/// A transfer is counted once, at its end; files and results are counted by batches.
package final class WorkerMetrics: Sendable {
    package let registry = MetricRegistry()

    let lostLeases: Counter
    let leasedJobs: Counter
    let failedReports: Counter
    private let transferDuration: DurationHistogram
    private let failures: BoundedSeries<Counter>
    private let storedBytes: BoundedSeries<Counter>
    private let storedFiles: BoundedSeries<Counter>
    private let results: BoundedSeries<Counter>
    private let origins: BoundedSeries<OriginCounters>

    /// Numbers of origins and sites with series of their own.
    static let maxOrigins = 200
    static let maxSites = 100

    /// The transfers from one origin.
    private final class OriginCounters: MetricSeries {
        let succeeded = Counter()
        let failed = Counter()
        let bytes = Counter()
    }

    init() {
        registry.declareProcess(version: drayVersion)
        leasedJobs = registry.counter("dray_worker_leased_jobs", "Jobs that this worker leased.")
        lostLeases = registry.counter(
            "dray_worker_lost_leases", "Leases that ended before their jobs did.")
        failedReports = registry.counter(
            "dray_worker_failed_reports", "Reports that no coordinator accepted at once.")
        results = registry.counters(
            "dray_worker_results", ["verdict"], maxSeries: 4,
            "Results that this worker reported, by the coordinator's verdict.")
        transferDuration = registry.histogram(
            "dray_worker_transfer_duration_seconds",
            exponents: DurationHistogram.transferExponents,
            "Time of successful transfers, from their start to their last byte.")
        failures = registry.counters(
            "dray_worker_failures", ["code"], maxSeries: 160,
            "Transfers and files that failed, by failure code.")
        storedBytes = registry.counters(
            "dray_worker_stored_bytes", ["site"], maxSeries: Self.maxSites,
            "Bytes that are durable under their final key, by the site's storage.")
        storedFiles = registry.counters(
            "dray_worker_stored_files", ["site"], maxSeries: Self.maxSites,
            "Files and parts that are durable under their final key.")
        let origins = BoundedSeries<OriginCounters>(labels: 1, maxSeries: Self.maxOrigins) {
            OriginCounters()
        }
        self.origins = origins
        registry.counters(
            "dray_worker_received_bytes", ["origin"], maxSeries: Self.maxOrigins,
            "Bytes of bodies from an origin, after redirects, those of failed transfers included."
        ) { origins.entries.map { MetricSample($0.labels, $0.series.bytes.value) } }
        registry.counters(
            "dray_worker_transfers", ["origin", "result"], maxSeries: 2 * Self.maxOrigins,
            "Transfers from an origin that ended: done or failed."
        ) {
            origins.entries.flatMap { entry in
                [
                    MetricSample(entry.labels + ["done"], entry.series.succeeded.value),
                    MetricSample(entry.labels + ["failed"], entry.series.failed.value),
                ]
            }
        }
    }

    /// Counts a transfer that ended. One that was cancelled counts its bytes alone.
    func ended(_ transfer: Transfer, _ result: TransferResult) {
        let begun = transfer.request.delivery.resumption?.partial?.record.bytes ?? 0
        let origin = result.origin.map { origins[$0] }
        switch result.outcome {
        case .success(let fetched):
            origin?.succeeded.add()
            if !fetched.isUnchanged { origin?.bytes.add(fetched.bytes - begun) }
            transferDuration.record(seconds: result.totalSeconds)
        case .failure(let failure):
            origin?.bytes.add(transfer.receivedBytes - begun)
            guard ![.workerCancelled, .workerLeaseLost].contains(failure.code) else { return }
            origin?.failed.add()
            failed(failure)
        }
    }

    func failed(_ failure: Failure) {
        failures[failure.code.isKnown ? failure.code.rawValue : MetricFamily.other].add()
    }

    func stored(_ files: Int, _ bytes: Int64, at url: String) {
        guard files > 0 else { return }
        let site = Redaction.message(url)
        storedFiles[site].add(files)
        storedBytes[site].add(bytes)
    }

    func reported(_ answer: ReportAnswer) {
        for (verdict, count) in [
            (ReportAnswer.Verdict.accepted, answer.accepted), (.stale, answer.stale.count),
            (.rejected, answer.rejected.count),
        ] where count > 0 {
            results[verdict.rawValue].add(count)
        }
    }
}
