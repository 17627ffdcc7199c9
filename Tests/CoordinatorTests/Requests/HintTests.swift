import API
import CoordinatorClient
import Foundation
import Model
import TestSupport
import Testing

@testable import Coordinator

/// What answers say about a next step.
@Suite struct HintTests {
    private static func hint(_ answer: Wire.Answer) throws -> String {
        let root = try JSONSerialization.jsonObject(with: Data(answer.body.utf8))
        return try #require((root as? [String: Any])?["hint"] as? String)
    }

    @Test func whatIsUnknownIsListedByACommand() async throws {
        try await Fixture.with { fixture in
            let catalog = try await fixture.submit(["a"])
            let test = LoadTestID.random()
            for (target, body, command) in [
                ("/v1/tokens/9/revoke", "{}", "`dray token list`"),
                ("/v1/tokens/nobody/revoke", "{}", "`dray token list`"),
                ("/v1/webhooks/9/remove", "{}", "`dray webhook list`"),
                (
                    "/v1/webhooks/9/change", #"{"url":"https://hook.example/x"}"#,
                    "`dray webhook list`"
                ),
                ("/v1/webhook-deliveries/9/redeliver", "{}", "`dray webhook deliveries`"),
                ("/v1/catalogs/9/interrupt", "{}", "`dray catalog list`"),
                (
                    "/v1/selections", #"{"action":"retry","catalog":{"name":"nowhere"}}"#,
                    "`dray catalog list`"
                ),
                (
                    "/v1/selections",
                    #"{"action":"retry","catalog":{"id":\#(catalog)},"asset":"none"}"#,
                    "`dray assets list \(catalog)`"
                ),
                ("/v1/queues/none/control", #"{"action":"pause"}"#, "`dray queue`"),
                ("/v1/sites/settings", #"{"site":"none","quotaBytes":5}"#, "`dray site list`"),
                (
                    "/v1/origins/limits", #"{"origin":"http://none.test","limits":null}"#,
                    "`dray origins`"
                ),
                ("/v1/load-tests/\(test)/stop", "{}", "GET /v1/load-tests"),
                ("/v1/none", "{}", "GET /openapi.json"),
            ] {
                let answer = try await fixture.send("POST", target, body)
                #expect(
                    answer.status == 404 && answer.code == "input.notFound", "\(target): \(answer)")
                #expect(try Self.hint(answer).contains(command), "\(target): \(answer.body)")
            }
            // Clients show it as it came.
            do {
                _ = try await fixture.client.revokeToken("nobody")
                Issue.record("a token that is not there was revoked")
            } catch let error as Failure {
                #expect(error.hint.contains("`dray token list`"), "\(error.hint)")
            }
        }
    }

    @Test func aNameInUseIsNoAssets() async throws {
        try await Fixture.with { fixture in
            _ = try await fixture.token(.reader, name: "a")
            let answer = try await fixture.send(
                "POST", "/v1/tokens", #"{"role":"reader","name":"a"}"#)
            #expect(answer.status == 409 && answer.code == "input.nameInUse", "\(answer)")
            let hint = try Self.hint(answer)
            #expect(hint.contains("dray token revoke") && !hint.contains("asset"), "\(hint)")
        }
    }

    /// Only administrators make tokens: the hint says who helps, and what the present token may do.
    @Test func aRejectionNamesWhoHelps() async throws {
        try await Fixture.with { fixture in
            let reader = try await fixture.token(.reader)
            for (target, role) in [
                ("/v1/webhooks", "operator"), ("/v1/tokens", "admin"), ("/v1/cooldowns", "worker"),
            ] {
                let answer = try await fixture.send("GET", target, by: reader)
                #expect(answer.status == 403 && answer.code == "cluster.forbidden")
                let hint = try Self.hint(answer)
                #expect(
                    hint.hasPrefix("Ask an administrator for a token of the role \(role) "),
                    "\(hint)")
                #expect(hint.contains("allows reading"), "\(hint)")
            }
            let bound = try await fixture.token(.submitter, sites: [Fixture.storageURL])
            let outside = try await fixture.send(
                "POST", "/v1/catalogs", #"{"name":"a","storageURL":"file:///b","priority":5}"#,
                by: bound)
            #expect(outside.code == "cluster.outOfScope")
            #expect(outside.body.contains("is bound to file:///srv/edge"), "\(outside.body)")
            #expect(
                try Self.hint(outside).contains("Ask an administrator")
                    && Self.hint(outside).contains("--role submitter --site"))
        }
    }
}
