import Foundation
import Model
import TestSupport
import Testing

@Suite struct FailureCodeTests {
    @Test func numbersAndNamesAreUnique() {
        let table = FailureCode.table
        #expect(Set(table.map(\.number)).count == table.count)
        #expect(Set(table.map(\.code)).count == table.count)
        #expect(table.map(\.number) == table.map(\.number).sorted())
    }

    @Test func everyRowIsWhole() throws {
        let form = /[a-z]+(\.[a-zA-Z0-9]+)+/
        for row in FailureCode.table {
            #expect(row.code.rawValue.wholeMatch(of: form) != nil, "\(row.code)")
            #expect(!row.hint.isEmpty && row.hint.hasSuffix("."), "\(row.code)")
            #expect((100...999).contains(row.number))
            #expect(row.code.row.number == row.number)
            if case .attempts(let count) = row.retry { #expect((2...10).contains(count)) }
        }
    }

    @Test func numbersFollowTheFamilies() {
        let hundreds = [
            "input": 1, "origin": 2, "content": 3, "integrity": 3, "manifest": 4, "storage": 5,
            "worker": 6, "cluster": 7, "rights": 1,
        ]
        for row in FailureCode.table {
            let family = String(row.code.rawValue.prefix { $0 != "." })
            #expect(hundreds[family] == row.number / 100, "\(row.code)")
        }
    }

    /// They are placeholders, which the table fills: an unknown one cannot be parsed.
    @Test func noCodeInSQLIsALiteral() throws {
        let literal =
            /'(input|origin|content|integrity|manifest|storage|worker|cluster|internal|rights)\.([a-zA-Z0-9.]+)'/
        let files = try SourceTree.files(withExtensions: ["sql"])
        #expect(!files.isEmpty)
        for file in files {
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(of: literal) {
                Issue.record("\(match.output.0) in \(file.lastPathComponent)")
            }
        }
    }

    @Test func everyNameHasARow() throws {
        let name = /static let \w+ = FailureCode\("(.+)"\)/
        let files = try SourceTree.files(withExtensions: ["swift"])
        let file = try #require(files.first { $0.lastPathComponent == "FailureCode+Names.swift" })
        let names = try String(contentsOf: file, encoding: .utf8).matches(of: name)
        let rows = FailureCode.table.map(\.code.rawValue) + ["internal.unknown"]
        #expect(names.map { String($0.1) } == rows)
    }

    @Test func noSourceSpellsACodeOut() throws {
        let codes = Set(FailureCode.table.map { Substring($0.code.rawValue) })
        for file in try SourceTree.files(withExtensions: ["swift"])
        where file.lastPathComponent != "FailureCode+Names.swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            let pieces = text.split(separator: "\"", omittingEmptySubsequences: false)
            for (before, piece) in zip(pieces, pieces.dropFirst()) {
                // Only the status of an answer becomes part of a code.
                let isMade =
                    before.hasSuffix("FailureCode(") && !piece.hasPrefix(#"origin.http.\("#)
                if codes.contains(piece) || isMade {
                    Issue.record("\"\(piece)\" in \(file.lastPathComponent)")
                }
            }
        }
    }

    @Test func anUnknownCodeIsRetriedAndKeepsItsName() {
        let code = FailureCode("future.code")
        #expect(code.rawValue == "future.code")
        #expect(code.row.code == "internal.unknown")
        #expect(code.row.isRetryable)
    }

    @Test(arguments: [
        (404, "origin.http.404"), (429, "origin.http.429"), (418, "origin.http.4xx"),
        (507, "origin.http.5xx"), (503, "origin.http.503"),
    ])
    func aStatusHasACode(status: Int, code: String) {
        #expect(FailureCode.origin(httpStatus: status).rawValue == code)
    }

    @Test func aMessageIsBounded() {
        let failure = Failure("input.url", String(repeating: "x", count: 10_000))
        #expect(failure.message.count == 500)
    }

    @Test func codesAndIdentifiersAreBareOnTheWire() throws {
        struct Sample: Codable, Equatable {
            var id: AssetID
            var failure: Failure
        }
        let sample = Sample(id: AssetID(7), failure: Failure("origin.dns", "no such host"))
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let text = String(decoding: try encoder.encode(sample), as: UTF8.self)
        #expect(text == #"{"failure":{"code":"origin.dns","message":"no such host"},"id":7}"#)
        #expect(try JSONDecoder().decode(Sample.self, from: Data(text.utf8)) == sample)
    }
}
