package import API
package import CoordinatorClient
package import Model
import Rendering
import Services
import Text

/// Starts an audit of a site, and follows it to its end.
package struct AuditFollower: Sendable {
    private let lines: LiveLines
    /// True for a private cluster, which ends with the command.
    private let isPrivate: Bool

    package init(mode: LiveLines.Mode, isPrivate: Bool) {
        lines = LiveLines(mode: mode)
        self.isPrivate = isPrivate
    }

    /// Interval of requests for the progress.
    private static let pause = Duration.milliseconds(200)

    /// Starts an audit. If one of the site runs already that does as much, returns that one; throws
    /// `input.auditRunning` for one that does less.
    package func start(
        _ audit: SiteAuditSubmission, _ client: CoordinatorClient
    ) async throws(Failure) -> SiteAuditStatus {
        do throws(Failure) {
            return try await client.create(audit, retrySeconds: 10)
        } catch {
            guard error.code == .inputAuditRunning,
                let running = try await client.siteAudits(of: audit.site, limit: 1).audits.first,
                !running.state.hasEnded
            else { throw error }
            var lacking: [String] = []
            if audit.isDeep == true, !running.isDeep { lacking.append("--deep") }
            if audit.repairs == true, !running.repairs { lacking.append("--repair") }
            guard lacking.isEmpty else {
                throw Failure(
                    .inputAuditRunning,
                    "Audit \(running.id) of the site has not ended and runs without "
                        + "\(lacking.joined(separator: " and ")). Repeat this after its end; `dray "
                        + "audit cancel \(running.id)` ends it.")
            }
            lines.note(
                "audit \(running.id) of the site has not ended; this follows it. `dray audit "
                    + "cancel \(running.id)` ends it", isNeeded: true)
            return running
        }
    }

    /// Follows an audit to its end. If the task is cancelled, reports what becomes of the audit, and
    /// throws `worker.cancelled`.
    package func follow(
        _ audit: SiteAuditStatus, _ client: CoordinatorClient
    ) async throws(Failure) -> SiteAuditStatus {
        defer { lines.end() }
        var status = audit
        while !status.state.hasEnded {
            show(status)
            do {
                try await Task.sleep(for: Self.pause)
                status = try await client.siteAudit(status.id)
            } catch {
                guard Task.isCancelled else { throw error as? Failure ?? Self.interrupted }
                lines.end()
                reportInterruption(of: status)
                throw Self.interrupted
            }
        }
        return status
    }

    private static let interrupted = Failure(.workerCancelled, "interrupted")

    private func reportInterruption(of audit: SiteAuditStatus) {
        lines.note(
            isPrivate
                ? "interrupted; run the same command again to continue audit \(audit.id)"
                : "the cluster continues audit \(audit.id). Progress: `dray audit show \(audit.id)`; "
                    + "`dray audit cancel \(audit.id)` ends it", isNeeded: true)
    }

    /// Waits until the site's queue has no jobs, in a cluster that ends with the command.
    package func waitForRepairs(
        of audit: SiteAuditStatus, _ client: CoordinatorClient
    ) async throws(Failure) {
        defer { lines.end() }
        while true {
            let status = try await client.clusterStatus()
            let jobs = status.queues.filter { $0.name == audit.queue }
                .reduce(0) { $0 + $1.waiting + $1.leased }
            let isRunning = status.catalogs.contains {
                $0.storageURL == audit.storageURL && $0.state == .running
            }
            guard jobs > 0 || isRunning else { return }
            lines.show(
                live: { _, _ in ["repairing: \(HumanFormat.count(jobs, "job")) left"] },
                plain: { "repairing: \(HumanFormat.count(jobs, "job")) left" })
            do {
                try await Task.sleep(for: Self.pause)
            } catch {
                lines.end()
                lines.note(
                    "interrupted; the same command, or `dray up`, continues the repairs",
                    isNeeded: true)
                throw Self.interrupted
            }
        }
    }

    private func show(_ status: SiteAuditStatus) {
        let text = AuditText.progress(status)
        lines.show(live: { columns, _ in [String(text.prefix(columns))] }, plain: { text })
    }
}

/// Audits as texts.
package enum AuditText {
    /// Returns a line about a running audit.
    package static func progress(_ status: SiteAuditStatus) -> String {
        guard status.state != .waiting else {
            return "audit \(status.id): waiting for a worker"
        }
        guard let expected = status.expectedFiles else {
            return "audit \(status.id): listing the records"
        }
        var text =
            "audit \(status.id): \(HumanFormat.count(status.checkedFiles)) of "
            + "\(HumanFormat.count(expected, "recorded file")) compared"
        if status.isDeep { text += ", \(HumanFormat.bytes(status.readBytes)) read" }
        if let left = status.secondsLeft { text += ", \(HumanFormat.duration(seconds: left)) left" }
        let found = status.findings.reduce(0) { $0 + $1.found }
        if found > 0 { text += "; \(HumanFormat.count(found, "finding"))" }
        return text
    }

    /// Returns the result of an audit: a line, and one for each kind of findings.
    package static func result(_ status: SiteAuditStatus) -> String {
        let seconds = (status.ended ?? status.now) - (status.started ?? status.created)
        var text =
            "audit \(status.id) of \(printable(status.queue)): \(status.state.rawValue)"
            + (status.isDeep ? ", deep" : "")
            + "; \(HumanFormat.count(status.files, "file")), \(HumanFormat.bytes(status.bytes))"
        if status.isDeep { text += ", \(HumanFormat.bytes(status.readBytes)) read" }
        text += " in \(HumanFormat.duration(seconds: seconds))\n"
        if let files = status.uncomparedFiles {
            text +=
                "  of these \(HumanFormat.count(files, "file")), "
                + "\(HumanFormat.bytes(status.uncomparedBytes ?? 0)) not compared: put aside, to be "
                + "deleted, or written again\n"
        }
        if let failure = status.failure {
            text += "  \(printable(failure.message)) (\(failure.code))\n"
        }
        for count in status.findings {
            text += "  \(HumanFormat.count(count.found)) \(count.kind.rawValue)"
            if count.kind == .leftover, let bytes = count.bytes {
                text += ", \(HumanFormat.bytes(bytes))"
            }
            if count.repaired > 0 {
                let done = count.kind == .leftover ? "removed" : "queued again"
                text += ", \(HumanFormat.count(count.repaired)) \(done)"
            }
            text += "\n"
        }
        if status.state == .completed, status.findings.isEmpty {
            text += "  storage and records agree\n"
        }
        return text
    }
}
