import Foundation
import Testing

@testable import Coordinator

/// Compares `docs/api.md` with the table of routes; with `DRAY_WRITE_DOCS=1` in the environment it is
/// written instead, as `scripts/generate-docs` does.
@Suite struct GeneratedDocsTests {
    @Test func apiPageIsCurrent() throws {
        let expected = APIPage(try DescriptionTests.routes()).text
        let file = URL(filePath: #filePath).appending(path: "../../../../docs/api.md").standardized
        if ProcessInfo.processInfo.environment["DRAY_WRITE_DOCS"] == "1" {
            try Data(expected.utf8).write(to: file)
        }
        let actual = try? String(contentsOf: file, encoding: .utf8)
        #expect(actual == expected, "docs/api.md is out of date: run scripts/generate-docs")
    }
}
