import Foundation
import Model
import TestSupport
import Testing
import Transfer

/// Compares `docs/states.md` and `docs/failures.md` with the tables they are made from.
///
/// With `DRAY_WRITE_DOCS=1` in the environment the pages are written instead; `scripts/generate-docs`
/// does that.
@Suite struct GeneratedDocsTests {
    @Test func statesPageIsCurrent() throws {
        var page = """
            # States

            Made from `Sources/Base/Model/States/AssetState.swift`, `Sources/Base/Model/States/CatalogState.swift`,
            `Sources/Content/Transfer/Engine/TransferState.swift`, `Sources/Base/Model/States/LoadTestState.swift` and
            `Sources/Base/Model/States/LoadShardState.swift` by `scripts/generate-docs`; change those, then run it.

            The asset, the catalog, the load test and its shards are the coordinator's record, kept in
            PostgreSQL: what the cluster knows. A segment has no state of its own: it is done or failed by
            its result, and outstanding while it has a job, which a lease may hold. The transfer is what
            one attempt of a worker is doing, and lives in that worker alone. A state changes as these
            tables list, and in no other way; tests of the running system see each change that is listed.


            """
        page += try section(AssetState.machine, "AssetState", "AssetEvent") + "\n"
        page += try section(CatalogState.machine, "CatalogState", "CatalogEvent") + "\n"
        page +=
            try section(
                TransferState.machine, "TransferState", "TransferEvent",
                in: "Content/Transfer/Engine") + "\n"
        page += try section(LoadTestState.machine, "LoadTestState", "LoadTestEvent") + "\n"
        page += try section(LoadShardState.machine, "LoadShardState", "LoadShardEvent")
        try check("docs/states.md", page)
    }

    /// Phrases instead of the field's terms do not return; `docs/glossary.md` has Dray's own words.
    @Test(arguments: [
        " goes on", "Goes on", " gone on", " go on with", "not to be had", " is told", " are told",
        " comes to", "passed over", "left alone",
    ])
    func sourcesAndPagesUseTheFieldsWords(phrase: String) throws {
        let pages = try FileManager.default.contentsOfDirectory(
            at: SourceTree.root.appending(path: "docs"), includingPropertiesForKeys: nil
        ).filter { $0.pathExtension == "md" }
        let sources = try SourceTree.files(withExtensions: ["swift", "sql"])
        #expect(!pages.isEmpty && !sources.isEmpty)
        for file in sources + pages + [SourceTree.root.appending(path: "README.md")] {
            let text = try String(contentsOf: file, encoding: .utf8)
            if text.contains(phrase) { Issue.record("\(file.lastPathComponent)") }
        }
    }

    @Test func failuresPageIsCurrent() throws {
        let page = """
            # Failure codes

            Made from `Sources/Base/Model/Failures/FailureCode+Table.swift` by `scripts/generate-docs`; change that,
            then run it.

            Every failure, in a message, an API answer, a log or a report, carries one of these codes.
            Numbers and names are stable and are never used again for something else. "By itself" says
            what Dray does about it: an attempt that may succeed later is repeated with growing pauses, as
            often as the table says in all; a mirror is requested if the list has one; the manifest is read
            again for a fresh URL if that of a title's segment is signed. `dray report` shows
            [what this saves](reports.md#recovery).


            """
        try check(
            "docs/failures.md", page + FailureCode.markdown() + ManifestRule.markdown())
    }

    private func section<State, Event>(
        _ machine: StateMachine<State, Event>, _ states: String, _ events: String,
        in target: String = "Base/Model/States"
    ) throws -> String {
        let path = "Sources/\(target)/\(states).swift"
        let meanings = try SourceTree.caseComments(of: states, in: path).mapValues { comment in
            let claim = comment.firstRange(of: "Can move to ")?.lowerBound ?? comment.endIndex
            return comment[..<claim].trimmingCharacters(in: .whitespaces)
        }
        let events = try SourceTree.caseComments(of: events, in: path)
        #expect(
            !meanings.values.contains("") && !events.values.contains(""), "a case without a doc")
        return machine.markdown(meanings: (meanings, events))
    }

    private func check(_ path: String, _ expected: String) throws {
        let file = SourceTree.root.appending(path: path)
        if ProcessInfo.processInfo.environment["DRAY_WRITE_DOCS"] == "1" {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(expected.utf8).write(to: file)
        }
        let actual = try? String(contentsOf: file, encoding: .utf8)
        #expect(actual == expected, "\(path) is out of date: run scripts/generate-docs")
    }
}
