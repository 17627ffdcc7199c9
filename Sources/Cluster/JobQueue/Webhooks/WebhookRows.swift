import API
import Model
import Postgres

extension WebhookStatus {
    /// Decodes a row of the fragment `webhookColumns`.
    init(row: PostgresRow) throws {
        self.init(
            id: WebhookID(try row.int64("id")), url: redacted(url: try row.string("url")),
            catalog: try row.optionalInt64("catalog_id").map { CatalogID($0) },
            kinds: try row.textArray("kinds").compactMap(\.self).map { EventKind(rawValue: $0) },
            created: try row.double("created"), createdBy: try row.string("created_by"),
            waiting: try row.int64("waiting"), dead: try row.int64("dead"))
        cooldownUntil = try row.optionalDouble("cooldown_until")
        waitingSince = try row.optionalDouble("waiting_since")
        if let failed = try row.optionalDouble("failed"),
            let failure = try Failure(in: row, code: "failed_code", message: "failed_message")
        {
            lastFailure = LastFailure(
                time: failed, status: try row.optionalInt64("failed_status").map { Int($0) },
                failure: failure)
        }
    }
}

extension WebhookDelivery {
    /// Decodes a row of the fragment `deliveryColumns`.
    init(row: PostgresRow) throws {
        self.init(
            id: WebhookDeliveryID(try row.int64("id")),
            webhook: WebhookID(try row.int64("webhook_id")),
            kind: EventKind(rawValue: try row.string("kind")),
            state: State(rawValue: try row.string("state")) ?? .waiting,
            created: try row.double("created"), attempts: Int(try row.int64("attempts")))
        due = try row.optionalDouble("due")
        ended = try row.optionalDouble("ended")
        status = try row.optionalInt64("status").map { Int($0) }
        failure = try Failure(in: row, code: "code", message: "message")
    }
}
