/// State of a delivery to a webhook.
package enum WebhookDeliveryState: String, Codable, CaseIterable, Sendable {
    /// Due, or waiting for its next attempt. Can move to waiting, delivered, dead.
    case waiting
    /// The receiver has answered with 2xx. Can move to waiting.
    case delivered
    /// Failed for good: its last attempt failed, or it has waited for too long. Can move to
    /// waiting.
    case dead
}

/// An event of a delivery to a webhook.
package enum WebhookDeliveryEvent: String, Codable, CaseIterable, Sendable {
    /// The receiver answered with 2xx.
    case deliver
    /// An attempt failed or was not made, and another one follows.
    case retry
    /// Its last attempt failed.
    case exhaust
    /// It has waited for too long.
    case expire
    /// An operator sends it again.
    case redeliver
}

extension WebhookDeliveryState {
    package static let machine = StateMachine<WebhookDeliveryState, WebhookDeliveryEvent>(
        name: "webhook delivery", initial: .waiting,
        table: [
            .waiting: [
                .deliver: .delivered, .retry: .waiting, .exhaust: .dead, .expire: .dead,
                .redeliver: .waiting,
            ],
            .delivered: [.redeliver: .waiting],
            .dead: [.redeliver: .waiting],
        ])
}
