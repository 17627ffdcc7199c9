import API
import CoordinatorClient
import Model
import TestSupport
import Testing

extension Cluster {
    /// Starts an audit of the cluster's only site, and waits for its end.
    func audit(deep: Bool = true, repair: Bool = false) async throws -> SiteAuditStatus {
        let site = "file://\(edge.path)"
        var status = try await client.create(
            SiteAuditSubmission(site: site, isDeep: deep, repairs: repair))
        try await waitUntil(deadlineSeconds: 60, "the end of an audit") {
            status = try await client.siteAudit(status.id)
            return status.state.hasEnded
        }
        #expect(status.state == .completed, "\(String(describing: status.failure))")
        return status
    }

    /// Returns the paths of an audit's findings, which are all different.
    func findings(of audit: SiteAuditStatus) async throws -> [AuditFindingKind: Set<String>] {
        var found: [AuditFindingKind: Set<String>] = [:]
        var after: String?
        repeat {
            let page = try await client.findings(of: audit.id, after: after, limit: 300)
            for finding in page.findings {
                let isNew = found[finding.kind, default: []].insert(finding.path).inserted
                #expect(isNew, "\(finding)")
            }
            after = page.next
        } while after != nil
        return found
    }
}
