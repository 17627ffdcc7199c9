import API
import CoordinatorClient
import Digest
import Foundation
import HTTPServer
import JobQueue
import Model
import TestSupport
import Testing
import Transfer

@testable import Coordinator

/// Events that are sent to URLs.
@Suite struct WebhookTests {
    private static let secret = "canary-secret-of-a-webhook"

    private static func configure(_ configuration: inout Coordinator.Configuration) {
        configuration.webhookAddresses = AddressPolicy(allowsPrivate: true)
        configuration.webhookPeriod = .milliseconds(20)
    }

    private static func add(
        _ fixture: Fixture, _ url: String, kinds: [String]? = nil
    ) async throws -> WebhookStatus {
        var submission = WebhookSubmission(url: url, secret: Self.secret)
        submission.kinds = kinds
        return try await fixture.client.createWebhook(submission)
    }

    private static func deliveries(
        _ fixture: Fixture, _ state: WebhookDelivery.State
    ) async throws -> [WebhookDelivery] {
        try await fixture.client.webhookDeliveries(state: state, limit: 100).deliveries
    }

    private static func text(_ request: HTTPRequest) -> String {
        String(decoding: request.body, as: UTF8.self)
    }

    @Test func eventsAreSentWithASignature() async throws {
        let receiver = try WebhookReceiver()
        try await Fixture.with(configure: Self.configure) { fixture in
            let webhook = try await Self.add(fixture, receiver.url, kinds: ["catalog"])
            #expect(!webhook.url.contains("canary") && webhook.kinds.count == 9)
            try await fixture.submit(["a"])
            try await waitUntil(deadlineSeconds: 30, "the deliveries") {
                try await Self.deliveries(fixture, .delivered).count == 2
            }
            let requests = receiver.requests
            #expect(
                requests.compactMap { $0.header("dray-event") }.sorted() == [
                    "catalog.open", "catalog.running",
                ])
            for request in requests {
                #expect(request.method == "POST" && request.queryValue("key") == "canary")
                #expect(request.header("content-type") == "application/json")
                let signature = try #require(request.header("dray-signature"))
                let parts = signature.split(separator: ",")
                let time = try #require(parts.first?.dropFirst(2))
                let expected = SHA256Digest(
                    authenticating: Array("\(time).\(Self.text(request))".utf8),
                    key: Array(Self.secret.utf8))
                #expect(signature == "t=\(time),v1=\(expected)")
                try await Self.expectGenuine(signature, Self.text(request))
                #expect(Self.text(request).contains("\"catalogName\":\"movies\""))
            }
        }
        await receiver.stop()
    }

    /// Checks a signature by the function of docs/events.md, and that it rejects others.
    private static func expectGenuine(_ signature: String, _ body: String) async throws {
        let page = URL(filePath: #filePath).appending(path: "../../../../docs/events.md")
            .standardized
        let text = try String(contentsOf: page, encoding: .utf8)
        let function = try #require(text.firstMatch(of: /```python\n((?:.|\n)*?)```/)).output.1
        let script = """
            \(function)
            import sys
            secret, header, body = [word.encode() for word in sys.argv[1:4]]
            print(is_genuine(secret, header.decode(), body),
                  is_genuine(secret + b"x", header.decode(), body),
                  is_genuine(secret, header.decode(), body + b" "),
                  is_genuine(secret, header.decode(), body, seconds=-1))
            """
        let printed = try await ChildProcess.run(
            ["python3", "-c", script, Self.secret, signature, body])
        #expect(printed == "True False False False\n")
    }

    @Test func aFailedDeliveryIsRepeatedAndThenDead() async throws {
        let receiver = try WebhookReceiver(answers: [.text(500, ""), .text(404, "")])
        try await Fixture.with(configure: Self.configure) { fixture in
            _ = try await Self.add(fixture, receiver.url, kinds: ["catalog.open"])
            _ = try await fixture.client.openCatalog(
                CatalogSubmission(name: "one", storageURL: Fixture.storageURL))
            for status in [500, 404] {
                try await waitUntil(deadlineSeconds: 30, "the failure \(status)") {
                    try await Self.deliveries(fixture, .waiting).first?.status == status
                }
                // Its delay passes.
                _ = try await fixture.execute("UPDATE dray.webhook_delivery SET due_at = now()")
            }
            try await waitUntil(deadlineSeconds: 30, "the delivery") {
                try await Self.deliveries(fixture, .delivered).first?.attempts == 3
            }
            await receiver.stop()
            _ = try await fixture.client.openCatalog(
                CatalogSubmission(name: "two", storageURL: Fixture.storageURL))
            try await waitUntil(deadlineSeconds: 60, "the last failure") {
                _ = try await fixture.execute(
                    """
                    UPDATE dray.webhook_delivery SET due_at = now(),
                        attempts = greatest(attempts, \(Webhooks.maxAttempts - 2))
                    WHERE state = 'waiting' AND leased_until < now()
                    """)
                return try await Self.deliveries(fixture, .dead).count == 1
            }
            let dead = try #require(try await Self.deliveries(fixture, .dead).first)
            #expect(dead.failure?.code == .originConnect && dead.status == nil && dead.due == nil)
            let failed = try await fixture.client.webhooks().webhooks[0]
            #expect(failed.dead == 1 && failed.waitingSince == nil && !failed.isFailing)
            let last = try #require(failed.lastFailure)
            #expect(last.failure.code == .originConnect && last.status == nil)
            #expect(abs(last.time - Date().timeIntervalSince1970) < 60)
            let again = try await fixture.client.redeliver(dead.id)
            #expect(again.state == .waiting && again.attempts == 0)
            let unknown = try await code {
                try await fixture.client.redeliver(WebhookDeliveryID(99))
            }
            #expect(unknown == .inputNotFound)
        }
    }

    @Test func deliveriesAreListedByWebhookAndState() async throws {
        let receiver = try WebhookReceiver(answers: Array(repeating: .text(503, ""), count: 20))
        try await Fixture.with(configure: Self.configure) { fixture in
            let first = try await Self.add(fixture, receiver.url, kinds: ["catalog.open"])
            let second = try await Self.add(fixture, receiver.url, kinds: ["catalog.open"])
            _ = try await fixture.client.openCatalog(
                CatalogSubmission(name: "one", storageURL: Fixture.storageURL))
            func listed(
                _ webhook: WebhookID?, _ state: WebhookDelivery.State?
            ) async throws -> [WebhookDelivery] {
                try await fixture.client.webhookDeliveries(
                    webhook: webhook, state: state, limit: 10
                ).deliveries
            }
            try await waitUntil(deadlineSeconds: 30, "the failures") {
                try await listed(nil, .waiting).filter { $0.status == 503 }.count == 2
            }
            let own = try await listed(second.id, .waiting)
            #expect(own.map(\.webhook) == [second.id] && own.allSatisfy { $0.due != nil })
            #expect(try await listed(first.id, nil).map(\.webhook) == [first.id])
            #expect(try await listed(first.id, .dead).isEmpty)
            let status = try await fixture.client.webhooks().webhooks[0]
            #expect(status.isFailing && status.lastFailure?.status == 503)
            #expect(status.lastFailure?.failure.code == .originHTTP503)
            let unknown = try await fixture.send("GET", "/v1/webhook-deliveries?webhook=99")
            #expect(unknown.status == 404 && unknown.code == "input.notFound", "\(unknown)")
            let wrong = try await fixture.send("GET", "/v1/webhook-deliveries?webhook=x")
            #expect(wrong.status == 400 && wrong.code == "input.field")
        }
        await receiver.stop()
    }

    /// The header `Retry-After`, and the seconds until the next attempt.
    @Test(arguments: [
        (429, "3000", 2_900.0...3_600), (503, "date", 2_900...3_600),
        (503, "999999999", 3_500...3_600),
        (429, "soon", 0...10), (500, "300", 0...10),
    ])
    func theTimeForWhichAReceiverAsksIsKept(
        status: Int, value: String, seconds: ClosedRange<Double>
    ) async throws {
        let form = DateFormatter()
        form.locale = Locale(identifier: "en_US_POSIX")
        form.timeZone = TimeZone(identifier: "GMT")
        form.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let value = value == "date" ? form.string(from: Date() + 3_003) : value
        let receiver = try WebhookReceiver(answers: [
            HTTPResponse(status: status, headers: [("Retry-After", value)])
        ])
        try await Fixture.with(configure: Self.configure) { fixture in
            _ = try await Self.add(fixture, receiver.url, kinds: ["catalog.open"])
            _ = try await fixture.client.openCatalog(
                CatalogSubmission(name: "one", storageURL: Fixture.storageURL))
            func first() async throws -> WebhookDelivery? {
                try await fixture.client.webhookDeliveries(state: nil, limit: 1).deliveries.first
            }
            try await waitUntil(deadlineSeconds: 30, "the answer") {
                try await first()?.status != nil
            }
            // A short delay may be over, and the next attempt made.
            let due = try await first()?.due ?? Date().timeIntervalSince1970
            #expect(seconds.contains(max(due - Date().timeIntervalSince1970, 0)))
            let webhook = try await fixture.client.webhooks().webhooks[0]
            #expect((webhook.cooldownUntil != nil) == (seconds.lowerBound > 0))
        }
        await receiver.stop()
    }

    @Test func redirectsAreNotFollowed() async throws {
        let receiver = try WebhookReceiver(answers: [
            HTTPResponse(status: 302, headers: [("Location", "/elsewhere")])
        ])
        try await Fixture.with(configure: Self.configure) { fixture in
            _ = try await Self.add(fixture, receiver.url, kinds: ["catalog.open"])
            _ = try await fixture.client.openCatalog(
                CatalogSubmission(name: "one", storageURL: Fixture.storageURL))
            try await waitUntil(deadlineSeconds: 30, "the failure") {
                try await Self.deliveries(fixture, .waiting).first?.failure?.code
                    == .originRedirectRefused
            }
            #expect(receiver.requests.map(\.path) == ["/hook"])
        }
        await receiver.stop()
    }

    @Test func privateAddressesAreRefusedUnlessAllowed() async throws {
        let receiver = try WebhookReceiver()
        try await Fixture.with(configure: { configuration in
            Self.configure(&configuration)
            configuration.webhookAddresses = AddressPolicy(allowsPrivate: false)
        }) { fixture in
            let local = receiver.url.replacing("127.0.0.1", with: "localhost")
            for (url, refused) in [
                (receiver.url, FailureCode.originAddressDenied), (local, .originAddressDenied),
                ("http://[::1]:1/", .originAddressDenied),
                ("http://2130706433/", .originAddressDenied),
                ("http://169.254.169.254/x", .originAddressForbidden),
            ] {
                #expect(try await code { try await Self.add(fixture, url) } == refused, "\(url)")
            }
            // One that cannot be resolved, and a public one, are accepted.
            let webhook = try await Self.add(
                fixture, "https://hook.invalid/x", kinds: ["catalog.open"])
            _ = try await Self.add(fixture, "https://8.8.8.8/x", kinds: ["site.closed"])
            let change = try await fixture.send(
                "POST", "/v1/webhooks/\(webhook.id)/change", #"{"url":"\#(receiver.url)"}"#)
            #expect(change.status == 400 && change.code == "origin.addressDenied", "\(change)")
            #expect(change.body.contains("`dray coordinator`"), "\(change.body)")
            #expect(!change.body.contains("`dray worker`"), "\(change.body)")
            // As if its name led elsewhere now, or another coordinator had accepted it.
            _ = try await fixture.execute(
                "UPDATE webhook SET url = '\(receiver.url)' WHERE id = \(webhook.id)")
            _ = try await fixture.client.openCatalog(
                CatalogSubmission(name: "one", storageURL: Fixture.storageURL))
            try await waitUntil(deadlineSeconds: 30, "the rejection") {
                try await Self.deliveries(fixture, .waiting).first?.failure?.code
                    == .originAddressDenied
            }
            #expect(receiver.requests.isEmpty)
        }
        await receiver.stop()
    }

    /// Two coordinators send each event once.
    @Test func aDeliveryIsSentByOneCoordinator() async throws {
        let receiver = try WebhookReceiver()
        try await Fixture.with(configure: Self.configure) { one in
            let two = try await Fixture(
                one.server, databaseURL: one.databaseURL, configure: Self.configure)
            do {
                _ = try await Self.add(one, receiver.url, kinds: ["asset.ready"])
                try await one.submit((0..<100).map { "\($0)" })
                try await waitUntil(deadlineSeconds: 30, "the deliveries") {
                    try await Self.deliveries(one, .delivered).count == 100
                }
                let ids = receiver.requests.compactMap { $0.header("dray-delivery") }
                #expect(ids.count == 100 && Set(ids).count == 100)
            } catch {
                await two.close()
                throw error
            }
            await two.close()
        }
        await receiver.stop()
    }

    @Test func noAnswerHasTheSecret() async throws {
        try await Fixture.with(configure: Self.configure) { fixture in
            let body =
                #"{"url":"https://u:p@hook.example/x","secret":"\#(Self.secret)"}"#
            let refused = try await fixture.send("POST", "/v1/webhooks", body)
            #expect(refused.status == 400 && !refused.body.contains(Self.secret))
            let short = try await fixture.send(
                "POST", "/v1/webhooks", #"{"url":"https://hook.example/x","secret":"canary"}"#)
            #expect(short.status == 400 && !short.body.contains("canary"))
            let created = try await fixture.send(
                "POST", "/v1/webhooks",
                #"{"url":"https://hook.example/x?t=canary","secret":"\#(Self.secret)"}"#)
            #expect(created.status == 200 && !created.body.contains("canary"))
            for body in [
                "{}", #"{"url":"https://u:canary@hook.example/x"}"#, #"{"secret":"canary"}"#,
            ] {
                let refused = try await fixture.send("POST", "/v1/webhooks/1/change", body)
                #expect(refused.status == 400 && !refused.body.contains("canary"), "\(body)")
            }
            let changed = try await fixture.send(
                "POST", "/v1/webhooks/1/change",
                #"{"url":"https://other.example/x?t=canary","secret":"\#(Self.secret)"}"#)
            #expect(changed.status == 200 && !changed.body.contains("canary"))
            #expect(
                try await fixture.changes().first?.object
                    == "webhook 1, URL https://other.example/x?…, secret")
            for path in ["/v1/webhooks", "/v1/webhook-deliveries", "/v1/audit", "/v1/events"] {
                let answer = try await fixture.send("GET", path)
                #expect(answer.status == 200 && !answer.body.contains("canary"), "\(path)")
            }
            let removed = try await fixture.send("POST", "/v1/webhooks/1/remove", "{}")
            #expect(removed.status == 200 && !removed.body.contains("canary"))
            #expect(try await fixture.client.webhooks().webhooks.isEmpty)
        }
    }
}
