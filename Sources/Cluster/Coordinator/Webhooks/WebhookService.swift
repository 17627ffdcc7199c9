import JobQueue
import Metrics
import Model
import Services

/// Sends events to webhooks: makes deliveries of new ones, and sends those that are due.
///
/// Every coordinator does so; a lease keeps a delivery from being sent by two at once.
struct WebhookService: Service {
    let name = "webhooks"
    let webhooks: Webhooks
    let sender: WebhookSender
    let failures: BackgroundFailures
    let metrics: WebhookMetrics
    /// Time between two looks.
    var period: Duration

    /// Deliveries that are sent at once.
    static let maxAtOnce = 16
    /// Longer than a delivery takes.
    static let leaseSeconds = 60.0

    /// Runs until its task is cancelled; what is being sent then is recorded.
    ///
    /// A webhook gets more deliveries once it has answered all it was sent: one that is slow delays no
    /// others.
    func run() async {
        await withTaskGroup(of: WebhookID?.self) { group in
            var sending: [WebhookID: Int] = [:]
            var isTiming = false
            while !Task.isCancelled {
                for delivery in await due(sending) {
                    sending[delivery.webhook, default: 0] += 1
                    group.addTask {
                        await send(delivery)
                        return delivery.webhook
                    }
                }
                if !isTiming {
                    isTiming = true
                    group.addTask {
                        try? await Task.sleep(for: period)
                        return nil
                    }
                }
                // Looks again after the period, or when a webhook has answered all.
                while let ended = await group.next() {
                    guard let webhook = ended else {
                        isTiming = false
                        break
                    }
                    let left = (sending[webhook] ?? 1) - 1
                    sending[webhook] = left > 0 ? left : nil
                    if left <= 0 { break }
                }
            }
        }
    }

    /// Makes deliveries of new events, and leases some that are due, but none of the webhooks that are
    /// being sent some.
    private func due(_ sending: [WebhookID: Int]) async -> [Webhooks.Leased] {
        var start = ContinuousClock.now
        do throws(Failure) {
            try await webhooks.enqueue()
            failures.succeeded("make deliveries to webhooks", since: start)
        } catch {
            failures.failed("make deliveries to webhooks", error)
        }
        let free = Self.maxAtOnce - sending.values.reduce(0, +)
        guard free > 0, !Task.isCancelled else { return [] }
        start = .now
        do throws(Failure) {
            let leased = try await webhooks.lease(
                free, busy: Array(sending.keys), seconds: Self.leaseSeconds)
            failures.succeeded("send events to webhooks", since: start)
            return leased
        } catch {
            failures.failed("send events to webhooks", error)
            return []
        }
    }

    /// Sends a delivery and records the result, also if it is cancelled meanwhile.
    private func send(_ delivery: Webhooks.Leased) async {
        let sent = ContinuousClock.now
        let attempt = await sender.send(delivery)
        if attempt != nil { metrics.duration.record(.now - sent) }
        // A task of its own is not cancelled with this one.
        let recording = Task<Void, Never> {
            let start = ContinuousClock.now
            do throws(Failure) {
                if let attempt {
                    metrics.count(try await webhooks.record(attempt, of: delivery))
                } else {
                    try await webhooks.giveBack(delivery)
                }
                failures.succeeded("record a delivery to a webhook", since: start)
            } catch {
                // Its lease ends, and it is sent again.
                failures.failed("record a delivery to a webhook", error)
            }
        }
        await recording.value
    }
}
