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

    /// A green file must not hide that the limit was not found.
    @Test func aSearchHasACaseForItsResult() throws {
        func result(_ ladder: LoadLadder) throws -> (
            counts: [String?], kind: String?, says: String?
        ) {
            let text = LoadJUnit.text(ladder.steps[0].result, ladder: ladder)
            let suite = try #require(
                try Self.document(text).elements(forName: "testsuite").first)
            let last = try #require(suite.elements(forName: "testcase").last)
            #expect(Self.attribute(last, "name") == "search for the limit")
            let content = last.children?.compactMap { $0 as? XMLElement }.first
            return (
                ["tests", "failures", "errors"].map { Self.attribute(suite, $0) }, content?.name,
                content.flatMap { Self.attribute($0, "message") }
            )
        }
        var ladder = SampleResult.search()
        var found = try result(ladder)
        #expect(found.counts == ["3", "0", "0"] && found.kind == nil)
        ladder.steps[2].limit = .missedSends
        found = try result(ladder)
        #expect(found.counts == ["3", "0", "1"] && found.kind == "error")
        #expect(found.says?.contains("the limit was not found") == true)
        (ladder.lowestBroken, ladder.cap) = (nil, .seconds)
        #expect(try result(ladder).kind == "error")
        // All of it passed, which is what a pipeline asks for.
        ladder.cap = nil
        #expect(try result(ladder).kind == nil && !ladder.isConclusive)
        ladder.steps[2].limit = .threshold
        (ladder.highest, ladder.lowestBroken, ladder.cap) = (nil, 300, nil)
        found = try result(ladder)
        #expect(found.counts == ["3", "1", "0"] && found.kind == "failure")
        #expect(found.says == "No load passed all thresholds; 300/s is too much.")
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
