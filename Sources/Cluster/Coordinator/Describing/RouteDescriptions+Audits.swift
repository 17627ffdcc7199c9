import API
import Model

extension RouteDescription {
    static let audits: [String: RouteDescription] = [
        "GET /v1/site-audits": Self(
            "Lists the audits of sites, the latest first.",
            query: [
                Parameter(
                    "site", Schema(.string, .characters(1...2_048)),
                    "Audits of this site only: its queue or its storage URL.")
            ] + Parameter.page, .json(SiteAuditPage.self), failures: [404]),
        "POST /v1/site-audits": Self(
            "Compares a site's storage with the records of what is stored there.",
            body: SiteAuditSubmission.self, .json(SiteAuditStatus.self)),
        "GET /v1/site-audits/{audit}": Self(
            "Returns the progress of an audit.", .json(SiteAuditStatus.self)),
        "GET /v1/site-audits/{audit}/findings": Self(
            "Lists what an audit has found; the first \(WireLimits.findingsPerAudit) are kept.",
            query: [.choice("kind", AuditFindingKind.self, "Findings of this kind only.")]
                + Parameter.page, .json(AuditFindingPage.self)),
        "POST /v1/site-audits/{audit}/cancel": Self(
            "Ends an audit.", body: NoFields.self, .json(SiteAuditStatus.self)),
    ]
}
