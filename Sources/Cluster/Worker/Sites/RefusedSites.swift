import Model

/// Sites that lie outside of a worker's roots, though a coordinator has handed out jobs of them. A value.
struct RefusedSites {
    private var refusedAt: [SiteID: HeldWork.Instant] = [:]

    /// For so long a coordinator is asked to hand out nothing of a site; then it is looked at anew, because a symlink
    /// that leads outside may have gone.
    static let pause = Duration.seconds(60)

    /// True when that was not known, or not for a while.
    mutating func refuse(_ site: SiteID, now: HeldWork.Instant = .now) -> Bool {
        drop(now)
        if refusedAt[site] != nil { return false }
        // A coordinator that invents sites is not to fill the memory.
        if refusedAt.count >= WireLimits.refusedSites {
            refusedAt.min { $0.value < $1.value }.map { refusedAt[$0.key] = nil }
        }
        refusedAt[site] = now
        return true
    }

    /// What coordinators are told; nil for none.
    mutating func current(now: HeldWork.Instant = .now) -> [SiteID]? {
        drop(now)
        return refusedAt.isEmpty ? nil : refusedAt.keys.sorted()
    }

    private mutating func drop(_ now: HeldWork.Instant) {
        refusedAt = refusedAt.filter { now - $0.value < Self.pause }
    }
}
