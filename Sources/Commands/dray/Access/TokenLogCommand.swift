import API
import Client
import CommandLine
import CoordinatorClient
import Model
import Rendering
import Services
import Text

/// `dray token log`: shows the audit log.
enum TokenLogCommand {
    static let command = Command(
        "log", summary: "Show who changed what: the audit log, the latest first.",
        discussion: """
            Submissions, starts and interruptions of catalogs, changes of catalogs, queues, origins, \
            sites and tokens, and load tests are recorded, with the token that was used; \
            `environment` is that of a coordinator's DRAY_TOKEN. What workers do is not. The command \
            needs a token of the role operator or admin. \(ClusterCall.clusterHelp)
            """,
        options: [
            CommandOption(
                "limit", .integer(placeholder: "N", range: 1...100_000),
                help: "Maximum number of changes, 1 to 100000. Default: \(defaultLimit)."),
            CommandOption(
                "after", .text(placeholder: "POSITION"),
                help: "Continue after this position, which the last line of a listing prints."),
        ] + ClusterCall.listOptions
    ) { arguments in
        await ClusterCall.run(arguments, isCheck: true) { client in
            let page = try await read(
                client, limit: arguments.integer("limit") ?? defaultLimit,
                after: arguments.text("after"))
            return try ClusterCall.show(
                page, arguments, csv: { ListCSV.audit(page.entries) }, next: page.next,
                as: { table(page) })
        }
    }

    private static let defaultLimit = 50

    private static func read(
        _ client: CoordinatorClient, limit: Int, after: String?
    ) async throws -> AuditPage {
        var all = AuditPage(entries: [], next: after)
        repeat {
            let page = try await client.audit(
                after: all.next, limit: min(limit - all.entries.count, WireLimits.pageRows),
                retrySeconds: ClusterCall.retrySeconds)
            all.entries += page.entries
            all.next = page.next
        } while all.next != nil && all.entries.count < limit
        return all
    }

    static func table(_ page: AuditPage) -> String {
        ClusterCall.section(
            "Changes", ["Time", "Token", "Name", "Role", "Action", "Object", "Result"],
            [.left, .right, .left, .left, .left, .left, .left],
            page.entries.map { entry in
                [
                    timestamp(ofSeconds: entry.time), entry.token?.description ?? "–",
                    printable(entry.name), entry.role.rawValue, entry.action,
                    printable(entry.object), result(entry),
                ]
            }) + ClusterCall.more(page.next)
    }

    private static func result(_ entry: AuditEntry) -> String {
        guard let status = entry.status else { return "unknown" }
        return entry.code.map { "\(status) \($0)" } ?? "\(status)"
    }
}
