import API
import Client
import CommandLine
import CoordinatorClient
import Model
import Rendering
import Text

/// `dray webhook`: adds, lists, changes and removes webhooks; lists their deliveries, and sends some again.
enum WebhookCommand {
    /// `--state` is the private cluster's directory.
    private static let deliveryState = "delivery-state"

    static let command = Command(
        "webhook", summary: "Send events to URLs: add, list, change and remove webhooks.",
        discussion: """
            Without a command, lists the webhooks. Each event is sent as a POST of JSON, signed with \
            the webhook's secret, until the receiver answers with 2xx, 12 times at most. These \
            commands need a token of the role operator or admin. \(ClusterCall.clusterHelp)
            """,
        subcommands: [
            Command(
                "add", summary: "Send events to a URL from now on.",
                discussion: """
                    The secret is read from a file, which no other user should be able to read. \
                    It is the key of the HMAC-SHA256 in the header Dray-Signature. Private \
                    addresses are rejected unless --allow-addresses of the coordinators has them: \
                    each coordinator sends by its own policy.
                    """,
                operands: [CommandOperand("URL", help: "An http or https URL.")],
                options: [
                    CommandOption(
                        "secret-file", .file(placeholder: "FILE"), required: true,
                        help: "File with the secret: one line of 16 to 200 characters."),
                    CommandOption(
                        "catalog", .text(placeholder: "CATALOG"),
                        help: "Only events of this catalog, by number or name."),
                    CommandOption(
                        "kind", .text(placeholder: "KIND"), repeatable: true,
                        help: "Only this kind, such as catalog.failed, or all of a subject: "
                            + "\(EventKind.subjects.joined(separator: ", "))."),
                ] + ClusterCall.options, action: add),
            Command(
                "list", summary: "List the webhooks, with the last failure of each.",
                options: ClusterCall.options,
                action: list),
            Command(
                "change", summary: "Change the URL or the secret of a webhook.",
                discussion: """
                    The webhook keeps its deliveries: those that wait, and dead ones that are sent \
                    again, go to the new URL.
                    """,
                operands: [
                    CommandOperand("NUMBER", .number, help: "Number, from `dray webhook list`.")
                ],
                options: [
                    CommandOption(
                        "url", .text(placeholder: "URL"), help: "An http or https URL."),
                    CommandOption(
                        "secret-file", .file(placeholder: "FILE"),
                        help: "File with the secret: one line of 16 to 200 characters."),
                ] + ClusterCall.options, action: change),
            Command(
                "remove", summary: "Remove a webhook with its deliveries.",
                operands: [
                    CommandOperand("NUMBER", .number, help: "Number, from `dray webhook list`.")
                ],
                options: ClusterCall.options, action: remove),
            Command(
                "deliveries", summary: "List what was sent, or waits to be sent.",
                discussion: "The latest first. Deliveries are kept for seven days after their end.",
                options: [
                    CommandOption(
                        "webhook", .integer(placeholder: "NUMBER", range: 1...Int.max),
                        help: "Only those of this webhook, from `dray webhook list`."),
                    CommandOption(
                        deliveryState,
                        .choice(
                            placeholder: "STATE",
                            of: WebhookDelivery.State.allCases.map(\.rawValue)),
                        help: "Only those that are waiting, delivered, or dead: failed for good."),
                    CommandOption(
                        "limit", .integer(placeholder: "N", range: 1...WireLimits.pageRows),
                        help: "Maximum number, 1 to \(WireLimits.pageRows). Default: 50."),
                    CommandOption(
                        "after", .text(placeholder: "POSITION"),
                        help:
                            "Continue after this position, which the last line of a listing prints."
                    ),
                ] + ClusterCall.options, action: deliveries),
            Command(
                "redeliver", summary: "Send a delivery once more.",
                operands: [
                    CommandOperand(
                        "NUMBER", .number, help: "Number, from `dray webhook deliveries`.")
                ], options: ClusterCall.options, action: redeliver),
        ], options: ClusterCall.options, action: list)

    // MARK: Webhooks

    @Sendable private static func add(_ arguments: Arguments) async -> ExitCode {
        await ClusterCall.run(arguments, isCheck: true, asking: { try submission(arguments) }) {
            submission, client in
            let webhook = try await client.createWebhook(submission)
            return try ClusterCall.show(webhook, arguments) {
                "Webhook \(webhook.id) sends events to \(printable(webhook.url)).\n"
            }
        }
    }

    static func submission(_ arguments: Arguments) throws -> WebhookSubmission {
        var submission = WebhookSubmission(
            url: arguments.operands[0],
            secret: try Secrets.webhookSecret(ofFile: arguments.text("secret-file") ?? ""))
        if let name = arguments.text("catalog") {
            submission.catalog =
                Int64(name).map { CatalogReference(CatalogID($0)) }
                ?? CatalogReference(name: name)
        }
        let kinds = arguments.texts("kind")
        submission.kinds = kinds.isEmpty ? nil : kinds
        return submission
    }

    @Sendable private static func list(_ arguments: Arguments) async -> ExitCode {
        await ClusterCall.run(arguments, isCheck: true) { client in
            let list = try await client.webhooks(retrySeconds: ClusterCall.retrySeconds)
            return try ClusterCall.show(list, arguments) { table(list) }
        }
    }

    static func table(_ list: WebhookList) -> String {
        ClusterCall.section(
            "Webhooks",
            ["Number", "URL", "Catalog", "Kinds", "Waiting", "Dead", "Last failure", "By"],
            [.right, .left, .right, .left, .right, .right, .left, .left],
            list.webhooks.map { webhook in
                [
                    webhook.id.description, printable(webhook.url),
                    webhook.catalog?.description ?? "all",
                    webhook.kinds.isEmpty
                        ? "all" : webhook.kinds.map(\.rawValue).joined(separator: ", "),
                    HumanFormat.count(webhook.waiting)
                        + (webhook.cooldownUntil == nil ? "" : " in cooldown"),
                    HumanFormat.count(webhook.dead),
                    webhook.lastFailure.map(WebhookText.line) ?? "–",
                    printable(webhook.createdBy),
                ]
            })
    }

    @Sendable private static func change(_ arguments: Arguments) async -> ExitCode {
        await ClusterCall.run(
            arguments, isCheck: true,
            asking: { (webhook: try number(arguments), change: try change(from: arguments)) }
        ) { asked, client in
            let webhook = try await client.changeWebhook(
                WebhookID(asked.webhook), asked.change, retrySeconds: ClusterCall.retrySeconds)
            return try ClusterCall.show(webhook, arguments) {
                "Webhook \(webhook.id) sends events to \(printable(webhook.url)).\n"
            }
        }
    }

    private static func change(from arguments: Arguments) throws -> WebhookChange {
        var change = WebhookChange(url: arguments.text("url"))
        change.secret = try arguments.text("secret-file").map {
            try Secrets.webhookSecret(ofFile: $0)
        }
        guard change.url != nil || change.secret != nil else {
            throw UsageError(
                "nothing is to be changed", hint: "Write --url URL, --secret-file FILE, or both.")
        }
        return change
    }

    @Sendable private static func remove(_ arguments: Arguments) async -> ExitCode {
        await ClusterCall.run(arguments, isCheck: true, asking: { try number(arguments) }) {
            number, client in
            let webhook = try await client.removeWebhook(
                WebhookID(number), retrySeconds: ClusterCall.retrySeconds)
            return try ClusterCall.show(webhook, arguments) {
                "Webhook \(webhook.id) to \(printable(webhook.url)) is removed.\n"
            }
        }
    }

    private static func number(_ arguments: Arguments) throws(UsageError) -> Int64 {
        guard let number = Int64(arguments.operands[0]), number > 0 else {
            throw UsageError(
                "NUMBER is '\(printable(String(arguments.operands[0].prefix(100))))'",
                hint: "Use a whole number from 1 to \(Int64.max), from the list.")
        }
        return number
    }

    // MARK: Deliveries

    @Sendable private static func deliveries(_ arguments: Arguments) async -> ExitCode {
        await ClusterCall.run(arguments, isCheck: true) { client in
            let page = try await client.webhookDeliveries(
                after: arguments.text("after"),
                webhook: arguments.integer("webhook").map { WebhookID(Int64($0)) },
                state: arguments.choice(deliveryState, WebhookDelivery.State.self),
                limit: arguments.integer("limit") ?? 50, retrySeconds: ClusterCall.retrySeconds)
            return try ClusterCall.show(page, arguments) { table(page) }
        }
    }

    static func table(_ page: WebhookDeliveryPage) -> String {
        ClusterCall.section(
            "Deliveries",
            [
                "Number", "Webhook", "Time", "Kind", "State", "Attempts", "Next attempt",
                "Last result",
            ],
            [.right, .right, .left, .left, .left, .right, .left, .left],
            page.deliveries.map { delivery in
                [
                    delivery.id.description, delivery.webhook.description,
                    TimeText.minute(ofSeconds: delivery.created), delivery.kind.rawValue,
                    delivery.state.rawValue, "\(delivery.attempts)",
                    delivery.due.map { TimeText.second(ofSeconds: $0) } ?? "–", result(delivery),
                ]
            }) + ClusterCall.more(page.next)
    }

    private static func result(_ delivery: WebhookDelivery) -> String {
        if let failure = delivery.failure {
            return "\(failure.code): \(printable(failure.message))"
        }
        return delivery.status.map { "status \($0)" } ?? "–"
    }

    @Sendable private static func redeliver(_ arguments: Arguments) async -> ExitCode {
        await ClusterCall.run(arguments, isCheck: true, asking: { try number(arguments) }) {
            number, client in
            let delivery = try await client.redeliver(
                WebhookDeliveryID(number), retrySeconds: ClusterCall.retrySeconds)
            return try ClusterCall.show(delivery, arguments) {
                "Delivery \(delivery.id) is sent again.\n"
            }
        }
    }
}
