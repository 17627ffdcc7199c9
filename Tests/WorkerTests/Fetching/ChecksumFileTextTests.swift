import API
import Model
import TestSupport
import Testing

@testable import Worker

@Suite struct ChecksumFileTextTests {
    private let digest = String(repeating: "a", count: 64)

    private func entry(_ key: String) -> ChecksumPage.Entry {
        ChecksumPage.Entry(key: key, sha256: digest)
    }

    private func text(_ directory: String, _ keys: [String]) -> String {
        let text = ChecksumFileText(directory: directory, entries: keys.map(entry))
        return text.map { String(decoding: $0, as: UTF8.self) }.joined()
    }

    @Test(arguments: [
        ("host/a", "host/a/f", "f"),
        ("host/a", "host/a/b/f", "b/f"),
        ("host/a", "host/f", "../f"),
        ("host/a", "other/x/f", "../../other/x/f"),
        ("host/a", "host/ab/f", "../ab/f"),
        ("", "f", "f"),
        ("", "host/f", "host/f"),
        // A title's own folder may bear the name of a file elsewhere.
        ("host/f", "host/f", "../f"),
    ])
    func namesAreRelativeToTheDirectory(directory: String, key: String, name: String) {
        #expect(text(directory, [key]) == "\(digest)  \(name)\n")
    }

    @Test func aBackslashIsEscapedAsCoreutilsReadsIt() {
        #expect(text("h", ["h/a\\b"]) == "\\\(digest)  a\\\\b\n")
    }

    @Test func theListGivesWayToAnObjectOfItsName() {
        func key(_ keys: String...) -> String {
            ChecksumFileText(directory: "h/a", entries: keys.map(entry)).key
        }
        #expect(key("h/a/f") == "h/a/SHA256SUMS")
        #expect(key("h/a/b/SHA256SUMS") == "h/a/SHA256SUMS")
        #expect(key("h/a/f", "h/a/SHA256SUMS") == "h/a/SHA256SUMS.dray")
        #expect(
            key("h/a/SHA256SUMS", "h/a/SHA256SUMS.dray") == "h/a/SHA256SUMS.dray.dray")
        #expect(ChecksumFileText(directory: "", entries: [entry("f")]).key == "SHA256SUMS")
    }

    @Test func aLongListComesInBoundedChunks() {
        let keys = (0..<3_000).map { "h/\($0)" }
        let text = ChecksumFileText(directory: "h", entries: keys.map(entry))
        let chunks = Array(text)
        #expect(chunks.count > 2)
        #expect(chunks.allSatisfy { $0.count < 72 << 10 })
        let lines = chunks.reduce([], +).split(separator: UInt8(ascii: "\n"))
        #expect(lines.count == 3_000)
    }

    @Test func coreutilsReadsIt() async throws {
        let directory = try TemporaryDirectory("checksums")
        let names = ["plain", "with space", "back\\slash", "-dash", "sub/é", "*star"]
        var entries: [ChecksumPage.Entry] = []
        for name in names {
            try directory.write(name, to: "h/\(name)")
            let sum = try await ChildProcess.run(["sha256sum", directory.path("h/\(name)")])
            // An escaped name has a backslash before the digest.
            let hex = String(sum.drop { $0 == "\\" }.prefix(64))
            entries.append(ChecksumPage.Entry(key: "h/\(name)", sha256: hex))
        }
        let text = ChecksumFileText(directory: "h", entries: entries)
        try directory.write(text.flatMap { $0 }, to: text.key)
        let checked = try await ChildProcess.run([
            "sh", "-c", "cd \(directory.path("h")) && sha256sum -c --strict SHA256SUMS",
        ])
        #expect(checked.split(separator: "\n").count == names.count)
    }
}
