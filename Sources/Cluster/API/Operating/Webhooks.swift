package import Model

/// `POST /v1/webhooks`: sends events to a URL from now on.
package struct WebhookSubmission: Codable, Sendable {
    /// http or https, without user information. Its query may be a secret.
    package var url: String
    /// Key of the signatures, 16 to 200 printable ASCII characters; no answer has it.
    package var secret: String
    /// Nil for all catalogs.
    package var catalog: CatalogReference?
    /// Kinds or subjects; nil for all events.
    package var kinds: [String]?

    package init(url: String, secret: String) {
        self.url = url
        self.secret = secret
    }
}

/// `POST /v1/webhooks/{webhook}/change`: sends its events, and the deliveries that it has, to another
/// URL or with another secret. Nil for what stays; at least one is set.
package struct WebhookChange: Codable, Sendable {
    /// The URL, as in a `WebhookSubmission`.
    package var url: String?
    package var secret: String?

    package init(url: String? = nil, secret: String? = nil) {
        self.url = url
        self.secret = secret
    }
}

/// A webhook without its secret. Times are in seconds since 1970.
package struct WebhookStatus: Codable, Hashable, Sendable {
    /// The last attempt that failed, of any of its deliveries.
    package struct LastFailure: Codable, Hashable, Sendable {
        package var time: Double
        /// Status of the answer; nil without one.
        package var status: Int?
        package var failure: Failure

        package init(time: Double, status: Int?, failure: Failure) {
            self.time = time
            self.status = status
            self.failure = failure
        }
    }

    package var id: WebhookID
    /// Without secrets.
    package var url: String
    package var catalog: CatalogID?
    /// Empty for all events.
    package var kinds: [EventKind]
    package var created: Double
    /// Name of the token that created it.
    package var createdBy: String
    /// Deliveries that wait for their first or next attempt, and that failed for good.
    package var waiting: Int64
    package var dead: Int64
    /// Since when the oldest delivery waits; nil if none does.
    package var waitingSince: Double?
    /// Nothing is sent before: its receiver answered with a Retry-After. Nil if that is over.
    package var cooldownUntil: Double?
    /// Stays when a later attempt succeeds; nil if none has failed.
    package var lastFailure: LastFailure?

    /// True if a delivery waits, and an attempt has failed since it began to.
    package var isFailing: Bool {
        guard let waitingSince, let lastFailure else { return false }
        return lastFailure.time >= waitingSince
    }

    package init(
        id: WebhookID, url: String, catalog: CatalogID?, kinds: [EventKind], created: Double,
        createdBy: String, waiting: Int64, dead: Int64
    ) {
        self.id = id
        self.url = url
        self.catalog = catalog
        self.kinds = kinds
        self.created = created
        self.createdBy = createdBy
        self.waiting = waiting
        self.dead = dead
    }
}

/// `GET /v1/webhooks`: all of them, in the order of their numbers.
package struct WebhookList: Codable, Sendable {
    package var webhooks: [WebhookStatus]

    package init(webhooks: [WebhookStatus]) { self.webhooks = webhooks }
}

/// An event that is to be sent to a webhook, or was. Times are in seconds since 1970.
package struct WebhookDelivery: Codable, Hashable, Sendable {
    package typealias State = WebhookDeliveryState

    package var id: WebhookDeliveryID
    package var webhook: WebhookID
    package var kind: EventKind
    package var state: State
    package var created: Double
    package var attempts: Int
    /// Time of the next attempt; nil after the last one.
    package var due: Double?
    package var ended: Double?
    /// Status of the last answer; nil without one.
    package var status: Int?
    /// The failure of the last attempt.
    package var failure: Failure?

    package init(
        id: WebhookDeliveryID, webhook: WebhookID, kind: EventKind, state: State, created: Double,
        attempts: Int
    ) {
        self.id = id
        self.webhook = webhook
        self.kind = kind
        self.state = state
        self.created = created
        self.attempts = attempts
    }
}

/// `GET /v1/webhook-deliveries?after=…&webhook=…&state=…&limit=…`: a page, the latest first.
package struct WebhookDeliveryPage: Codable, Sendable {
    package var deliveries: [WebhookDelivery]
    /// For `after` of the next page; nil on the last one.
    package var next: String?

    package init(deliveries: [WebhookDelivery], next: String?) {
        self.deliveries = deliveries
        self.next = next
    }
}
