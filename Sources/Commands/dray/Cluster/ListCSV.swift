import API
import Model
import Rendering
import Services

/// Lists of a cluster as CSV: numbers without units, times in UTC, columns named as in JSON.
enum ListCSV {
    static func queues(_ queues: [ClusterStatus.QueueStatus]) -> String {
        CSVText(
            [
                "name", "state", "waiting", "leased", "bytesPerSecond", "isSiteClosed",
                "storageURL", "failureCode",
            ],
            queues.map { queue in
                [
                    .text(queue.name), .text(queue.state.rawValue), .integer(queue.waiting),
                    .integer(queue.leased), .integer(queue.siteBytesPerSecond),
                    .text("\(queue.isSiteClosed)"), .text(shown(storageURL: queue.storageURL)),
                    .optional(queue.siteFault?.code.rawValue),
                ]
            }
        ).text
    }

    static func sites(_ sites: [SiteStatus]) -> String {
        CSVText(
            [
                "queue", "storageURL", "schedule", "isClosed", "bytesPerSecond",
                "maximumBytesPerSecond", "nextChange", "workers", "availableBytes", "usedBytes",
                "floorBytes", "quotaBytes", "failureCode", "catalogs", "notBefore", "expiresAt",
                "keepSeconds", "evict", "maxFetchesCount", "maxFetchesPeriodSeconds", "maxSites",
                "auditSeconds", "auditIsDeep", "auditRepairs", "serves", "volume",
            ],
            sites.map { site in
                [
                    .text(site.queue), .text(shown(storageURL: site.storageURL)),
                    .text(site.schedule), .text("\(site.isClosed)"),
                    .integer(site.bytesPerSecond), .integer(site.maximumBytesPerSecond),
                    time(site.nextChange), .integer(site.shares.count),
                    .integer(site.availableBytes), .integer(site.usedBytes),
                    .integer(site.floorBytes), .integer(site.quotaBytes),
                    .optional(site.fault?.code.rawValue), .integer(site.catalogs),
                    time(site.notBefore), time(site.expiresAt), number(site.keepSeconds),
                    .text(site.evict.rawValue), .integer(site.maxFetches?.count),
                    number(site.maxFetches?.periodSeconds), .integer(site.maxSites),
                    .integer(site.auditSeconds), .text("\(site.auditIsDeep)"),
                    .text("\(site.auditRepairs)"), .optional(site.serves.map { redacted(url: $0) }),
                    .optional(site.volume?.description),
                ]
            }
        ).text
    }

    static func origins(_ page: OriginPage) -> String {
        CSVText(
            [
                "origin", "hasOwnLimits", "connections", "maximumConnections",
                "requestsPerSecond", "maximumRequestsPerSecond", "maximumBytesPerSecond", "waiting",
                "leased", "breaker", "cooldownUntil", "reason", "hasMoreWaiting",
            ],
            page.origins.map { origin in
                [
                    .text(origin.origin), .text("\(origin.hasOwnLimits)"),
                    .integer(origin.inUse.connections), .integer(origin.limits.connections),
                    .number("\(origin.inUse.requestsPerSecond)"),
                    origin.limits.requestsPerSecond.map { .number("\($0)") } ?? .none,
                    .integer(origin.limits.bytesPerSecond), .integer(origin.waiting),
                    .integer(origin.leased), .text("\(origin.breaker)"),
                    time(origin.cooldownUntil), .optional(origin.reason),
                    .text("\(origin.hasMoreWaiting ?? false)"),
                ]
            }
        ).text
    }

    static func assets(_ assets: [AssetStatus]) -> String {
        CSVText(
            [
                "name", "url", "kind", "state", "segments", "segmentsDone", "bytes",
                "expectedBytes", "retries", "path", "changed", "failureCode", "failureMessage",
                "notBefore", "expiresAt", "isPinned", "freedFiles", "freedBytes",
            ],
            assets.map { asset in
                [
                    .text(asset.name), .text(asset.url), .text(asset.kind.rawValue),
                    .text(asset.stateName), .integer(asset.segments),
                    .integer(asset.segmentsDone), .integer(asset.bytes),
                    .integer(asset.expectedBytes), .integer(asset.retries),
                    .optional(asset.path), time(asset.changed),
                    .optional(asset.failure?.code.rawValue), .optional(asset.failure?.message),
                    time(asset.notBefore), time(asset.expiresAt),
                    .text("\(asset.isPinned ?? false)"), .integer(asset.freedFiles),
                    .integer(asset.freedBytes),
                ]
            }
        ).text
    }

    static func catalogs(_ catalogs: [CatalogStatus]) -> String {
        CSVText(
            [
                "id", "name", "state", "queue", "storageURL", "priority", "assets", "completed",
                "failed", "cancelled", "bytes", "seconds", "notBefore", "deadline", "finishesAt",
                "finishReason", "meetsDeadline", "waits",
            ],
            catalogs.map { catalog in
                let totals = catalog.totals
                var end: (at: Double?, reason: String?) = (nil, nil)
                switch catalog.finish?.estimate {
                case .finishes(let at, _, let bound): end = (at, bound.name)
                case .unknown(let cause): end = (nil, cause.name)
                case nil: break
                }
                return [
                    .number(catalog.id.description), .text(catalog.name),
                    .text(catalog.state.rawValue), .text(catalog.queue),
                    .text(shown(storageURL: catalog.storageURL)), .integer(catalog.priority),
                    .integer(totals.assets), .integer(totals.completed), .integer(totals.failed),
                    .integer(totals.cancelled ?? 0), .integer(totals.bytes),
                    .number("\(totals.seconds)"), time(catalog.notBefore), time(catalog.deadline),
                    time(end.at), .optional(end.reason),
                    .optional(catalog.finish?.deadline.rawValue),
                    .text((catalog.waits ?? []).map(\.reason.name).joined(separator: " ")),
                ]
            }
        ).text
    }

    static func report(_ report: DailyReport) -> String {
        CSVText(
            [
                report.by.rawValue, "queue", "storageURL", "isAddressable", "done", "failed",
                "unaddressable", "successRate", "addressableSuccessRate", "retries", "bytes",
                "reusedBytes", "transferSeconds", "bytesPerSecond", "assetsCompleted",
                "assetsFailed", "assetsCancelled", "failedAttempts", "assetsMet",
                "assetsRecovered", "byRetry", "byMirror", "byFreshURL", "withoutOptional",
                "withoutRendition", "lost",
            ],
            report.groups.map { group in
                let figures = group.figures
                return [
                    .text(group.name), .optional(group.queue),
                    .optional(group.storageURL.map { redacted(url: $0) }),
                    .optional(group.isAddressable.map { "\($0)" }), .integer(figures.done),
                    .integer(figures.failed), .integer(figures.unaddressable),
                    number(figures.successRate), number(figures.addressableSuccessRate),
                    .integer(figures.retries), .integer(figures.bytes),
                    .integer(figures.reusedBytes), .number("\(figures.transferSeconds)"),
                    number(figures.bytesPerSecond), .integer(figures.assets?.completed),
                    .integer(figures.assets?.failed), .integer(figures.assets?.cancelled),
                    .integer(group.recovery?.attempts), .integer(group.recovery?.assets),
                    .integer(group.recovery?.completed), .integer(group.recovery?.byRetry),
                    .integer(group.recovery?.byMirror), .integer(group.recovery?.byFreshURL),
                    .integer(group.recovery?.withoutOptional),
                    .integer(group.recovery?.withoutRendition), .integer(group.recovery?.lost),
                ]
            }
        ).text
    }

    private static func number(_ value: Double?) -> CSVText.Cell {
        value.map { .number("\($0)") } ?? .none
    }

    static func workers(_ workers: [ClusterStatus.WorkerStatus]) -> String {
        CSVText(
            [
                "name", "activeTransfers", "silentSeconds", "failureCode", "leases",
                "leaseSeconds", "resultSeconds", "isStuck",
            ],
            workers.map { worker in
                [
                    .text(worker.name), .integer(worker.activeTransfers),
                    .number("\(worker.silentSeconds)"),
                    .optional(worker.issue?.code.rawValue), .integer(worker.leases),
                    number(worker.leaseSeconds), number(worker.resultSeconds),
                    .text("\(worker.isStuck)"),
                ]
            }
        ).text
    }

    static func tokens(_ list: TokenList) -> String {
        CSVText(
            [
                "id", "name", "role", "state", "queues", "sites", "created", "createdBy", "expires",
                "revoked", "lastUsed",
            ],
            list.tokens.map { token in
                [
                    .number(token.id.description), .text(token.name), .text(token.role.rawValue),
                    .text(token.state(at: list.now).rawValue),
                    .text(token.queues.joined(separator: " ")),
                    .text(token.sites.joined(separator: " ")), time(token.created),
                    .text(token.createdBy), time(token.expires), time(token.revoked),
                    time(token.lastUsed),
                ]
            }
        ).text
    }

    static func audit(_ entries: [AuditEntry]) -> String {
        CSVText(
            ["id", "time", "token", "name", "role", "action", "object", "status", "failureCode"],
            entries.map { entry in
                [
                    .number("\(entry.id)"), time(entry.time),
                    entry.token.map { .number($0.description) } ?? .none, .text(entry.name),
                    .text(entry.role.rawValue), .text(entry.action), .text(entry.object),
                    .integer(entry.status), .optional(entry.code?.rawValue),
                ]
            }
        ).text
    }

    static func sources(_ sources: [SourceStatus]) -> String {
        CSVText(
            [
                "catalog", "name", "queue", "url", "format", "everySeconds", "prunes",
                "maxDropPercent", "next", "read", "result", "failureCode", "failures", "applied",
                "assets", "added", "dropped", "isReading", "isSkipped",
            ],
            sources.map { source in
                [
                    .number("\(source.catalog)"), .text(source.name), .text(source.queue),
                    .text(source.url), .text(source.format ?? ""),
                    .number("\(source.everySeconds)"), .text("\(source.prunes)"),
                    .number("\(source.maxDropPercent)"), time(source.next), time(source.read),
                    .text(source.result?.rawValue ?? ""),
                    .text(source.failure?.code.rawValue ?? ""), .number("\(source.failures)"),
                    time(source.applied), .text(source.assets.map { "\($0)" } ?? ""),
                    .text(source.added.map { "\($0)" } ?? ""),
                    .text(source.dropped.map { "\($0)" } ?? ""), .text("\(source.isReading)"),
                    .text("\(source.isSkipped)"),
                ]
            }
        ).text
    }

    static func siteAudits(_ audits: [SiteAuditStatus]) -> String {
        CSVText(
            [
                "id", "queue", "storageURL", "state", "isDeep", "repairs", "isScheduled", "created",
                "started", "ended", "files", "bytes", "readBytes", "checkedFiles",
            ] + AuditFindingKind.allCases.map(\.rawValue) + [
                "failureCode", "uncomparedFiles", "uncomparedBytes", "repairedFiles",
            ],
            audits.map { audit in
                [
                    .number("\(audit.id)"), .text(audit.queue),
                    .text(shown(storageURL: audit.storageURL)), .text(audit.state.rawValue),
                    .text("\(audit.isDeep)"), .text("\(audit.repairs)"),
                    .text("\(audit.isScheduled)"), time(audit.created), time(audit.started),
                    time(audit.ended), .integer(audit.files), .integer(audit.bytes),
                    .integer(audit.readBytes), .integer(audit.checkedFiles),
                ] + AuditFindingKind.allCases.map { .integer(audit[$0].found) }
                    + [
                        .optional(audit.failure?.code.rawValue),
                        .integer(audit.uncomparedFiles ?? 0), .integer(audit.uncomparedBytes ?? 0),
                        .integer(audit.damagedFiles - audit.unrepairedFiles),
                    ]
            }
        ).text
    }

    static func findings(_ findings: [AuditFinding]) -> String {
        CSVText(
            ["kind", "path", "bytes", "expectedBytes", "repair"],
            findings.map { finding in
                [
                    .text(finding.kind.rawValue), .text(finding.path), .integer(finding.bytes),
                    .integer(finding.expectedBytes), .text(finding.repair.rawValue),
                ]
            }
        ).text
    }

    private static func time(_ seconds: Double?) -> CSVText.Cell {
        seconds.map { .number(timestamp(ofSeconds: $0)) } ?? .none
    }
}
