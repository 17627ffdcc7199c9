import API
import HTTPServer
import JobQueue
import Model

/// Routes for webhooks and their deliveries.
struct WebhookRoutes: Sendable {
    let queue: JobQueue

    func list(_ request: HTTPRequest) async throws -> HTTPResponse {
        try .wire(try await queue.webhooks.list())
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
        let (chosen, of) = (kinds, catalog)
        return Change(
            "webhook \(redacted(url: submission.url))"
                + (of.map { ", catalog \($0)" } ?? "")
                + (submission.kinds.map { ", kinds \($0.joined(separator: " "))" } ?? "")
        ) {
            try .wire(
                try await queue.webhooks.create(
                    submission, catalog: of, kinds: chosen, by: caller.name))
        }
    }

    func remove(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        let _: NoFields = try RequestBody.read(request)
        let webhook = WebhookID(try Self.number(path, "webhook"))
        return Change("webhook \(webhook)") {
            try .wire(try await queue.webhooks.remove(webhook))
        }
    }

    func deliveries(_ request: HTTPRequest) async throws -> HTTPResponse {
        var after: Int64?
        if let position = try PageCursor.position(in: request, of: "webhook deliveries") {
            guard let number = Int64(position), number > 0 else {
                throw Validation.wrong("after", position, "the next of a page")
            }
            after = number
        }
        var state: WebhookDelivery.State?
        if let text = request.queryValue("state") {
            state = WebhookDelivery.State(rawValue: text)
            if state == nil {
                throw Validation.wrong(
                    "state", text,
                    WebhookDelivery.State.allCases.map(\.rawValue).joined(separator: ", "))
            }
        }
        var page = try await queue.webhooks.deliveries(
            after: after, state: state, limit: try Validation.limit(request.queryValue("limit")))
        page.next = PageCursor.sealed(page.next, of: "webhook deliveries")
        return try .wire(page)
    }

    func redeliver(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        let _: NoFields = try RequestBody.read(request)
        let delivery = WebhookDeliveryID(try Self.number(path, "delivery"))
        return Change("delivery \(delivery)") {
            try .wire(try await queue.webhooks.redeliver(delivery))
        }
    }

    private static func number(_ path: PathParameters, _ name: String) throws(Failure) -> Int64 {
        guard let number = Int64(path[name]), number > 0 else {
            throw Validation.wrong(name, path[name], "its number")
        }
        return number
    }
}

extension Validation {
    static func check(_ webhook: WebhookSubmission) throws(Failure) {
        let url = webhook.url
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
        guard (16...200).contains(webhook.secret.utf8.count),
            webhook.secret.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else {
            throw Failure(
                .inputField,
                "secret: a wrong one was given; allowed: 16 to 200 printable ASCII characters "
                    + "without spaces.")
        }
        if let catalog = webhook.catalog { try check(catalog) }
        if let kinds = webhook.kinds { try range(kinds.count, "kinds", 1...100) }
    }
}
