import API
import Model

/// Probes sites that have a failure and no job that would try them, as coordinators request. Safe
/// from any thread.
final class SiteProber: Sendable {
    private let access: SiteAccess
    private let inUse: SitesInUse
    private let failures: SiteFailures
    /// Sites with a running probe, which may hang.
    private let probing = Shared<Set<SiteID>>([])

    init(_ access: SiteAccess, _ sites: Sites) {
        self.access = access
        inUse = sites.inUse
        failures = sites.failures
    }

    /// Starts a probe, unless one of the site is running. After success the next heartbeat reports
    /// that the site works. `ended` has the bytes that were stored when the lease was requested.
    func take(_ site: LeasedSite?, ended: [SiteID: Int64]) {
        guard let site, probing.withLock({ $0.insert(site.id).inserted }) else { return }
        Task {
            await self.probe(site, ended)
            self.probing.withLock { _ = $0.remove(site.id) }
        }
    }

    private func probe(_ site: LeasedSite, _ ended: [SiteID: Int64]) async {
        do throws(Failure) {
            try await access.open(site)
            await inUse.removeAbandoned(at: site)
            _ = try await inUse.open(site, ended: ended)
        } catch {
            if error.code == .storageOutsideRoots {
                failures.refuse(site.id, error)
            } else {
                failures.note(error, at: site.id)
            }
        }
    }
}
