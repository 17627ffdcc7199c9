import API
import Foundation
import TestSupport
import Testing

@testable import Coordinator

/// Every route is described, and the descriptions are those of the routes.
@Suite struct DescriptionTests {
    /// The document of a coordinator that is not started.
    static func routes() throws -> [Route] {
        try Coordinator(
            Coordinator.Configuration(
                databaseURL: "postgresql://nowhere.invalid/x", address: "127.0.0.1", port: 0,
                token: .test)
        ).api.routes
    }

    @Test func everyRouteHasADescriptionAndNothingElseHasOne() throws {
        let names = try Self.routes().map(\.name)
        #expect(Set(names) == Set(RouteDescription.all.keys))
        #expect(Set(names).count == names.count)
        for (name, description) in RouteDescription.all {
            #expect(description.summary.hasSuffix("."), "\(name)")
        }
    }

    @Test func everyMessageHasASchema() throws {
        let api = APIDescription(try Self.routes())
        #expect(api.problems.isEmpty)
        for route in try Self.routes() {
            for case .parameter(let name) in route.path.parts {
                #expect(RouteDescription.Parameter.ofPaths[name] != nil, "\(route.name)")
            }
            let description = try #require(RouteDescription.all[route.name])
            #expect((description.body == nil) == (route.method == .get), "\(route.name)")
        }
        // What depends on the value of another field is found as well.
        guard case .object(let fields) = api.components["Job"]?.kind else {
            Issue.record("no schema of a job")
            return
        }
        #expect(Set(fields.map(\.name)) == Set(JobField.layout.names))
        #expect(fields.filter(\.isRequired).map(\.name) == ["id", "asset", "attempt", "run"])
    }

    @Test func requestsAreClosedAndBounded() throws {
        let document = try Self.json(OpenAPIDocument(APIDescription(try Self.routes())).node)
        let catalog = try Self.component("CatalogSubmission", document)
        #expect(catalog["additionalProperties"] as? Bool == false)
        #expect(
            Set(try #require(catalog["required"] as? [String])) == [
                "name", "storageURL", "priority",
            ])
        let properties = try #require(catalog["properties"] as? [String: [String: Any]])
        #expect(properties["priority"]?["maximum"] as? Int == 9)
        #expect(properties["deadline"]?["type"] as? [String] == ["number", "null"])
        let answer = try Self.component("CatalogHandle", document)
        #expect(answer["additionalProperties"] == nil)
    }

    @Test func theDocumentIsServedWithoutAToken() async throws {
        try await Fixture.with { fixture in
            let answer = try await fixture.send(
                "GET", "/openapi.json", headers: ["Authorization": ""])
            #expect(answer.status == 200 && answer.headers["content-type"] == "application/json")
            let document = try #require(
                try JSONSerialization.jsonObject(with: Data(answer.body.utf8)) as? [String: Any])
            #expect(document["openapi"] as? String == "3.1.0")
            let paths = try #require(document["paths"] as? [String: [String: Any]])
            #expect(
                paths.values.reduce(0) { $0 + $1.count } == fixture.coordinator.api.routes.count)
            let open = try #require(paths["/healthz"]?["get"] as? [String: Any])
            #expect((open["security"] as? [Any])?.isEmpty == true)
            let limits = try #require(paths["/v1/origins/limits"]?["post"] as? [String: Any])
            #expect(limits["x-roles"] as? [String] == ["admin", "operator"])
            // Every reference leads somewhere.
            for reference in answer.body.matches(of: /"\$ref":"#\/([^"]+)"/) {
                var node: Any = document
                for part in reference.output.1.split(separator: "/") {
                    node = try #require((node as? [String: Any])?[String(part)])
                }
            }
        }
    }

    static func json(_ node: JSONNode) throws -> [String: Any] {
        try #require(
            try JSONSerialization.jsonObject(with: JSONEncoder().encode(node)) as? [String: Any])
    }

    static func component(_ name: String, _ document: [String: Any]) throws -> [String: Any] {
        let components = try #require(document["components"] as? [String: Any])
        let schemas = try #require(components["schemas"] as? [String: Any])
        return try #require(schemas[name] as? [String: Any])
    }
}
