import Model

/// Sites outside the worker's roots, of which a coordinator leased jobs. A value.
struct RefusedSites {
    private var refusedAt: [SiteID: HeldWork.Instant] = [:]

    /// Time for which requests exclude a site. Then it is checked again, because a symlink that
    /// leads outside may be gone.
    static let pause = Duration.seconds(60)

    /// Records a site; returns true if it was not excluded already.
    mutating func refuse(_ site: SiteID, now: HeldWork.Instant = .now) -> Bool {
        drop(now)
        if refusedAt[site] != nil { return false }
        // Bounds the memory that a coordinator with invented sites can use.
        if refusedAt.count >= WireLimits.refusedSites {
            refusedAt.min { $0.value < $1.value }.map { refusedAt[$0.key] = nil }
        }
        refusedAt[site] = now
        return true
    }

    /// Returns the sites that requests exclude; nil for none.
    mutating func current(now: HeldWork.Instant = .now) -> [SiteID]? {
        drop(now)
        return refusedAt.isEmpty ? nil : refusedAt.keys.sorted()
    }

    private mutating func drop(_ now: HeldWork.Instant) {
        refusedAt = refusedAt.filter { now - $0.value < Self.pause }
    }
}
