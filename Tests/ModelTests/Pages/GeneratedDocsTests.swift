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

            Made from the tables in `Sources/Base/Model/States` and
            `Sources/Content/Transfer/Engine/TransferState.swift` by `scripts/generate-docs`; change those, then run
            it.

            Coordinators keep these states in PostgreSQL, except for a transfer's. A segment has no state of its own:
            it is done or failed by its result, and outstanding while it has a job, which a lease may hold. A transfer
            is one attempt of a worker, and exists in that worker alone. A state changes only as these tables list;
            tests of the running system see each change that is listed.


            """
        page += try [
            section(AssetState.machine, "AssetState", "AssetEvent"),
            section(CatalogState.machine, "CatalogState", "CatalogEvent"),
            section(
                TransferState.machine, "TransferState", "TransferEvent",
                in: "Content/Transfer/Engine"),
            section(QueueState.machine, "QueueState", "QueueEvent"),
            section(OriginBreaker.machine, "OriginBreaker", "OriginBreakerEvent"),
            section(ChecksumFileState.machine, "ChecksumFileState", "ChecksumFileEvent"),
            section(SiteAuditState.machine, "SiteAuditState", "SiteAuditEvent"),
            section(
                WebhookDeliveryState.machine, "WebhookDeliveryState", "WebhookDeliveryEvent"),
            section(LoadTestState.machine, "LoadTestState", "LoadTestEvent"),
            section(LoadShardState.machine, "LoadShardState", "LoadShardEvent"),
        ].joined(separator: "\n")
        try check("docs/states.md", page)
    }

    /// Phrases instead of the field's terms do not return; `docs/glossary.md` has Dray's own words.
    @Test(arguments: [
        " goes on", "Goes on", " gone on", " go on with", "not to be had", " is told", " are told",
        " comes to", "passed over", "left alone", "refusal", "Refusal", "trouble", "Trouble",
        "obstacle",
        "sighting", "LoadTestNews", "Meant is", "/// Of ", "-- Of ",
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
            Numbers and names are stable and are never used again for something else. "Automatic
            action" is what Dray does about it. An attempt that may succeed later is repeated with growing pauses; the
            table has the number of attempts. If the list has a mirror, Dray requests it. If the URL of a
            title's segment is signed, Dray reads the manifest again for a fresh URL. If the title may lack
            [renditions](catalogs.md#renditions-that-a-title-may-lack), Dray leaves out those that list the
            file. `dray report` shows [what this saves](reports.md#recovery).


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
