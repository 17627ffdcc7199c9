import API
import Client
import CommandLine
import CoordinatorClient
import Model
import Rendering
import Services
import Text

/// `dray audit list`, `show` and `cancel`.
enum AuditResultCommand {
    static let list = Command(
        "list", summary: "List the audits of a site, or of all, the latest first.",
        discussion: "The latest \(WireLimits.auditsPerSite) of each site are kept. "
            + ClusterCall.privateClusterHelp,
        operands: [
            CommandOperand(
                "SITE", required: false, help: SiteNames.help)
        ],
        options: [limit, after] + ClusterCall.listOptions
    ) { arguments in
        await ClusterCall.run(arguments) { client in
            let page = try await audits(arguments, client)
            return try ClusterCall.show(
                page, arguments, csv: { ListCSV.siteAudits(page.audits) }, next: page.next,
                as: { table(page) })
        }
    }

    static let show = Command(
        "show", summary: "Show an audit and what it has found.",
        discussion: "The first \(HumanFormat.count(WireLimits.findingsPerAudit)) findings of an "
            + "audit are kept, and all are counted. Bytes of a path that are not UTF-8 are shown "
            + "as \\xHH. \(ClusterCall.privateClusterHelp)",
        operands: [
            CommandOperand("AUDIT", .number, help: "Number of the audit, from `dray audit list`.")
        ],
        options: [
            CommandOption(
                "kind",
                .choice(placeholder: "KIND", of: AuditFindingKind.allCases.map(\.rawValue)),
                help: "Only findings of this kind: "
                    + "\(AuditFindingKind.allCases.map(\.rawValue).joined(separator: ", "))."),
            limit, after,
        ] + ClusterCall.listOptions
    ) { arguments in
        await ClusterCall.run(arguments, asking: { try number(arguments) }) { id, client in
            let status = try await client.siteAudit(id, retrySeconds: ClusterCall.retrySeconds)
            let page = try await findings(id, arguments, client)
            return try ClusterCall.show(
                Shown(audit: status, findings: page.findings, next: page.next), arguments,
                csv: { ListCSV.findings(page.findings) }, next: page.next,
                as: { AuditText.result(status) + table(page) })
        }
    }

    static let cancel = Command(
        "cancel", summary: "End an audit.",
        operands: [
            CommandOperand("AUDIT", .number, help: "Number of the audit, from `dray audit list`.")
        ],
        options: ClusterCall.options
    ) { arguments in
        await ClusterCall.run(arguments, asking: { try number(arguments) }) { id, client in
            let status = try await client.cancelAudit(id, retrySeconds: ClusterCall.retrySeconds)
            return try ClusterCall.show(status, arguments) { AuditText.result(status) }
        }
    }

    /// The output of `show --json`.
    private struct Shown: Encodable {
        let audit: SiteAuditStatus
        let findings: [AuditFinding]
        let next: String?
    }

    private static let defaultLimit = 50

    private static let limit = CommandOption(
        "limit", .integer(placeholder: "N", range: 1...100_000),
        help: "Maximum number of lines, 1 to 100000. Default: \(defaultLimit).")
    private static let after = CommandOption(
        "after", .text(placeholder: "POSITION"),
        help: "Continue after this position, which the last line of a listing prints.")

    private static func number(_ arguments: Arguments) throws(UsageError) -> SiteAuditID {
        let text = arguments.operands[0]
        guard let number = Int64(text), number > 0 else {
            throw UsageError(
                "AUDIT is '\(printable(String(text.prefix(40))))'",
                hint: "Use a number that `dray audit list` shows.")
        }
        return SiteAuditID(number)
    }

    private static func audits(
        _ arguments: Arguments, _ client: CoordinatorClient
    ) async throws -> SiteAuditPage {
        let most = arguments.integer("limit") ?? defaultLimit
        var all = SiteAuditPage(audits: [], next: arguments.text("after"))
        repeat {
            let page = try await client.siteAudits(
                of: arguments.operands.first.map(SiteNames.site), after: all.next,
                limit: min(most - all.audits.count, WireLimits.pageRows),
                retrySeconds: ClusterCall.retrySeconds)
            all.audits += page.audits
            all.next = page.next
        } while all.next != nil && all.audits.count < most
        return all
    }

    private static func findings(
        _ id: SiteAuditID, _ arguments: Arguments, _ client: CoordinatorClient
    ) async throws -> AuditFindingPage {
        let most = arguments.integer("limit") ?? defaultLimit
        let kind = arguments.text("kind").flatMap { AuditFindingKind(rawValue: $0) }
        var all = AuditFindingPage(findings: [], next: arguments.text("after"))
        repeat {
            let page = try await client.findings(
                of: id, kind: kind, after: all.next,
                limit: min(most - all.findings.count, WireLimits.pageRows),
                retrySeconds: ClusterCall.retrySeconds)
            all.findings += page.findings
            all.next = page.next
        } while all.next != nil && all.findings.count < most
        return all
    }

    static func table(_ page: SiteAuditPage) -> String {
        ClusterCall.section(
            "Audits",
            ["Audit", "Site", "Started", "State", "Files", "Damaged", "Repaired", "Others"],
            [.right, .left, .left, .left, .right, .right, .right, .right],
            page.audits.map { audit in
                let others = audit.findings.filter { !$0.kind.isDamage }.reduce(0) { $0 + $1.found }
                return [
                    audit.id.description, printable(audit.queue),
                    TimeText.minute(ofSeconds: audit.started ?? audit.created),
                    audit.state.rawValue + (audit.isDeep ? ", deep" : ""),
                    HumanFormat.count(audit.files), HumanFormat.count(audit.damagedFiles),
                    HumanFormat.count(audit.damagedFiles - audit.unrepairedFiles),
                    HumanFormat.count(others),
                ]
            }) + ClusterCall.more(page.next)
    }

    static func table(_ page: AuditFindingPage) -> String {
        guard !page.findings.isEmpty else { return "" }
        return ClusterCall.section(
            "Findings", ["Kind", "Bytes", "Recorded", "Repair", "Path"],
            [.left, .right, .right, .left, .left],
            page.findings.map { finding in
                [
                    finding.kind.rawValue, finding.bytes.map(HumanFormat.count) ?? "–",
                    finding.expectedBytes.map(HumanFormat.count) ?? "–", finding.repair.rawValue,
                    printable(finding.path),
                ]
            }) + ClusterCall.more(page.next)
    }
}
