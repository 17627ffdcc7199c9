import API
import Model
import Storage

/// Looks for what ended work has left in Dray's own directories at a site, and removes it if the
/// audit repairs.
struct LeftoverCheck: Sendable {
    let held: AuditLease
    let storage: SiteStorage
    /// The cluster of the audit; nil if unknown.
    let cluster: ClusterID?
    let repairs: Bool
    /// True if it ends an audit of the whole site.
    let isOfWhole: Bool
    let blocking: BlockingCalls

    /// Age after which files whose owners this cluster does not know are leftovers: those that might
    /// be resumed, and those that no process has locked.
    private static let abandonedSeconds = 7.0 * 86_400
    private static let unlockedSeconds = 60.0

    /// Ends the audit with what is found.
    func run(page: Int) async throws(Failure) {
        held.begin(page: page)
        let (storage, isOfWhole) = (storage, isOfWhole)
        let files = try await blocking.run {
            Result { () throws(Failure) in
                try storage.privateFiles() + (isOfWhole ? storage.staleDigests() : [])
            }
        }.get()
        var findings: [SiteAuditReport.Finding] = []
        let most = WireLimits.findingsPerAuditReport
        for start in stride(from: 0, to: files.count, by: most) {
            try held.require()
            findings += try await check(Array(files[start..<min(start + most, files.count)]))
            while findings.count >= most {
                try await report(&findings, page, isEnd: false)
            }
        }
        try await report(&findings, page, isEnd: true)
    }

    private func report(
        _ findings: inout [SiteAuditReport.Finding], _ page: Int, isEnd: Bool
    ) async throws(Failure) {
        var report = SiteAuditReport(worker: held.worker, lease: held.lease, page: page)
        report.findings = Array(findings.prefix(WireLimits.findingsPerAuditReport))
        findings.removeFirst(report.findings.count)
        report.isEnd = isEnd
        try await held.send(report)
    }

    private func check(
        _ files: [PrivateFile]
    ) async throws(Failure) -> [SiteAuditReport.Finding] {
        let owners = try await owners(of: files)
        let (storage, repairs) = (storage, repairs)
        return await blocking.run {
            files.compactMap { file in
                var finding = SiteAuditReport.Finding(
                    kind: .leftover, path: file.path, bytes: file.bytes)
                switch file.kind {
                case .symlink: finding.kind = .symlink
                case .foreign: finding.kind = .foreign
                case .object, .partialObject, .multipart, .record, .digest, .probe:
                    guard owners.haveLeft(file, isOnNetwork: storage.isOnNetwork),
                        storage.isUnlocked(file)
                    else { return nil }
                    guard repairs else { break }
                    // Another worker may have removed it, or resumes it.
                    guard storage.remove(leftover: file) else { return nil }
                    finding.isRemoved = true
                }
                return finding
            }
        }
    }

    // MARK: Owners

    private struct Owners: Sendable {
        let cluster: ClusterID?
        var leases: [LeaseID: SiteAuditChecked.Owner] = [:]
        var multiparts: [MultipartID: SiteAuditChecked.Owner] = [:]
        /// Assets whose bodies a job may resume.
        var resumable: Set<AssetID> = []

        /// Returns true if no asset needs a file any more.
        func haveLeft(_ file: PrivateFile, isOnNetwork: Bool) -> Bool {
            let isAbandoned = file.idleSeconds > LeftoverCheck.abandonedSeconds
            switch file.kind {
            case .symlink, .foreign: return false
            case .digest: return true
            case .probe: return file.idleSeconds > 3_600
            case .object(let lease, let isStaged):
                switch leases[lease] ?? .unknown {
                case .inUse: return false
                case .ended: return true
                // A lock may hold on one machine alone.
                case .unknown where isStaged || isOnNetwork: return isAbandoned
                case .unknown: return file.ageSeconds > LeftoverCheck.unlockedSeconds
                }
            case .partialObject(let lease, let owner, _):
                return isAbandoned || isUseless(lease, owner)
            case .record(let lease?, let owner?):
                return isAbandoned || isUseless(lease, owner)
            case .record(let lease, _):
                return isAbandoned || lease.map { leases[$0] == .ended } ?? false
            case .multipart(let id):
                switch multiparts[id] ?? .unknown {
                case .inUse: return false
                case .ended: return true
                case .unknown: return isAbandoned
                }
            }
        }

        /// Returns true for a body of this cluster that no transfer writes and no job may resume.
        private func isUseless(_ lease: LeaseID, _ owner: BodyOwner) -> Bool {
            let isOwn: Bool =
                switch leases[lease] ?? .unknown {
                case .inUse: false
                case .ended: true
                // Of those that ended in order nothing is known. The numbers of assets are those of
                // one cluster.
                case .unknown: cluster != nil && owner.cluster == cluster
                }
            return isOwn && !resumable.contains(owner.asset)
        }
    }

    private func owners(of files: [PrivateFile]) async throws(Failure) -> Owners {
        var leases: Set<LeaseID> = []
        var multiparts: [MultipartID] = []
        var assets: Set<AssetID> = []
        for file in files {
            switch file.kind {
            case .object(let lease, _): leases.insert(lease)
            case .partialObject(let lease, let owner, _):
                leases.insert(lease)
                assets.insert(owner.asset)
            case .record(let lease, let owner):
                lease.map { _ = leases.insert($0) }
                owner.map { _ = assets.insert($0.asset) }
            case .multipart(let id): multiparts.append(id)
            case .digest, .probe, .symlink, .foreign: break
            }
        }
        let (named, bodies) = (Array(leases), Array(assets))
        let answer = try await held.check {
            $0.leases = named
            $0.multiparts = multiparts
            $0.assets = bodies
        }
        var owners = Owners(cluster: cluster)
        owners.leases = Dictionary(uniqueKeysWithValues: zip(named, answer.leases))
        owners.multiparts = Dictionary(
            zip(multiparts, answer.multiparts), uniquingKeysWith: { $1 })
        owners.resumable = Set(zip(bodies, answer.assets).filter(\.1).map(\.0))
        return owners
    }
}
