import API
import CoordinatorClient
import Foundation
import Model
import TestSupport
import Testing

@testable import Coordinator

/// What a coordinator answers is what its OpenAPI document describes.
@Suite struct AnswerSchemaTests {
    /// Requests of all kinds, with the path in the document.
    private static func requests(catalog: CatalogID, test: String) -> [(String, String, String?)] {
        [
            ("/v1/status", "/v1/status", nil), ("/v1/queues", "/v1/queues", nil),
            ("/v1/sites", "/v1/sites", nil), ("/v1/origins", "/v1/origins", nil),
            ("/v1/diagnosis", "/v1/diagnosis", nil), ("/v1/tokens", "/v1/tokens", nil),
            ("/v1/audit", "/v1/audit?limit=3", nil), ("/v1/cooldowns", "/v1/cooldowns", nil),
            ("/v1/workers/wanted", "/v1/workers/wanted?workerSegmentsPerSecond=5", nil),
            ("/v1/workers/history", "/v1/workers/history", nil),
            ("/v1/catalogs/{catalog}", "/v1/catalogs/\(catalog)", nil),
            ("/v1/catalogs/{catalog}/assets", "/v1/catalogs/\(catalog)/assets?limit=1", nil),
            ("/v1/catalogs/{catalog}/files", "/v1/catalogs/\(catalog)/files", nil),
            ("/v1/catalogs/{catalog}/refresh", "/v1/catalogs/\(catalog)/refresh", nil),
            ("/v1/assets", "/v1/assets?catalog=\(catalog)", nil),
            ("/v1/assets", "/v1/assets?catalog=999999", nil),
            ("/v1/checksums", "/v1/checksums?site=1&directory=x", nil),
            ("/v1/load-tests", "/v1/load-tests", nil),
            ("/v1/load-tests/{test}", "/v1/load-tests/\(test)", nil),
            (
                "/v1/catalogs", "/v1/catalogs",
                #"{"name":"b","storageURL":"file:///srv/edge","priority":5}"#
            ),
            ("/v1/catalogs", "/v1/catalogs", #"{"name":"b"}"#),
            ("/v1/tokens", "/v1/tokens", #"{"role":"reader"}"#),
            ("/v1/selections", "/v1/selections", #"{"action":"retry","catalog":{"id":1}}"#),
            ("/v1/sites/settings", "/v1/sites/settings", #"{"site":"srv-edge","floorBytes":1}"#),
            ("/v1/queues/{queue}/control", "/v1/queues/none/control", #"{"action":"pause"}"#),
            (
                "/v1/leases", "/v1/leases",
                #"{"worker":"\#(Fixture.worker)","maxJobs":5,"waitMilliseconds":0,"queues":[]}"#
            ),
            (
                "/v1/heartbeats", "/v1/heartbeats",
                #"{"worker":"\#(Fixture.worker)","leases":[],"progress":{},"name":"w","activeTransfers":0}"#
            ),
            ("/v1/origins/limits", "/v1/origins/limits", #"{"origin":null,"limits":null}"#),
        ]
    }

    @Test func answersFitTheirSchemas() async throws {
        try await Fixture.with { fixture in
            let document = try DescriptionTests.json(
                OpenAPIDocument(APIDescription(fixture.coordinator.api.routes)).node)
            let components = try #require(document["components"] as? [String: Any])
            let check = SchemaCheck(
                components: try #require(components["schemas"] as? [String: Any]))
            let paths = try #require(document["paths"] as? [String: [String: Any]])
            let catalog = try await fixture.submit(["a", "b"])
            let test = try await fixture.client.create(
                LoadTestSubmission(
                    id: .random(), name: "t", scenario: "{}", atLeast: 1, waitSeconds: 60,
                    durationSeconds: 60))
            for (path, target, body) in Self.requests(catalog: catalog, test: test.id.description) {
                let method = body == nil ? "GET" : "POST"
                let answer = try await fixture.send(method, target, body)
                let operation = try #require(
                    paths[path]?[method.lowercased()] as? [String: Any], "\(path)")
                let responses = try #require(operation["responses"] as? [String: [String: Any]])
                var response = try #require(
                    responses["\(answer.status)"], "\(method) \(target): \(answer)")
                if response["$ref"] != nil {
                    response = try #require(
                        (components["responses"] as? [String: [String: Any]])?["Problem"])
                }
                guard let content = response["content"] as? [String: [String: Any]] else {
                    #expect(answer.body.isEmpty, "\(method) \(target): \(answer)")
                    continue
                }
                let type = try #require(answer.headers["content-type"])
                let schema = try #require(
                    content[type]?["schema"] as? [String: Any], "\(target): \(type)")
                let value = try JSONSerialization.jsonObject(with: Data(answer.body.utf8))
                #expect(check.problems(value, schema) == [], "\(method) \(target)")
            }
        }
    }
}
