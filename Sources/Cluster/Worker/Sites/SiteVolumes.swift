import Model
import Storage

/// The volumes that sites are on by their cluster's record, and the sites whose storage this worker cannot use though
/// others may: it finds another volume there, or lacks permission. A value.
struct SiteVolumes {
    private struct Entry {
        var since: HeldWork.Instant
        var failures = 1
        var isChecked = false

        /// A minute, and twice as long after each further failure, up to an hour.
        var end: HeldWork.Instant {
            since + min(pause * (1 << min(failures - 1, 6)), .seconds(3_600))
        }
    }

    /// By storage URL; missing while none is recorded.
    private var recorded: [String: SiteVolume] = [:]
    /// By storage URL, the volumes that this worker has found, and reported the file systems of.
    private var found: [String: VolumeID] = [:]
    private var urls: [SiteID: String] = [:]
    private var entries: [SiteID: Entry] = [:]

    /// For so long a worker leases no jobs of such a site after a first failure, unless a check finds it usable before.
    /// Then the coordinator gets the failure once more, in case its record of the first one was cleared.
    static let pause = Duration.seconds(60)
    /// From one check of such a site to the next, and how long a request for work may wait meanwhile.
    static let checkSeconds = 5.0

    static func isOfWorker(_ code: FailureCode) -> Bool {
        ["storage.otherVolume", "storage.sitePermission"].contains(code)
    }

    mutating func record(_ volume: SiteVolume?, of site: SiteID, at url: String) {
        urls[site] = url
        recorded[url] = volume
    }

    func volume(at url: String) -> SiteVolume? { recorded[url] }

    /// This worker has found the site's volume, and the cluster's record agrees.
    mutating func agree(at url: String) { found[url] = recorded[url]?.id }

    /// Whether this worker and the cluster's record agreed on that volume before.
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

    /// Whether a site was found unusable longer ago than that.
    func wasUnusable(_ site: SiteID, before seconds: Double, now: HeldWork.Instant = .now) -> Bool {
        entries[site].map { now - $0.since > .seconds(seconds) } ?? false
    }

    /// The sites to lease no jobs of.
    mutating func unusable(now: HeldWork.Instant = .now) -> [SiteID] {
        drop(now)
        return entries.filter { now < $0.value.end }.keys.sorted()
    }

    /// Those that no check is under way of; one is from now on.
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
