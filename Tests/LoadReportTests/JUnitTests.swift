import Foundation
import FoundationXML
import LoadModel
import Testing

@testable import LoadReport

/// What CI systems read.
@Suite struct JUnitTests {
    private static func document(_ text: String) throws -> XMLElement {
        try #require(try XMLDocument(xmlString: text).rootElement())
    }

    private static func attribute(_ element: XMLElement, _ name: String) -> String? {
        element.attribute(forName: name)?.stringValue
    }

    @Test func eachThresholdIsACase() throws {
        let result = SampleResult.requests()
        let root = try Self.document(LoadJUnit.text(result))
        let suite = try #require(root.elements(forName: "testsuite").first)
        #expect(Self.attribute(suite, "name") == "evening & <night>")
        #expect(Self.attribute(suite, "tests") == "4" && Self.attribute(suite, "failures") == "2")
        #expect(Self.attribute(suite, "errors") == "0" && Self.attribute(suite, "time") == "55.000")
        let cases = suite.elements(forName: "testcase")
        #expect(
            cases.map { Self.attribute($0, "name") } == [
                "load test", "p99(first_byte) < 200ms", "error_rate < 1%", "rebuffer_ratio < 0.5%",
            ])
        let failures = cases.map { one in
            one.elements(forName: "failure").first.flatMap { Self.attribute($0, "message") }
        }
        #expect(failures == [nil, "measured 1.27 s", nil, "nothing was measured"])
    }

    @Test func aTestThatDidNotEndIsAnError() throws {
        for (result, message) in [
            (SampleResult.viewers(), "it was interrupted"),
            (SampleResult.nothing(), "it was interrupted"),
        ] {
            let root = try Self.document(LoadJUnit.text(result))
            let suite = try #require(root.elements(forName: "testsuite").first)
            #expect(Self.attribute(suite, "errors") == "1")
            let error = suite.elements(forName: "testcase").first?.elements(forName: "error").first
            #expect(error.flatMap { Self.attribute($0, "message") } == message)
        }
    }

    @Test func aScaleHasASuiteForEachStep() throws {
        let ladder = SampleResult.scale()
        let text = LoadJUnit.text(ladder.steps[3].result, ladder: ladder)
        let names = try Self.document(text).elements(forName: "testsuite").map {
            Self.attribute($0, "name")
        }
        #expect(names == [1, 2, 4, 8].map { "load test, \($0) workers" })
    }
}
