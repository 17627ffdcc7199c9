import API
import Model

extension Validation {
    /// Checks rights. Throws `input.rights` if they contradict each other.
    static func rights(
        notBefore: Double?, expiresAt: Double?, keepSeconds: Double?,
        _ prefix: @autoclosure () -> String
    ) throws(Failure) {
        for (field, time) in [("notBefore", notBefore), ("expiresAt", expiresAt)] {
            guard let time, !WireLimits.pointsInTime.contains(time) else { continue }
            throw wrong(prefix() + field, "\(time)", pointsInTime)
        }
        if let keepSeconds { try keep(keepSeconds, prefix() + "keepSeconds") }
        if let notBefore, let expiresAt, expiresAt <= notBefore {
            throw Failure(
                .inputRights,
                "\(prefix())notBefore, \(prefix())expiresAt: \(notBefore) and \(expiresAt) were given; "
                    + "allowed: expiresAt later than notBefore.")
        }
    }

    /// Checks the limits of an asset's title, when it was changed, and when it is to be refreshed.
    static func limits(
        of asset: AssetSubmission, _ prefix: @autoclosure () -> String
    ) throws(Failure) {
        try limits(asset.maxFetches, asset.maxSites, prefix())
        if let modified = asset.modified, !WireLimits.pointsInTime.contains(modified) {
            throw wrong(prefix() + "modified", "\(modified)", pointsInTime)
        }
        try refresh(asset.refreshSeconds, byOrigin: asset.refreshByOrigin, prefix())
    }

    /// Checks when assets are refreshed: after a time, or when their origins say.
    static func refresh(
        _ seconds: Double?, byOrigin: Bool?, _ prefix: @autoclosure () -> String
    ) throws(Failure) {
        let range = WireLimits.refreshSeconds
        guard let seconds else { return }
        guard byOrigin != true else {
            throw wrong(
                prefix() + "refreshSeconds, " + prefix() + "refreshByOrigin",
                "\(seconds) and true", "one of them")
        }
        guard !range.contains(seconds) else { return }
        throw wrong(
            prefix() + "refreshSeconds", "\(seconds)",
            "\(Int(range.lowerBound)) to \(Int(range.upperBound))")
    }

    /// Checks the limits of a title's fetches and sites.
    static func limits(
        _ fetches: FetchLimit?, _ sites: Int?, allowsNone: Bool = false,
        _ prefix: @autoclosure () -> String
    ) throws(Failure) {
        if let fetches, !allowsNone || fetches.count != 0 {
            try range(fetches.count, prefix() + "maxFetches.count", WireLimits.fetchesPerTitle)
            try keep(fetches.periodSeconds, prefix() + "maxFetches.periodSeconds")
        }
        if let sites, !allowsNone || sites != 0 {
            try range(sites, prefix() + "maxSites", WireLimits.sitesPerTitle)
        }
    }

    static func keep(_ seconds: Double, _ field: String) throws(Failure) {
        guard !WireLimits.keepSeconds.contains(seconds) else { return }
        throw wrong(
            field, "\(seconds)",
            "\(Int(WireLimits.keepSeconds.lowerBound)) to "
                + "\(Int(WireLimits.keepSeconds.upperBound))")
    }

    static func check(_ request: PurgeRequest) throws(Failure) {
        try range(request.results.count, "results", 0...WireLimits.filesPerPurge)
        try range(request.assets?.count ?? 0, "assets", 0...WireLimits.filesPerPurge)
        try range(request.freed?.count ?? 0, "freed", 0...WireLimits.filesPerPurge)
        for (index, freed) in (request.freed ?? []).enumerated() {
            try range(freed.files, "freed[\(index)].files", 0...Int(Int32.max))
            try range(Int(clamping: freed.bytes), "freed[\(index)].bytes", 0...(1 << 50))
        }
        for (index, result) in request.results.enumerated() {
            guard let failure = result.failure else { continue }
            try text(failure.code.rawValue, "results[\(index)].failure.code", 1...100)
            try text(failure.message, "results[\(index)].failure.message", 0...1_000)
        }
    }
}
