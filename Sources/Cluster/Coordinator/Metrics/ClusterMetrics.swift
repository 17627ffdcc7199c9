import JobQueue
import Metrics
import Model

/// The metrics of the whole cluster, by what the database has. Every coordinator shows the same.
struct ClusterMetrics: Sendable {
    let cache: FigureCache

    func declare(in registry: MetricRegistry) {
        registry.gauge(
            "dray_cluster_figures_age_seconds",
            "Time since the figures of the cluster were read from the database."
        ) { cache.ageSeconds }
        declareQueues(in: registry)
        declareSites(in: registry)
        declareAudits(in: registry)
        declareCatalogs(in: registry)
        declareOrigins(in: registry)
        declareWebhooks(in: registry)
    }

    /// Returns a closure that reads samples from the last figures; none without them.
    private func samples(
        _ read: @escaping @Sendable (ClusterFigures) -> [MetricSample]
    ) -> @Sendable () -> [MetricSample] {
        { [cache] in cache.figures.map(read) ?? [] }
    }

    private func byQueue(
        _ read: @escaping @Sendable (ClusterFigures.Queue) -> Double?
    ) -> @Sendable () -> [MetricSample] {
        samples { figures in
            figures.queues.compactMap { queue in
                read(queue).map { MetricSample([queue.name], $0) }
            }
        }
    }

    private func byState(
        _ read: @escaping @Sendable (ClusterFigures.Jobs) -> Double?
    ) -> @Sendable () -> [MetricSample] {
        samples { figures in
            figures.queues.flatMap { queue in
                queue.jobs.compactMap { jobs in
                    read(jobs).map { MetricSample([queue.name, jobs.state], $0) }
                }
            }
        }
    }

    private static let maxQueues = CoordinatorMetrics.maxQueues

    private func declareQueues(in registry: MetricRegistry) {
        let most = Self.maxQueues
        registry.gauges(
            "dray_queue_jobs", ["queue", "state"], maxSeries: 4 * most,
            "Jobs: waiting for a worker, leased, scheduled for later, or delayed until a next attempt "
                + "(at most 1000 are counted); the last two only if there are any.",
            byState { Double($0.count) })
        registry.gauges(
            "dray_queue_oldest_job_age_seconds", ["queue", "state"], maxSeries: 3 * most,
            overflow: .maximum,
            "Time since the queue has had jobs waiting without a break, since the oldest lease with "
                + "jobs was granted, or since a delayed job was due.",
            byState { $0.oldestSeconds })
        registry.gauges(
            "dray_queue_active", ["queue"], maxSeries: most, overflow: .maximum,
            "1 if jobs may be leased: the queue is not paused, and its site is open.",
            byQueue { $0.isActive ? 1 : 0 })
        registry.gauges(
            "dray_queue_workers", ["queue"], maxSeries: most, overflow: .maximum,
            "Workers that take the queue's jobs and reported lately.",
            byQueue { Double($0.workers) })
        registry.gauges(
            "dray_queue_leases", ["queue"], maxSeries: most, "Leases with jobs.",
            byQueue { Double($0.leases) })
        registry.gauges(
            "dray_queue_lease_left_seconds", ["queue"], maxSeries: most, overflow: .minimum,
            "Time until the first lease with jobs ends; negative after its end.",
            byQueue { $0.leaseLeftSeconds })
        registry.gauges(
            "dray_workers", ["state"], maxSeries: 3,
            "Workers that reported lately, by whether they can lease jobs.",
            samples {
                [
                    MetricSample(["working"], Double($0.workers - $0.failingWorkers)),
                    MetricSample(["failing"], Double($0.failingWorkers)),
                ]
            })
    }

    private func declareSites(in registry: MetricRegistry) {
        let most = Self.maxQueues
        registry.gauges(
            "dray_site_available_bytes", ["queue"], maxSeries: most, overflow: .minimum,
            "Free bytes of the site's file system, as a worker last found.",
            byQueue { $0.availableBytes.map { Double($0) } })
        registry.gauges(
            "dray_site_floor_bytes", ["queue"], maxSeries: most, overflow: .maximum,
            "Bytes of the site's file system to leave free.",
            byQueue { $0.floorBytes.map { Double($0) } })
        registry.gauges(
            "dray_site_quota_bytes", ["queue"], maxSeries: most,
            "Quota of the site: the most that its catalogs may have stored there.",
            byQueue { $0.quotaBytes.map { Double($0) } })
        registry.gauges(
            "dray_site_used_bytes", ["queue"], maxSeries: most,
            "Bytes that the site's catalogs have stored there, until they are deleted.",
            byQueue { Double($0.usedBytes) })
        registry.gauges(
            "dray_site_failing", ["queue", "code"], maxSeries: most,
            "1 for a site that cannot be written, with the failure code.",
            samples { figures in
                figures.queues.compactMap { queue in
                    queue.failure.map { MetricSample([queue.name, $0], Int64(1)) }
                }
            })
        registry.gauges(
            "dray_site_bandwidth_limit_bytes_per_second", ["queue"], maxSeries: most,
            "Limit of the site's bandwidth.",
            byQueue { $0.bytesPerSecond.map { Double($0) } })
        registry.gauges(
            "dray_site_bandwidth_used_bytes_per_second", ["queue"], maxSeries: most,
            "Bandwidth of the site that workers may use now.",
            byQueue { $0.bytesPerSecond == nil ? nil : Double($0.heldBytesPerSecond ?? 0) })
    }

    private func declareAudits(in registry: MetricRegistry) {
        registry.gauges(
            "dray_audit_findings", ["queue", "kind"], maxSeries: 3 * Self.maxQueues,
            "What the last audit of the site found and did not repair: damaged files (missing, "
                + "truncated or changed), foreign files, or others.",
            samples { figures in
                figures.audits.flatMap {
                    [
                        MetricSample([$0.queue, "damaged"], $0.damaged),
                        MetricSample([$0.queue, "foreign"], $0.foreign),
                        MetricSample([$0.queue, "other"], $0.others),
                    ]
                }
            })
        registry.gauges(
            "dray_audit_end_timestamp_seconds", ["queue"], maxSeries: Self.maxQueues,
            overflow: .minimum,
            "End of the last completed audit of the site, in seconds since 1970.",
            samples { $0.audits.map { MetricSample([$0.queue], $0.endedAt) } })
    }

    private func declareCatalogs(in registry: MetricRegistry) {
        registry.gauges(
            "dray_catalogs", ["state"], maxSeries: 10, "Catalogs by state.",
            samples { $0.catalogs.map { MetricSample([$0.state], $0.count) } })
        registry.gauges(
            "dray_catalog_deadline_timestamp_seconds", ["queue", "catalog"],
            maxSeries: Figures.maxDeadlines, overflow: .minimum,
            "Deadline of a running catalog, in seconds since 1970; of the nearest ones.",
            samples { figures in
                figures.deadlines.map { MetricSample([$0.queue, $0.catalog], $0.deadline) }
            })
        registry.gauges(
            "dray_catalog_remaining_jobs", ["queue", "catalog"], maxSeries: Figures.maxDeadlines,
            "Jobs that a running catalog with a deadline lacks.",
            samples { figures in
                figures.deadlines.map { MetricSample([$0.queue, $0.catalog], $0.jobs) }
            })
        registry.gauges(
            "dray_catalog_finish_timestamp_seconds", ["queue", "catalog"],
            maxSeries: Figures.maxDeadlines, overflow: .maximum,
            "Estimated end of a running catalog with a deadline, in seconds since 1970; missing while "
                + "it is unknown.",
            samples { figures in
                figures.deadlines.compactMap { catalog in
                    catalog.finishesAt.map { MetricSample([catalog.queue, catalog.catalog], $0) }
                }
            })
    }

    private func declareOrigins(in registry: MetricRegistry) {
        let most = Figures.maxOriginsInCooldown
        registry.gauges(
            "dray_origins", ["breaker"], maxSeries: 5,
            "Origins by state of their circuit breaker.",
            samples { $0.origins.map { MetricSample([$0.state], $0.count) } })
        registry.gauges(
            "dray_origin_failing", ["origin", "breaker"], maxSeries: most,
            "1 for an origin whose circuit breaker is not closed.",
            samples { figures in
                figures.originsInCooldown.filter { $0.breaker != "closed" }
                    .map { MetricSample([$0.origin, $0.breaker], Int64(1)) }
            })
        registry.gauges(
            "dray_origin_cooldown_seconds", ["origin"], maxSeries: most, overflow: .maximum,
            "Time until the cooldown of an origin ends.",
            samples { figures in
                figures.originsInCooldown.filter { $0.seconds > 0 }
                    .map { MetricSample([$0.origin], $0.seconds) }
            })
        registry.gauges(
            "dray_origin_limit", ["origin", "resource"], maxSeries: 3 * Figures.maxLimitedOrigins,
            "Limits of origins that workers use now; the most used ones.",
            samples { Self.quotas($0) { $0.limit } })
        registry.gauges(
            "dray_origin_limit_used", ["origin", "resource"],
            maxSeries: 3 * Figures.maxLimitedOrigins,
            "Part of each limit that workers hold now.", samples { Self.quotas($0) { $0.held } })
    }

    private func declareWebhooks(in registry: MetricRegistry) {
        registry.gauges(
            "dray_webhook_waiting_deliveries", ["webhook"], maxSeries: Webhooks.maxWebhooks,
            "Deliveries of a webhook that wait for their first or next attempt; at most 1000 are "
                + "counted.",
            samples { $0.webhooks.map { MetricSample(["\($0.id)"], $0.waiting) } })
        registry.gauges(
            "dray_webhook_oldest_delivery_age_seconds", ["webhook"],
            maxSeries: Webhooks.maxWebhooks, overflow: .maximum,
            "Age of the oldest delivery of a webhook that waits.",
            samples { figures in
                figures.webhooks.compactMap { webhook in
                    webhook.oldestSeconds.map { MetricSample(["\(webhook.id)"], $0) }
                }
            })
    }

    private static func quotas(
        _ figures: ClusterFigures, _ read: (ClusterFigures.Resource) -> Double
    ) -> [MetricSample] {
        figures.quotas.flatMap { quota in
            quota.resources.map { MetricSample([quota.origin, $0.name], read($0)) }
        }
    }
}
