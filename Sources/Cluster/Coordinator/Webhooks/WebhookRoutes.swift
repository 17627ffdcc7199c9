import API
import HTTPServer
import JobQueue
import Model

/// Routes for webhooks and their deliveries.
struct WebhookRoutes: Sendable {
    let queue: JobQueue
    let addresses: WebhookAddresses

    func list(_ request: HTTPRequest) async throws -> HTTPResponse {
        try .wire(try await queue.events.webhooks.list())
    }

    func create(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        let submission: WebhookSubmission = try RequestBody.read(request)
        try Validation.check(submission)
        var kinds: [EventKind] = []
        for name in submission.kinds ?? [] { kinds += try EventRoutes.kinds(named: name) }
        var catalog: CatalogID?
        if let reference = submission.catalog {
            catalog = try await queue.catalogs.selections.catalog(reference)
        }
        try await addresses.check(submission.url)
        let (chosen, of) = (kinds, catalog)
        return Change(
            detailed: "webhook \(redacted(url: submission.url))"
                + (of.map { ", catalog \($0)" } ?? "")
                + (submission.kinds.map { ", kinds \($0.joined(separator: " "))" } ?? "")
        ) { key in
            let webhook = try await queue.events.webhooks.create(
                submission, catalog: of, kinds: chosen, by: caller.name, key: key)
            return Change.Made(try .wire(webhook), detail: "number \(webhook.id)")
        }
    }

    func change(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        let change: WebhookChange = try RequestBody.read(request)
        try Validation.check(change)
        let webhook = WebhookID(try Validation.number(path["webhook"], "webhook"))
        if let url = change.url { try await addresses.check(url) }
        return Change(
            "webhook \(webhook)" + (change.url.map { ", URL \(redacted(url: $0))" } ?? "")
                + (change.secret == nil ? "" : ", secret")
        ) {
            try .wire(try await queue.events.webhooks.change(webhook, change))
        }
    }

    func remove(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        let _: NoFields = try RequestBody.read(request)
        let webhook = WebhookID(try Validation.number(path["webhook"], "webhook"))
        return Change(detailed: "webhook \(webhook)") { _ in
            let removed = try await queue.events.webhooks.remove(webhook)
            return Change.Made(try .wire(removed), detail: removed.url)
        }
    }

    func deliveries(_ request: HTTPRequest) async throws -> HTTPResponse {
        var state: WebhookDelivery.State?
        if let text = request.queryValue("state") {
            state = WebhookDelivery.State(rawValue: text)
            if state == nil {
                throw Validation.wrong(
                    "state", text,
                    WebhookDelivery.State.allCases.map(\.rawValue).joined(separator: ", "))
            }
        }
        let webhook = try request.queryValue("webhook").map { text throws(Failure) in
            WebhookID(try Validation.number(text, "webhook"))
        }
        var page = try await queue.events.webhooks.deliveries(
            after: try PageCursor.number(in: request, of: "webhook deliveries"), webhook: webhook,
            state: state, limit: try Validation.limit(request.queryValue("limit")))
        page.next = PageCursor.sealed(page.next, of: "webhook deliveries")
        return try .wire(page)
    }

    func redeliver(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        let _: NoFields = try RequestBody.read(request)
        let delivery = WebhookDeliveryID(try Validation.number(path["delivery"], "delivery"))
        return Change(detailed: "delivery \(delivery)") { _ in
            let sent = try await queue.events.webhooks.redeliver(delivery)
            return Change.Made(try .wire(sent), detail: "webhook \(sent.webhook)")
        }
    }
}

extension Validation {
    static func check(_ webhook: WebhookSubmission) throws(Failure) {
        try check(webhookURL: webhook.url)
        try check(webhookSecret: webhook.secret)
        if let catalog = webhook.catalog { try check(catalog) }
        if let kinds = webhook.kinds { try range(kinds.count, "kinds", 1...100) }
    }

    static func check(_ change: WebhookChange) throws(Failure) {
        guard change.url != nil || change.secret != nil else {
            throw Failure(.inputField, "url and secret are missing; allowed: one of them, or both.")
        }
        if let url = change.url { try check(webhookURL: url) }
        if let secret = change.secret { try check(webhookSecret: secret) }
    }

    private static func check(webhookURL url: String) throws(Failure) {
        guard url.hasPrefix("http://") || url.hasPrefix("https://"),
            url.utf8.count <= WireLimits.urlBytes,
            originName(of: url, allowsUserInfo: false) != nil,
            !url.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F })
        else {
            throw wrong(
                "url", redacted(url: url),
                "an http or https URL without user information, of at most "
                    + "\(WireLimits.urlBytes) bytes")
        }
    }

    private static func check(webhookSecret secret: String) throws(Failure) {
        guard (16...200).contains(secret.utf8.count),
            secret.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else {
            throw Failure(
                .inputField,
                "secret: a wrong one was given; allowed: 16 to 200 printable ASCII characters "
                    + "without spaces.")
        }
    }
}
