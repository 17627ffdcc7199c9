import Foundation
import Model
import Testing

@testable import LoadModel

/// The reader, the schema and the page of a scenario agree.
@Suite struct LoadSchemaTests {
    private typealias Node = [String: Any]

    /// A field that the schema has, with what leads to it.
    private struct Field {
        var path: [String]
        var node: Node
    }

    private static func text(_ name: String) throws -> String {
        let docs = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "docs/\(name)")
        return try String(contentsOf: docs, encoding: .utf8)
    }

    private static func schema() throws -> Node {
        let json = try JSONSerialization.jsonObject(
            with: Data(try text("load-scenario.schema.json").utf8))
        return try #require(json as? Node)
    }

    private static func resolved(_ node: Node, _ root: Node) -> Node {
        guard let name = (node["$ref"] as? String)?.split(separator: "/").last,
            let named = (root["$defs"] as? Node)?[String(name)] as? Node
        else { return node }
        return node.merging(named) { own, _ in own }
    }

    /// Every object of the schema with what leads to it, `[]` for an array's element.
    private static func objects(
        _ node: Node, _ root: Node, at path: [String] = []
    ) -> [Field] {
        let node = resolved(node, root)
        var found: [Field] = []
        if let properties = node["properties"] as? [String: Node] {
            found.append(Field(path: path, node: node))
            for (name, property) in properties {
                found += objects(property, root, at: path + [name])
            }
        }
        if let items = node["items"] as? Node { found += objects(items, root, at: path + ["[]"]) }
        for choice in node["oneOf"] as? [Node] ?? [] where node["properties"] == nil {
            found += objects(choice, root, at: path)
        }
        return found
    }

    /// A document in which a value, written as JSON, stands at a path.
    private static func document(_ value: String, at path: [String]) -> Data {
        let text = path.reversed().reduce(value) { inner, step in
            step == "[]" ? "[\(inner)]" : "{\"\(step)\": \(inner)}"
        }
        return Data(text.utf8)
    }

    private static func message(_ value: String, at path: [String]) -> String? {
        do throws(Failure) {
            _ = try LoadScenarioReader.read(Array(document(value, at: path)))
            return nil
        } catch {
            return error.message
        }
    }

    @Test func everyObjectHasTheSameFieldsForBoth() throws {
        let root = try Self.schema()
        let objects = Self.objects(root, root)
        #expect(objects.count == 11)
        for object in objects {
            let message = try #require(Self.message("{\"zzzzzzzz\": 1}", at: object.path))
            let known = try #require(message.split(separator: "allowed ").last)
            let properties = try #require(object.node["properties"] as? Node)
            #expect(
                Set(known.split(separator: ", ").map(String.init)) == Set(properties.keys),
                "\(object.path)")
            #expect(object.node["additionalProperties"] as? Bool == false)
        }
    }

    @Test func everyNumberHasTheSameBoundsForBoth() throws {
        let root = try Self.schema()
        var count = 0
        for object in Self.objects(root, root) {
            for (name, property) in object.node["properties"] as? [String: Node] ?? [:] {
                let node = Self.resolved(property, root)
                guard let kind = node["type"] as? String, kind == "number" || kind == "integer"
                else { continue }
                let least = try #require((node["minimum"] as? NSNumber)?.doubleValue)
                let most = try #require((node["maximum"] as? NSNumber)?.doubleValue)
                let path = object.path + [name]
                let field = path.joined(separator: ".").replacing(".[]", with: "[0]") + ": given"
                func number(_ value: Double) -> String {
                    kind == "integer" ? "\(Int64(value))" : "\(value)"
                }
                for value in [least, most] {
                    let message = Self.message(number(value), at: path)
                    #expect(message?.contains(field) != true, "\(message ?? "")")
                }
                let below = kind == "integer" ? least - 1 : least * 0.5 - 1e-9
                for value in [least - 1, below, most * 1.001 + 1] {
                    let message = Self.message(number(value), at: path)
                    #expect(message?.contains(field) == true, "\(path) \(value): \(message ?? "")")
                }
                count += 1
            }
        }
        #expect(count > 20)
    }

    @Test func everyChoiceIsReadAndNoOther() throws {
        let root = try Self.schema()
        var count = 0
        for object in Self.objects(root, root) {
            for (name, property) in object.node["properties"] as? [String: Node] ?? [:] {
                guard let choices = Self.resolved(property, root)["enum"] as? [String] else {
                    continue
                }
                let path = object.path + [name]
                let message = try #require(Self.message("\"zzz\"", at: path))
                #expect(
                    message.hasSuffix("allowed " + choices.joined(separator: ", ")), "\(message)")
                count += 1
            }
        }
        #expect(count == 4)
    }

    @Test func thePageNamesEveryFieldAndEveryMetric() throws {
        let root = try Self.schema()
        let page = try Self.text("load-scenarios.md")
        for object in Self.objects(root, root) {
            for name in (object.node["properties"] as? Node ?? [:]).keys {
                #expect(page.contains("`\(name)`") || page.contains("\"\(name)\""), "\(name)")
            }
        }
        for metric in LoadMetric.allCases { #expect(page.contains("`\(metric.name)`")) }
    }

    /// What the page shows can be used.
    @Test func thePagesExampleIsAScenario() throws {
        let page = try Self.text("load-scenarios.md")
        let parts = page.components(separatedBy: "```")
        let example = try #require(parts.first { $0.hasPrefix("json\n") }).dropFirst(5)
        try LoadScenarioReader.read(Array(example.utf8)).check()
    }
}
