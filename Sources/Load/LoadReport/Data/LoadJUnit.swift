package import LoadModel
import Rendering
import Services
import Text

/// Writes the thresholds of a result as JUnit XML, which CI systems show as tests.
///
/// Each threshold is a test case; one that does not hold has a failure. One more case, `load test`,
/// has an error if the test did not run to its end. A scale has the cases of each step. A search has one
/// more, `search for the limit`: a failure if no load passed, an error if something else than the limit
/// or the maximum ended it.
///
/// Source: the schema of Jenkins's xUnit plugin, junit-10.xsd.
package enum LoadJUnit {
    package static func text(_ result: LoadResult, ladder: LoadLadder? = nil) -> String {
        let name = LoadFacts(result: result).name
        var suites = [suite(name, result)]
        if let ladder, ladder.kind == .scale {
            suites = ladder.steps.map { step in
                suite("\(name), \(Quantity.digits(step.level)) workers", step.result)
            }
        } else if let ladder {
            suites = [suite(name, result, search: ladder)]
        }
        return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n\(suites.joined())"
            + "</testsuites>\n"
    }

    private static func suite(
        _ name: String, _ result: LoadResult, search: LoadLadder? = nil
    ) -> String {
        let seconds = HumanFormat.fixed(max(result.measuredSeconds, 0), places: 3)
        let error = error(result)
        var cases = testCase(name, "load test", seconds, error.map { element("error", $0) })
        for verdict in result.verdicts {
            let measured =
                verdict.measured == nil
                ? "nothing was measured"
                : "measured " + LoadFormat.value(verdict.measured, of: verdict.threshold.figure)
            cases += testCase(
                name, LoadFacts.text(verdict.threshold), seconds,
                verdict.holds ? nil : element("failure", measured))
        }
        var (tests, failures, errors) = (
            result.verdicts.count + 1, result.broken.count, error == nil ? 0 : 1
        )
        if let search {
            let isFailure = search.isConclusive && search.highest == nil
            tests += 1
            failures += isFailure ? 1 : 0
            let isDone = search.isConclusive || search.passesMaximum
            errors += isDone ? 0 : 1
            let kind = isFailure ? "failure" : isDone ? nil : "error"
            cases += testCase(
                name, "search for the limit", seconds,
                kind.map { element($0, LoadFacts.search(search)) })
        }
        let timestamp = timestamp(ofSeconds: result.startedSeconds)
        return "<testsuite name=\"\(escaped(name))\" tests=\"\(tests)\" "
            + "failures=\"\(failures)\" errors=\"\(errors)\" "
            + "skipped=\"0\" time=\"\(seconds)\" timestamp=\"\(timestamp)\">\n\(cases)"
            + "</testsuite>\n"
    }

    /// Returns the reason why a test did not run to its end.
    private static func error(_ result: LoadResult) -> String? {
        if result.ending == .interrupted { return "it was interrupted" }
        if !result.isWhole { return "a worker was lost or failed" }
        return result.total.counts.requests.ended == 0
            ? "no request ended in the measured time" : nil
    }

    private static func testCase(
        _ suite: String, _ name: String, _ seconds: String, _ content: String?
    ) -> String {
        let start =
            "<testcase classname=\"dray.loadtest.\(escaped(suite))\" name=\"\(escaped(name))\" "
            + "time=\"\(seconds)\""
        return content.map { "\(start)>\($0)</testcase>\n" } ?? "\(start)/>\n"
    }

    private static func element(_ name: String, _ message: String) -> String {
        "<\(name) message=\"\(escaped(message))\"/>"
    }

    private static func escaped(_ text: String) -> String { HTMLText.escaped(printable(text)) }
}
