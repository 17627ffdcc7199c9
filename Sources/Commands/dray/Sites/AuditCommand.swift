import API
import Client
import CommandLine
import CoordinatorClient
import Model
import Rendering
import Services
import Synchronization
import Text

/// `dray audit`: compares a site's storage with the records of what is stored there.
enum AuditCommand {
    static let command = Command(
        "audit", summary: "Compare a site's files with the records; repair what is damaged.",
        discussion: """
            A worker of the site compares every file with its record: missing, truncated and changed \
            files, files that are recorded as not stored, leftovers of dead workers, symlinks, \
            and files that no record knows. Without --deep it compares lengths; with it, it reads \
            all files and compares their SHA-256.

            --repair fetches damaged files again and removes leftovers of Dray's own. Files that \
            no record knows are listed and never touched; symlinks are never followed.

            SITE is the name of its queue, its directory or its storage URL. If an audit of the site runs \
            already, the command follows that one, unless that one lacks --deep or --repair. \
            It continues if the command is interrupted, and with another worker if one \
            dies. Exit code 1: damage was found, and its files are not fetched again. \
            \(ClusterCall.privateClusterHelp)
            """,
        subcommands: [
            AuditResultCommand.list, AuditResultCommand.show, AuditResultCommand.cancel,
        ],
        operands: [
            CommandOperand("SITE", help: SiteNames.help)
        ],
        options: [
            CommandOption("deep", .flag, help: "Read every file and compare its SHA-256."),
            CommandOption(
                "repair", .flag,
                help: "Fetch damaged files again, and remove leftovers of dead workers."),
            CommandOption(
                "read-rate", .text(placeholder: "RATE"),
                help: "Maximum rate of --deep: 50MB/s, 1Gbit/s, unlimited. Default: "
                    + "\(ClusterCall.rate(WireLimits.auditReadBytesPerSecond))."),
            CommandOption(
                "file-rate", .integer(placeholder: "N", range: WireLimits.auditFilesPerSecond),
                help: "Maximum number of files per second. Default: no maximum."),
            CommandOption(
                "detach", .flag,
                help: "Start the audit and do not wait for its end; not in the private cluster."),
            CommandOption("quiet", .flag, help: "Show errors only."),
        ] + ClusterCall.options, action: audit)

    @Sendable private static func audit(_ arguments: Arguments) async -> ExitCode {
        let code = Mutex(ExitCode.success)
        let ended = await ClusterCall.run(
            arguments, workers: 1, asking: { try submission(arguments) }
        ) { submission, client, isPrivate in
            guard !isPrivate || !arguments.flag("detach") else { throw detached }
            let isQuiet = arguments.flag("quiet")
            let follower = AuditFollower(
                mode: LiveLines.mode(
                    isQuiet: isQuiet || arguments.flag("json"),
                    environment: ClientSettings.environment), isPrivate: isPrivate)
            var status = try await follower.start(submission, client)
            if !arguments.flag("detach") {
                status = try await follower.follow(status, client)
                if isPrivate, status.findings.contains(where: { $0.repaired > 0 }) {
                    try await follower.waitForRepairs(of: status, client)
                }
            }
            code.withLock { $0 = exitCode(status) }
            return try ClusterCall.show(status, arguments) {
                guard !isQuiet else { return "" }
                guard status.state.hasEnded else {
                    return "audit \(status.id) started: `dray audit show \(status.id)`\n"
                }
                return AuditText.result(status) + hint(status)
            }
        }
        return ended == .success ? code.withLock(\.self) : ended
    }

    private static let detached = UsageError(
        "--detach needs a cluster that continues; the private cluster ends with this command",
        hint: "Start a cluster with `dray up`, or omit --detach.")

    private static func exitCode(_ status: SiteAuditStatus) -> ExitCode {
        switch status.state {
        case .waiting, .running: .success
        case .completed: status.unrepairedFiles > 0 ? .someFailed : .success
        case .failed: .someFailed
        case .cancelled: .cancelled
        }
    }

    private static func hint(_ status: SiteAuditStatus) -> String {
        guard status.findings.contains(where: { $0.found > 0 }) else { return "" }
        var hint = "  details: `dray audit show \(status.id)`"
        if !status.repairs, status.damagedFiles > 0 || status[.leftover].found > 0 {
            let deep = status.isDeep ? "--deep " : ""
            hint += "; repair: `dray audit \(deep)--repair \(printable(status.queue))`"
        }
        return hint + "\n"
    }

    private static func submission(_ arguments: Arguments) throws -> SiteAuditSubmission {
        var audit = SiteAuditSubmission(
            site: SiteNames.site(arguments.operands[0]), isDeep: arguments.flag("deep"),
            repairs: arguments.flag("repair"))
        if arguments.text("read-rate") != nil {
            guard audit.isDeep == true else {
                throw UsageError(
                    "--read-rate needs --deep", hint: "Without --deep nothing is read.")
            }
            audit.readBytesPerSecond = try ClusterCall.rate("read-rate", arguments) ?? 0
        }
        audit.filesPerSecond = arguments.integer("file-rate")
        return audit
    }
}
