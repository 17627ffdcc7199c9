import API
import Model
import Schedule

extension Validation {
    static func check(_ action: SelectionAction) throws(Failure) {
        guard action.catalog != nil || action.failureCode != nil || action.states != nil else {
            throw wrong("catalog, failureCode, states", "neither", "at least one of them")
        }
        if let catalog = action.catalog { try check(catalog) }
        if let asset = action.asset {
            guard action.catalog != nil else {
                throw wrong("asset", asset, "with its catalog only")
            }
            try text(asset, "asset", 1...1_000)
        }
        if let name = action.name { try text(name, "name", 1...1_000) }
        if let states = action.states, states.isEmpty || AssetStates(states) == nil {
            throw wrong(
                "states", states.joined(separator: ", "),
                AssetStates.allNames.joined(separator: ", "))
        }
        if let code = action.failureCode, !code.isKnown {
            throw wrong("failureCode", code.rawValue, "a code such as origin.http.404")
        }
        guard action.ofRefresh == nil || action.action == .cancel else {
            throw wrong("ofRefresh", "\(action.action.rawValue)", "with the action cancel only")
        }
        guard action.ofLeft == nil || action.action == .remove && action.catalog != nil else {
            throw wrong(
                "ofLeft", action.action.rawValue, "with the action remove and a catalog only")
        }
        guard (action.ofLeft == true) == (action.generation != nil) else {
            throw wrong(
                "generation", action.generation.map { "\($0)" } ?? "none",
                "with ofLeft only, and with it the generation of the submission")
        }
        if let generation = action.generation {
            try range(generation, "generation", 1...Int(Int32.max))
        }
        guard action.action != .forget || action.catalog != nil && action.isWhole else {
            throw wrong("catalog", "a part or all", "a whole catalog to forget")
        }
        guard action.action != .remove || action.catalog != nil else {
            throw wrong("catalog", "none", "a catalog to remove assets of")
        }
        try checkSchedule(action)
        switch (action.action, action.priority) {
        case (.reprioritise, let priority?): try range(priority, "priority", 0...9)
        case (.reprioritise, nil): throw wrong("priority", "none", "0 to 9")
        case (_, let priority?):
            throw wrong("priority", "\(priority)", "with the action reprioritise only")
        case (_, nil): break
        }
    }

    private static func checkSchedule(_ action: SelectionAction) throws(Failure) {
        guard action.action == .reschedule else {
            guard action.notBefore == nil, action.deadline == nil, action.refreshSeconds == nil
            else {
                throw wrong(
                    "notBefore, deadline, refreshSeconds", "a time",
                    "with the action reschedule only")
            }
            return
        }
        guard action.catalog != nil, action.isWhole else {
            throw wrong("catalog", "a part or all", "a whole catalog to reschedule")
        }
        guard action.notBefore != nil || action.deadline != nil || action.refreshSeconds != nil
        else {
            throw wrong("notBefore, deadline, refreshSeconds", "none", "at least one of them")
        }
        if let seconds = action.refreshSeconds, seconds != 0 {
            try interval(seconds, "refreshSeconds")
        }
        // 0 removes the time.
        try times(
            notBefore: action.notBefore == 0 ? nil : action.notBefore,
            deadline: action.deadline == 0 ? nil : action.deadline)
    }

    /// - Parameter siteField: the field of the request that has the site.
    static func check(
        _ catalog: CatalogReference, siteField: String = "catalog.storageURL"
    ) throws(Failure) {
        switch (catalog.id, catalog.name) {
        case (let id?, nil):
            guard id.rawValue > 0 else { throw wrong("catalog.id", "\(id)", "a catalog's number") }
        case (nil, let name?): try text(name, "catalog.name", 1...200)
        default:
            throw wrong(
                "catalog", "both or neither", "its id or its name, and, if need be, storageURL")
        }
        if let name = catalog.site { _ = try site(name, siteField) }
    }

    /// Checks what names a site: its storage URL, which is returned in its canonical form, or the name
    /// of its queue.
    static func site(_ value: String, _ field: String) throws(Failure) -> String {
        guard StorageURL.isQueueName(value) else { return try storageURL(value, field) }
        try text(value, field, 1...2_048)
        return value
    }

    static func check(_ change: OriginLimitsChange) throws(Failure) {
        if let origin = change.origin, originName(of: origin, allowsUserInfo: false) != origin {
            throw wrong("origin", redacted(url: origin), "scheme://host[:port] in lower case")
        }
        guard let limits = change.limits else { return }
        if let connections = limits.connections {
            try range(connections, "limits.connections", 1...1_000_000)
        }
        if let rate = limits.requestsPerSecond, !(0.001...1_000_000).contains(rate) {
            throw wrong("limits.requestsPerSecond", "\(rate)", "0.001 to 1000000")
        }
        if let rate = limits.bytesPerSecond { try bandwidth(rate, "limits.bytesPerSecond") }
    }

    /// Checks settings and returns their schedule; rejects an unknown time zone.
    static func check(_ settings: SiteSettings) throws(Failure) -> TransferSchedule? {
        try text(settings.site, "site", 1...2_048)
        if settings.adds == true { try storageURL(settings.site, "site") }
        if let name = settings.name { try check(siteName: name, adds: settings.adds == true) }
        guard
            settings.adds == true || settings.schedule != nil
                || settings.maximumBytesPerSecond != nil
                || settings.floorBytes != nil || settings.quotaBytes != nil
                || settings.notBefore != nil || settings.expiresAt != nil
                || settings.keepSeconds != nil || settings.auditSeconds != nil
                || settings.auditIsDeep != nil || settings.auditRepairs != nil
                || settings.evict != nil || settings.maxFetches != nil
                || settings.maxSites != nil || settings.serves != nil || settings.resumes == true
                || settings.acceptsVolume == true
        else {
            throw wrong(
                "adds, schedule, maximumBytesPerSecond, floorBytes, quotaBytes, notBefore, "
                    + "expiresAt, keepSeconds, evict, maxFetches, maxSites, auditSeconds, auditIsDeep, auditRepairs, "
                    + "serves, resumes, acceptsVolume",
                "none",
                "at least one of them")
        }
        if let serves = settings.serves { try check(serves: serves) }
        if let seconds = settings.auditSeconds, seconds != 0 {
            try range(seconds, "auditSeconds", WireLimits.auditSeconds)
        }
        for (field, bytes) in [
            ("floorBytes", settings.floorBytes), ("quotaBytes", settings.quotaBytes),
        ] {
            guard let bytes, !(0...1 << 60).contains(bytes) else { continue }
            throw wrong(field, "\(bytes)", "0 to \(1 << 60)")
        }
        try limits(settings.maxFetches, settings.maxSites, allowsNone: true, "")
        // 0 removes them.
        try rights(
            notBefore: settings.notBefore == 0 ? nil : settings.notBefore,
            expiresAt: settings.expiresAt == 0 ? nil : settings.expiresAt,
            keepSeconds: settings.keepSeconds == 0 ? nil : settings.keepSeconds, "")
        if let most = settings.maximumBytesPerSecond, most != 0 {
            try bandwidth(most, "maximumBytesPerSecond")
        }
        guard let text = settings.schedule, !text.isEmpty else { return nil }
        let schedule = try TransferSchedule(text)
        guard TimeZoneRules(schedule.timeZone) != nil else {
            throw wrong("schedule", "in \(schedule.timeZone)", "a time zone such as Europe/Berlin")
        }
        return schedule
    }

    private static func check(siteName name: String, adds: Bool) throws(Failure) {
        guard adds else { throw wrong("name", "a name without adds", "a name of a site to add") }
        let isName =
            WireLimits.siteName.contains(name.utf8.count) && name.first != "-" && name.last != "-"
            && name.utf8.allSatisfy {
                (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D
            }
        guard isName else {
            let lengths = WireLimits.siteName
            throw wrong(
                "name", name,
                "\(lengths.lowerBound) to \(lengths.upperBound) lower-case letters, digits and "
                    + "inner dashes, such as edge-1")
        }
    }

    private static func bandwidth(_ rate: Int64, _ field: String) throws(Failure) {
        let allowed = Bandwidth.allowed
        guard allowed.contains(rate) else {
            throw wrong(field, "\(rate)", "\(allowed.lowerBound) to \(allowed.upperBound)")
        }
    }
}
