import API
import Model

extension SiteSettings {
    /// Throws `input.cacheSite` for a setting that only storage has; 0 and false clear it.
    func checkOfCache() throws(Failure) {
        let given: [(String, Bool)] = [
            ("floorBytes", floorBytes ?? 0 != 0), ("quotaBytes", quotaBytes ?? 0 != 0),
            ("expiresAt", expiresAt ?? 0 != 0), ("keepSeconds", keepSeconds ?? 0 != 0),
            ("auditSeconds", auditSeconds ?? 0 != 0),
            ("acceptsVolume", acceptsVolume == true), ("evict", evict != nil && evict != .off),
            ("serves", serves?.isEmpty == false), ("auditIsDeep", auditIsDeep == true),
            ("auditRepairs", auditRepairs == true),
        ]
        guard let first = given.first(where: \.1) else { return }
        throw Failure(
            .inputCacheSite,
            "\(first.0) was given; allowed for the cache \(site): schedule, maximumBytesPerSecond, "
                + "notBefore, maxFetches, maxSites, resumes.")
    }
}
