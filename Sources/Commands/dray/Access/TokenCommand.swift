import API
import Client
import CommandLine
import CoordinatorClient
import Model
import Rendering
import Services
import Text

/// `dray token`: creates, lists and revokes access tokens, and shows what was changed with them.
enum TokenCommand {
    static let command = Command(
        "token", summary: "Create, list and revoke access tokens; show the audit log.",
        discussion: """
            Without a command, lists the tokens. To create, list and revoke tokens, use the token of \
            a coordinator's DRAY_TOKEN, or one of the role admin; for the log, one of the role \
            operator suffices. \(ClusterCall.clusterHelp)
            """,
        subcommands: [
            Command(
                "create", summary: "Create a token and print it, once.",
                discussion: """
                    Prints the token alone on stdout. It is stored nowhere: only its SHA-256 is.

                      (umask 077; dray token create --role worker --queue srv-edge > worker.token)

                    ROLE is what the token allows:

                    \(allowances)

                    \(TimeOptions.discussion)
                    """,
                options: [
                    CommandOption(
                        "role",
                        .choice(placeholder: "ROLE", of: AccessRole.allCases.map(\.rawValue)),
                        required: true, help: "What it allows."),
                    CommandOption(
                        "name", .text(placeholder: "NAME"),
                        help: "Name for lists and the audit log, 1 to 100 characters. Default: "
                            + "role and number."),
                    CommandOption(
                        "queue", .text(placeholder: "NAME"), repeatable: true,
                        help: "For a worker: only jobs of this queue; repeatable. Default: all."),
                    CommandOption(
                        "site", .directory(placeholder: "SITE"), repeatable: true,
                        help: "For a submitter: only catalogs of this site: name of its queue, "
                            + "directory or storage URL; repeatable. Default: all."),
                    CommandOption(
                        "expires", .text(placeholder: "TIME"),
                        help: "When it expires. Default: never."),
                ] + ClusterCall.options, action: create),
            Command(
                "list", summary: "List the tokens, without their texts.",
                options: ClusterCall.listOptions, action: list),
            Command(
                "revoke", summary: "Revoke a token.",
                discussion: "Coordinators reject it within a few seconds.",
                operands: [
                    CommandOperand("TOKEN", help: "Number or name of the token, from `dray token`.")
                ], options: ClusterCall.options, action: revoke),
            TokenLogCommand.command,
        ], options: ClusterCall.listOptions, action: list)

    /// A line for each role.
    private static let allowances = AccessRole.allCases.map { role in
        "  \(TextLayout.padded(role.rawValue, to: 11))\(role.allowance)"
    }.joined(separator: "\n")

    // MARK: Create and revoke

    @Sendable private static func create(_ arguments: Arguments) async -> ExitCode {
        await ClusterCall.run(arguments, isCheck: true, asking: { try submission(arguments) }) {
            submission, client in
            let issued = try await client.createToken(submission)
            return try ClusterCall.show(issued, arguments) {
                Console.note("token \(printable(issued.token.name)), number \(issued.token.id)")
                return issued.secret + "\n"
            }
        }
    }

    static func submission(_ arguments: Arguments) throws -> TokenSubmission {
        guard let role = arguments.choice("role", AccessRole.self) else {
            throw UsageError("--role is missing", hint: "Use one of the roles of --help.")
        }
        var submission = TokenSubmission(role: role, name: arguments.text("name"))
        let queues = arguments.texts("queue")
        guard queues.isEmpty || role == .worker else {
            throw UsageError(
                "--queue is for the role worker", hint: "Submitters are bound with --site.")
        }
        submission.queues = queues.isEmpty ? nil : queues
        let sites = arguments.texts("site")
        guard sites.isEmpty || role == .submitter else {
            throw UsageError(
                "--site is for the role submitter", hint: "Workers are bound with --queue.")
        }
        submission.sites = sites.isEmpty ? nil : try sites.map(SiteNames.checkedSite)
        submission.expires = try TimeOptions.time("expires", arguments)
        return submission
    }

    @Sendable private static func revoke(_ arguments: Arguments) async -> ExitCode {
        await ClusterCall.run(arguments, isCheck: true) { client in
            let token = try await client.revokeToken(
                arguments.operands[0], retrySeconds: ClusterCall.retrySeconds)
            return try ClusterCall.show(token, arguments) {
                "Token \(printable(token.name)), number \(token.id), is revoked.\n"
            }
        }
    }

    // MARK: List

    @Sendable private static func list(_ arguments: Arguments) async -> ExitCode {
        await ClusterCall.run(arguments, isCheck: true) { client in
            let list = try await client.tokens(retrySeconds: ClusterCall.retrySeconds)
            return try ClusterCall.show(
                list, arguments, csv: { ListCSV.tokens(list) }, as: { table(list) })
        }
    }

    static func table(_ list: TokenList) -> String {
        ClusterCall.section(
            "Tokens",
            ["Number", "Name", "Role", "State", "Bound to", "Last used", "Expires", "By"],
            [.right, .left, .left, .left, .left, .left, .left, .left],
            list.tokens.map { token in
                let bounds = token.queues + token.sites.map { redacted(url: $0) }
                return [
                    token.id.description, printable(token.name), token.role.rawValue,
                    token.state(at: list.now).rawValue,
                    bounds.isEmpty ? "–" : printable(bounds.joined(separator: ", ")),
                    time(token.lastUsed, or: "never"), time(token.expires, or: "never"),
                    printable(token.createdBy),
                ]
            })
    }

    private static func time(_ seconds: Double?, or none: String) -> String {
        seconds.map { TimeText.minute(ofSeconds: $0) } ?? none
    }
}
