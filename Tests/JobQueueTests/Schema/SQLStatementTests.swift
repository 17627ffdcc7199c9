import API
import Foundation
import Model
import Postgres
import Testing

@testable import JobQueue

/// Every statement of the queue.
@Suite struct SQLStatementTests {
    typealias F = QueueFixture

    private static let subjects: [any SQLSubject.Type] = [
        SQL.Submitting.self, SQL.Catalogs.self, SQL.Starting.self, SQL.KeyConflicts.self,
        SQL.KnownFiles.self, SQL.Leasing.self, SQL.Reporting.self, SQL.Multipart.self,
        SQL.Resolving.self, SQL.Refreshing.self, SQL.ChecksumFiles.self, SQL.Origins.self,
        SQL.Mirrors.self, SQL.Quotas.self, SQL.Sites.self, SQL.Selecting.self, SQL.Workers.self,
        SQL.Daily.self, SQL.Status.self, SQL.LoadTests.self, SQL.Browsing.self, SQL.Figures.self,
        SQL.Housekeeping.self, SQL.Access.self, SQL.Events.self,
        SQL.Webhooks.self,
        SQL.Purging.self, SQL.Removing.self, SQL.Evicting.self, SQL.Rights.self,
        SQL.Neighbours.self, SQL.CacheAnswers.self, SQL.Sources.self, SQL.Audits.self,
        SQL.Recording.self, SQL.OptionalRenditions.self, SQL.Common.self, SQL.Schema.self,
    ]

    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../Sources/Cluster/JobQueue")

    /// Path and text of each file of the queue with this extension.
    private static func files(_ suffix: String) throws -> [(path: String, text: String)] {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
        return try paths.filter { $0.hasSuffix(".\(suffix)") }.map {
            ($0, try String(contentsOf: folder.appendingPathComponent($0), encoding: .utf8))
        }
    }

    static let all: [(subject: String, statement: SQLStatement)] = subjects.flatMap {
        cases(of: $0)
    }

    private static func cases<Subject: SQLSubject>(
        of subject: Subject.Type
    ) -> [(subject: String, statement: SQLStatement)] {
        subject.allCases.map { ("\(subject)", $0.statement) }
    }

    private static func names<Subject: SQLSubject>(of subject: Subject.Type) -> [String] {
        subject.allCases.map(\.rawValue)
    }

    /// Each event of rows' states is raised by a statement, and statements name no other. The changes
    /// that statements make are compared with these names after every test with a `QueueFixture`.
    @Test func eachEventOfAStateIsRaised() {
        let raised = Set(Self.all.flatMap(\.statement.raises))
        #expect(raised == Set(TransitionLog.events.keys))
    }

    @Test func eachSubjectIsTested() throws {
        let declared = try Self.files("swift").flatMap { file in
            file.text.matches(of: /enum (\w+): String, SQLSubject/).map { String($0.output.1) }
        }
        #expect(declared.sorted() == Self.subjects.map { "\($0)" }.sorted())
    }

    @Test func eachStatementOfAFileHasACase() {
        for subject in Self.subjects {
            #expect(subject.file.names.sorted() == Self.names(of: subject).sorted(), "\(subject)")
        }
    }

    /// PostgreSQL can plan each of them: no name is misspelled, and no type is wrong.
    @Test func eachStatementCanBePrepared() async throws {
        let listings = AssetQuery.Order.allCases.flatMap { order in
            [false, true].map { SQL.Browsing.assets(by: order, isDescending: $0) }
        }
        try await F.with { fixture in
            try await fixture.pool.withConnection { connection in
                // Tables of one session.
                for stage in [
                    SQL.Submitting.stageAssets.text, SQL.Resolving.stageSegments.text,
                    SQL.KnownFiles.stage.text,
                ] {
                    try await connection.simple(stage)
                }
                let all = Self.all + listings.map { ("Browsing", $0) }
                for (number, (subject, statement)) in all.enumerated() {
                    // What is no query is run by tests of migrations and submissions.
                    guard
                        !["CREATE", "COPY", "DO", "LOCK"].contains(where: {
                            statement.text.hasPrefix($0)
                        })
                    else {
                        #expect(statement.parameters.isEmpty)
                        continue
                    }
                    await #expect(throws: Never.self, "\(subject).\(statement.name)") {
                        try await connection.simple("PREPARE p\(number) AS \(statement.text)")
                    }
                }
            }
        }
    }

    /// The queue has no unused statements.
    @Test func eachStatementIsRun() throws {
        let files = try Self.files("swift").filter { !$0.path.hasSuffix("SQL+Statements.swift") }
        #expect(!files.isEmpty)
        let text = files.map { $0.text }.joined()
        // Housekeeping's are listed by their cases alone.
        let uses = Set(text.matches(of: /\.(\w+)\b/).map { String($0.output.1) })
        let named = Set(
            text.matches(of: /SQL\.(\w+)\.(\w+)/).map { "\($0.output.1).\($0.output.2)" })
        for (subject, statement) in Self.all {
            #expect(
                named.contains("\(subject).\(statement.name)")
                    || subject == "Housekeeping" && uses.contains(statement.name),
                "\(subject).\(statement.name)")
        }
    }
}
