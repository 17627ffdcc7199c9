package import API
package import Model

/// Requests for webhooks and their deliveries.
extension CoordinatorClient {
    package func webhooks(retrySeconds: Double? = nil) async throws(Failure) -> WebhookList {
        try await get("/v1/webhooks", call: Call(retrySeconds: retrySeconds))
    }

    /// Creates a webhook. A repeated attempt whose first answer was lost creates no second one.
    package func createWebhook(
        _ webhook: WebhookSubmission, retrySeconds: Double? = nil
    ) async throws(Failure) -> WebhookStatus {
        try await post(
            "/v1/webhooks", webhook,
            call: Call(
                retrySeconds: retrySeconds,
                idempotencyKey: UniqueID<WebhookEntity>.random().description))
    }

    /// Changes the URL or the secret of a webhook, which keeps its deliveries. Throws `input.notFound`.
    package func changeWebhook(
        _ webhook: WebhookID, _ change: WebhookChange, retrySeconds: Double? = nil
    ) async throws(Failure) -> WebhookStatus {
        try await post(
            "/v1/webhooks/\(webhook)/change", change, call: Call(retrySeconds: retrySeconds))
    }

    /// Removes a webhook with its deliveries. Throws `input.notFound`.
    package func removeWebhook(
        _ webhook: WebhookID, retrySeconds: Double? = nil
    ) async throws(Failure) -> WebhookStatus {
        try await post(
            "/v1/webhooks/\(webhook)/remove", [String: String](),
            call: Call(retrySeconds: retrySeconds))
    }

    /// Returns a page of deliveries, the latest first; `after` is the previous page's `next`. Throws
    /// `input.notFound` for an unknown webhook.
    package func webhookDeliveries(
        after: String? = nil, webhook: WebhookID? = nil, state: WebhookDelivery.State? = nil,
        limit: Int, retrySeconds: Double? = nil
    ) async throws(Failure) -> WebhookDeliveryPage {
        let query = Query(
            ("after", after), ("webhook", webhook?.description), ("state", state?.rawValue),
            ("limit", "\(limit)"))
        return try await get(
            "/v1/webhook-deliveries\(query)", call: Call(retrySeconds: retrySeconds))
    }

    /// Sends a delivery once more. Throws `input.notFound`, also while it is being sent.
    package func redeliver(
        _ delivery: WebhookDeliveryID, retrySeconds: Double? = nil
    ) async throws(Failure) -> WebhookDelivery {
        try await post(
            "/v1/webhook-deliveries/\(delivery)/redeliver", [String: String](),
            call: Call(retrySeconds: retrySeconds))
    }
}
