import Model
import Storage

/// The recorded volumes of sites, and the sites that only this worker cannot use: it finds another
/// volume there, or lacks permission. A value.
struct SiteVolumes {
    private struct Entry {
        var since: HeldWork.Instant
        var failures = 1
        var isChecked = false

        /// A minute, doubled with each further failure, up to an hour.
        var end: HeldWork.Instant {
            since + pause.ceiling(attempt: failures)
        }
    }

    /// Volumes by storage URL; missing if none is recorded.
    private var recorded: [String: SiteVolume] = [:]
    /// Volumes that this worker found and reported, by storage URL.
    private var found: [String: VolumeID] = [:]
    private var urls: [SiteID: String] = [:]
    private var entries: [SiteID: Entry] = [:]

    /// Time for which a worker leases no jobs of such a site after a first failure, unless a check
    /// finds it usable. Then the coordinator gets the failure again, in case its record was
    /// cleared.
    private static let pause = Backoff(firstSeconds: 60, maxSeconds: 3_600)
    /// Seconds between checks of such a site, and the maximum wait of a lease request meanwhile.
    static let checkSeconds = 5.0

    static func isOfWorker(_ code: FailureCode) -> Bool {
        [.storageOtherVolume, .storageSitePermission, .storageSharedDirectory].contains(code)
    }

    mutating func record(_ volume: SiteVolume?, of site: SiteID, at url: String) {
        urls[site] = url
        recorded[url] = volume
    }

    /// Records where a site is, so that it can be checked if it is unusable.
    mutating func note(_ site: SiteID, at url: String) { urls[site] = url }

    func volume(at url: String) -> SiteVolume? { recorded[url] }

    /// Records that this worker found the site's volume, as the cluster recorded it.
    mutating func agree(at url: String) { found[url] = recorded[url]?.id }

    /// Returns true if this worker already found that volume, as the cluster recorded it.
    func agrees(_ volume: VolumeID, at url: String) -> Bool {
        found[url] == volume && recorded[url]?.id == volume
    }

    mutating func setUnusable(_ site: SiteID, now: HeldWork.Instant = .now) {
        drop(now)
        guard let entry = entries[site] else {
            guard entries.count < WireLimits.refusedSites else { return }
            return entries[site] = Entry(since: now)
        }
        guard now >= entry.end else { return }
        entries[site]?.since = now
        entries[site]?.failures += 1
    }

    mutating func setUsable(_ site: SiteID) { entries[site] = nil }

    /// Returns true if a site was found unusable more than `seconds` ago.
    func wasUnusable(_ site: SiteID, before seconds: Double, now: HeldWork.Instant = .now) -> Bool {
        entries[site].map { now - $0.since > .seconds(seconds) } ?? false
    }

    /// Returns the sites of which to lease no jobs.
    mutating func unusable(now: HeldWork.Instant = .now) -> [SiteID] {
        drop(now)
        return entries.filter { now < $0.value.end }.keys.sorted()
    }

    /// Returns the sites without a running check, and marks them as checked.
    mutating func toCheck(now: HeldWork.Instant = .now) -> [(site: SiteID, url: String)] {
        drop(now)
        let due = entries.filter { !$0.value.isChecked }
        for site in due.keys { entries[site]?.isChecked = true }
        return due.keys.compactMap { site in urls[site].map { (site, $0) } }
    }

    mutating func checked(_ site: SiteID) { entries[site]?.isChecked = false }

    private mutating func drop(_ now: HeldWork.Instant) {
        // Without jobs for an hour.
        entries = entries.filter { now < $0.value.end + .seconds(3_600) }
    }
}
