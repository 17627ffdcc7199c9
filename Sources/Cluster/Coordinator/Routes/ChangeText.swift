import API
import Model
import Services

/// Texts of the audit log for changes with many settings: `name: field value, field value`.
enum ChangeText {
    static func text(of action: SelectionAction) -> String {
        var catalog = "all catalogs"
        if let named = action.catalog {
            catalog = "catalog \(named.id?.description ?? named.name ?? "")"
            if let site = named.site { catalog += " at \(redacted(url: site))" }
        }
        return "\(catalog): \(action.action.rawValue)"
            + list([
                // An asset's name may be made of a URL.
                ("asset", action.asset.map { redacted(url: $0) }),
                ("name", action.name.map { redacted(url: $0) }),
                ("states", action.states.map { $0.joined(separator: " ") }),
                ("code", action.failureCode?.rawValue),
                ("priority", action.priority.map { "\($0)" }),
                ("notBefore", action.notBefore.map(time)), ("deadline", action.deadline.map(time)),
                ("refreshSeconds", action.refreshSeconds.map { $0 == 0 ? "none" : "\($0)" }),
                ("ofRefresh", action.ofRefresh.map { "\($0)" }),
                ("ofLeft", action.ofLeft.map { "\($0)" }),
                ("generation", action.generation.map { "\($0)" }),
            ])
    }

    static func text(of change: OriginLimitsChange) -> String {
        let origin = change.origin ?? "origins without their own limits"
        guard let limits = change.limits else { return "\(origin): no limits of its own" }
        return origin + ": limits"
            + list([
                ("connections", limits.connections.map { "\($0)" } ?? "unlimited"),
                ("requestsPerSecond", limits.requestsPerSecond.map { "\($0)" } ?? "unlimited"),
                ("bytesPerSecond", limits.bytesPerSecond.map { "\($0)" } ?? "unlimited"),
            ])
    }

    static func text(of settings: SiteSettings) -> String {
        "site \(redacted(url: settings.site)): settings"
            + list([
                ("adds", settings.adds.map { "\($0)" }), ("name", settings.name),
                ("schedule", settings.schedule.map { $0.isEmpty ? "none" : "'\($0)'" }),
                ("maximumBytesPerSecond", settings.maximumBytesPerSecond.map { "\($0)" }),
                ("floorBytes", settings.floorBytes.map { "\($0)" }),
                ("quotaBytes", settings.quotaBytes.map { "\($0)" }),
                ("notBefore", settings.notBefore.map(time)),
                ("expiresAt", settings.expiresAt.map(time)),
                ("keepSeconds", settings.keepSeconds.map { $0 == 0 ? "none" : "\($0)" }),
                ("evict", settings.evict?.rawValue),
                (
                    "maxFetches",
                    settings.maxFetches.map {
                        $0.count == 0 ? "none" : "\($0.count) in \($0.periodSeconds) s"
                    }
                ), ("maxSites", settings.maxSites.map { $0 == 0 ? "none" : "\($0)" }),
                ("auditSeconds", settings.auditSeconds.map { $0 == 0 ? "none" : "\($0)" }),
                ("auditIsDeep", settings.auditIsDeep.map { "\($0)" }),
                ("auditRepairs", settings.auditRepairs.map { "\($0)" }),
                (
                    "serves",
                    settings.serves.map { $0.isEmpty ? "none" : redacted(url: $0) }
                ),
                ("resumes", settings.resumes.map { "\($0)" }),
                ("acceptsVolume", settings.acceptsVolume.map { "\($0)" }),
            ])
    }

    static func text(of audit: SiteAuditSubmission) -> String {
        "audit of site \(redacted(url: audit.site))"
            + list([
                ("isDeep", audit.isDeep.map { "\($0)" }),
                ("repairs", audit.repairs.map { "\($0)" }),
                ("readBytesPerSecond", audit.readBytesPerSecond.map { "\($0)" }),
                ("filesPerSecond", audit.filesPerSecond.map { "\($0)" }),
            ])
    }

    static func text(of eviction: SiteEviction) -> String {
        "eviction at site \(redacted(url: eviction.site))"
            + list([
                ("bytes", eviction.bytes.map { "\($0)" }),
                ("dryRun", eviction.dryRun.map { "\($0)" }),
            ])
    }

    static func text(of token: TokenSubmission) -> String {
        "token \(token.name ?? "without a name"): role \(token.role.rawValue)"
            + list([
                ("queues", token.queues.map { $0.joined(separator: " ") }),
                ("sites", token.sites.map { $0.map { redacted(url: $0) }.joined(separator: " ") }),
                ("expires", token.expires.map(time)),
            ])
    }

    private static func list(_ fields: [(name: String, value: String?)]) -> String {
        fields.compactMap { field in field.value.map { ", \(field.name) \($0)" } }.joined()
    }

    /// Formats seconds since 1970; 0 removes a time.
    private static func time(_ seconds: Double) -> String {
        seconds == 0 ? "none" : timestamp(ofSeconds: seconds)
    }
}
