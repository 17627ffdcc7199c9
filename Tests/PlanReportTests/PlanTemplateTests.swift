import Foundation
import Testing

@testable import PlanReport

@Suite struct PlanTemplateTests {
    private static func filled(
        _ template: String, _ values: [String: String]
    ) throws(PlanTemplate.Malformed) -> String {
        try PlanTemplate(Array(template.utf8)).filled(values)
    }

    @Test func valuesReplaceTheNamedTexts() throws {
        let template = """
            ## replicas: 9  # plan: ignored=9
            # Dray: 2 workers.  # plan: name=Dray; workers=2
            url: "http://dray:7400/?n=2&m=21"  # plan: workers=2; m=21

            plain: 2
            """
        let text = try Self.filled(template, ["name": "a  # plan: b=c", "workers": "10", "m": "7"])
        #expect(
            text == """
                # a  # plan: b=c: 10 workers.
                url: "http://dray:7400/?n=10&m=7"

                plain: 2

                """)
    }

    @Test(arguments: [
        ("8", "a = 8      # why\n"), ("100", "a = 100    # why\n"),
        ("1234567", "a = 1234567 # why\n"),
    ])
    func aColumnKeepsItsPosition(value: String, line: String) throws {
        #expect(try Self.filled("a = 10     # why  # plan: a=10\n", ["a": value]) == line)
    }

    @Test(arguments: [
        ("x: 1  # plan: a", PlanTemplate.Malformed.entry("a")),
        ("x: 1  # plan: a=2", .ambiguous(name: "a", line: "x: 1")),
        ("x: 1 1  # plan: a=1", .ambiguous(name: "a", line: "x: 1 1")),
        ("x: 11  # plan: a=1", .ambiguous(name: "a", line: "x: 11")),
        ("x: 1/s  # plan: a=1/s; b=1", .ambiguous(name: "b", line: "x: 1/s")),
        ("x: 1  # plan: b=1", .values(["a", "b"])),
    ])
    func malformedTemplates(template: String, error: PlanTemplate.Malformed) {
        #expect(throws: error) { try Self.filled(template, ["a": "3"]) }
    }

    /// Each template is a file of `deploy/`, and its head documents every value.
    @Test(arguments: [
        (PlanManifests.compose, "compose/plan.yml"), (.kubernetes, "kubernetes/dray.yaml"),
        (.keda, "kubernetes/keda.yaml"), (.postgresql, "postgresql/postgresql.conf"),
    ])
    func templatesAreDocumentedFilesOfDeploy(kind: PlanManifests, path: String) throws {
        let data = try Data(contentsOf: URL(filePath: "deploy/\(path)"))
        #expect(Array(data) == kind.template)
        let documented = String(decoding: data, as: UTF8.self).split(separator: "\n")
            .filter { $0.hasPrefix("##   ") }
            .compactMap { $0.dropFirst(5).split(separator: " ").first.map(String.init) }
            .filter { $0.allSatisfy { $0.isLetter } && !["cp", "kubectl"].contains($0) }
        #expect(Set(documented) == (try PlanTemplate(kind.template)).names)
    }
}
