import Metrics
import Model
import Services
import Transfer

extension WorkerMetrics {
    /// Declares the state of a worker when it is scraped.
    func declare(_ core: WorkerCore, _ sites: Sites, failures: LeaseFailures) {
        // Not the core, which has these metrics.
        let (engine, held) = (core.engine, core.held)
        let (connections, draining) = (core.connections, core.draining)
        registry.gauge("dray_worker_slots", "Maximum of concurrent transfers.") {
            Double(connections)
        }
        registry.gauge("dray_worker_slots_used", "Transfers that are running.") {
            Double(engine.origins.reduce(0) { $0 + $1.active })
        }
        registry.gauge("dray_worker_waiting_transfers", "Transfers that wait for a slot.") {
            Double(engine.waitingCount)
        }
        registry.gauge("dray_worker_held_leases", "Leases that this worker holds.") {
            Double(held.leases.count)
        }
        registry.gauge("dray_worker_held_jobs", "Jobs in leases that this worker holds.") {
            Double(held.count)
        }
        registry.gauge("dray_worker_draining", "1 while it finishes its work and leases none.") {
            draining.isDraining ? 1 : 0
        }
        registry.gauge(
            "dray_worker_lease_failures", "Lease requests in a row that failed; 0 after a success."
        ) { Double(failures.count) }
        registry.gauges(
            "dray_worker_origin_concurrency", ["origin"], maxSeries: Self.maxOrigins,
            overflow: .maximum, "Transfers from an origin that the worker wants to run at a time."
        ) {
            engine.origins.sorted { $0.active + $0.waiting > $1.active + $1.waiting }
                .map { MetricSample([$0.origin], Double($0.decision.concurrency)) }
        }
        registry.gauges(
            "dray_worker_site_available_bytes", ["site"], maxSeries: Self.maxSites,
            overflow: .minimum, "Free bytes of a site's file system, as last found."
        ) {
            sites.inUse.availableBytes.map {
                MetricSample([Redaction.message($0.url)], $0.bytes)
            }
        }
    }
}
