import API
import Model
import Rendering
import Storage
import Text

/// Judges sites, by what workers reported and by a check on this machine.
enum SiteChecks {
    /// Bytes above the floor below which a site gets a warning.
    static let minAvailableBytes: Int64 = 1 << 30
    /// Share of the quota from which it gets a warning.
    static let maxQuotaShare = 0.95
    static let maxStaleFiles = 1_000
    private static let maxListed = 20

    /// Judges the sites of a cluster; those that need attention come first, 20 at most.
    static func all(_ sites: [SiteStatus]) -> [DoctorCheck] {
        guard !sites.isEmpty else {
            return [
                .skipped(.storage, "sites", because: "no catalog has been submitted")
            ]
        }
        let checks = sites.map(check)
        let order: [DoctorCheck.Result] = [.failed, .warning, .ok, .skipped]
        let sorted = order.flatMap { result in checks.filter { $0.result == result } }
        guard sorted.count > maxListed else { return sorted }
        let rest = sorted.dropFirst(maxListed)
        return sorted.prefix(maxListed) + [
            .ok(
                .storage, "further sites",
                "\(HumanFormat.count(rest.count)) not listed, of which "
                    + "\(rest.count { $0.result != .ok }) need attention: dray site list")
        ]
    }

    static func check(_ site: SiteStatus) -> DoctorCheck {
        let name = "site \(printable(site.queue))"
        if let fault = site.fault { return .failed(.storage, name, fault) }
        guard let available = site.availableBytes else {
            return .ok(.storage, name, "no failure; no worker has reported its free space")
        }
        let left = available - (site.floorBytes ?? 0)
        let finding = "\(HumanFormat.bytes(max(left, 0))) free above its floor"
        guard left >= minAvailableBytes else {
            return .warning(
                .storage, name, finding,
                advice: "Free space, or enlarge the file system.", code: .storageFull)
        }
        if let quota = site.quotaBytes, let used = site.usedBytes,
            Double(used) >= Double(quota) * maxQuotaShare
        {
            return .warning(
                .storage, name,
                "\(HumanFormat.bytes(used)) of its quota of \(HumanFormat.bytes(quota)) used",
                advice: FailureCode.storageQuota.row.hint, code: .storageQuota)
        }
        return .ok(.storage, name, finding)
    }

    // MARK: From this machine

    /// Judges the check of a bucket with this process's credentials.
    static func bucket(_ url: String, _ result: Result<BucketCheck, Failure>) -> DoctorCheck {
        let name = "bucket \(url)"
        let check: BucketCheck
        switch result {
        case .failure(let failure): return .failed(.storage, name, failure)
        case .success(let found): check = found
        }
        if let skew = check.clockSkewSeconds, abs(skew) > maxSkewSeconds {
            return .warning(
                .storage, name, "this clock differs by \(skew) s from the server's",
                advice: FailureCode.storageClockSkew.row.hint, code: .storageClockSkew)
        }
        guard check.staleUploads == 0 else {
            return .warning(
                .storage, name,
                "\(HumanFormat.count(check.staleUploads)) unfinished uploads are older than a day",
                advice: "Run a worker for this site: it aborts what no job needs after a week.")
        }
        return .ok(.storage, name, "puts, reads, lists and deletes")
    }

    /// S3 rejects requests whose time differs by 15 minutes.
    private static let maxSkewSeconds: Int64 = 300

    /// Judges the check of a directory on this machine.
    static func local(
        _ url: String, _ result: Result<SiteCheck, Failure>, floorBytes: Int64 = 0
    ) -> DoctorCheck {
        let name = "directory \(url)"
        let check: SiteCheck
        switch result {
        case .failure(let failure): return .failed(.storage, name, failure)
        case .success(let found): check = found
        }
        let left = check.availableBytes - floorBytes
        let medium = check.isOnNetwork ? ", on the network" : ""
        let finding =
            "writes, syncs and renames; \(HumanFormat.bytes(max(left, 0))) free\(medium)"
        guard left >= minAvailableBytes else {
            return .warning(
                .storage, name, finding, advice: "Free space, or enlarge the file system.",
                code: .storageFull)
        }
        guard check.staleFiles <= maxStaleFiles else {
            return .warning(
                .storage, name,
                "\(HumanFormat.count(check.staleFiles)) unfinished files are older than a day",
                advice: "Run a worker for this site: it removes what no job needs after a week.")
        }
        return .ok(.storage, name, finding)
    }
}
