/// State of an audit of a site.
package enum SiteAuditState: String, Codable, CaseIterable, Sendable {
    /// No worker has it. Can move to running, failed, cancelled.
    case waiting
    /// A worker compares storage and records. Can move to waiting, running, completed, failed,
    /// cancelled.
    case running
    /// Everything was compared. Can move to nothing.
    case completed
    /// It could not be completed. Can move to nothing.
    case failed
    /// An operator ended it. Can move to nothing.
    case cancelled

    package var hasEnded: Bool { Self.machine.terminal.contains(self) }
}

/// An event of an audit of a site.
package enum SiteAuditEvent: String, Codable, CaseIterable, Sendable {
    /// A worker leases it: one that waits, or whose worker was lost.
    case lease
    /// Its worker cannot continue now, and another one may.
    case release
    /// Its worker has reported the last page.
    case complete
    /// Its worker reports a failure, or it makes no progress, or no worker takes it.
    case fail
    /// An operator ends it.
    case cancel
}

extension SiteAuditState {
    package static let machine = StateMachine<SiteAuditState, SiteAuditEvent>(
        name: "audit", initial: .waiting,
        table: [
            .waiting: [.lease: .running, .fail: .failed, .cancel: .cancelled],
            .running: [
                .lease: .running, .release: .waiting, .complete: .completed, .fail: .failed,
                .cancel: .cancelled,
            ],
            .completed: [:],
            .failed: [:],
            .cancelled: [:],
        ])
}

/// Kind of a finding of an audit.
package enum AuditFindingKind: String, Codable, CaseIterable, Sendable {
    /// A file that is recorded as stored is not there.
    case missing
    /// A stored file is shorter than recorded.
    case truncated
    /// A stored file is longer than recorded or, in a deep audit, has another digest.
    case changed
    /// A file is there that is recorded as not stored.
    case unrecorded
    /// A temporary file, a partial body or a multipart file that nothing resumes.
    case leftover
    /// A symlink, which Dray never makes and never follows.
    case symlink
    /// A file that no record knows.
    case foreign

    /// True if a file of a completed asset is not what it should be.
    package var isDamage: Bool { [.missing, .truncated, .changed].contains(self) }
}

/// Repair of a finding by an audit.
package enum AuditRepair: String, Codable, CaseIterable, Sendable {
    /// Nothing: it was not asked to, or the file is not Dray's.
    case none
    /// Its segment is fetched again, or its checksum file written again.
    case queued
    /// The file was removed.
    case removed
    /// Nothing yet, because its catalog or asset is being changed: audit again.
    case postponed

    /// True if the audit did something about the finding.
    package var isRepaired: Bool { [.queued, .removed].contains(self) }
}
