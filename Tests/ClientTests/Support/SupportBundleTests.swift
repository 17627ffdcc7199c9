import Foundation
import TestSupport
import Testing

@testable import Client

/// A support bundle and what it hides.
@Suite struct SupportBundleTests {
    @Test(arguments: [
        ("GET https://u:pw@h/a?sig=1 failed", "GET https://…@h/a?… failed"),
        ("the token 0123456789abcdef in a text", "the token … in a text"),
        ("Authorization: Bearer abc.def next", "Authorization: …"),
        ("\"Authorization\":\"Bearer abc\"", "\"Authorization\":… …"),
        ("cookie: a=1; b=2", "cookie: …"), ("X-Api-Key:\tabc def", "X-Api-Key: …"),
        ("api_key=abc", "api_key=…"), ("with Bearer abc next", "with Bearer … next"),
        ("host=h password='x' user=u", "host=h password=… user=u"),
        ("{\"apiToken\":\"x\"}", "{\"apiToken\":…"), ("key a/b.ts?sig=x.", "key a/b.ts?…"),
        ("is it a coordinator?", "is it a coordinator?"), ("a=1\nb", "a=1\nb"),
    ])
    func secretsAreHiddenInTexts(_ text: String, _ shown: String) {
        let redactor = BundleRedactor(secrets: ["0123456789abcdef", "ab"])
        #expect(redactor.redacted(text) == shown)
    }

    @Test func fieldsNamedLikeASecretAreHidden() throws {
        let directory = try TemporaryDirectory("bundle")
        var bundle = SupportBundle(secrets: ["geheim"], atSeconds: 1_700_000_000)
        try bundle.add(
            "a.json",
            ["list": [["token": "x1", "count": "7", "url": "http://h/?k=x2"], ["geheim": "x"]]],
            "a list")
        try directory.write("cut geheim\nline https://h/?k=x3\n", to: "log")
        bundle.addLog("log.txt", at: directory.path("log"), "a log")
        bundle.addLog("none.txt", at: directory.path("none"), "nothing")
        let path = directory.path("out.tar.gz")
        try bundle.write(to: path)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).count == 2)
    }

    /// GNU tar reads it.
    @Test func theArchiveIsATar() async throws {
        let directory = try TemporaryDirectory("bundle")
        var bundle = SupportBundle(secrets: ["geheim"], atSeconds: 1_700_000_000)
        try bundle.add("a.json", ["token": "geheim", "n": "1"], "a value")
        try directory.write("geheim\n" + String(repeating: "x", count: 2_000), to: "log")
        bundle.addLog("log.txt", at: directory.path("log"), "a log")
        let path = directory.path("out.tar.gz")
        try bundle.write(to: path)
        let names = try await ChildProcess.run(["tar", "-tzf", path])
        #expect(
            names == "dray-support/MANIFEST\ndray-support/a.json\ndray-support/log.txt\n")
        try await ChildProcess.run(["tar", "-xzf", path, "-C", directory.path])
        func text(_ name: String) throws -> String {
            String(decoding: try directory.read("dray-support/\(name)"), as: UTF8.self)
        }
        #expect(try text("a.json") == "{\n  \"n\" : \"1\",\n  \"token\" : \"…\"\n}\n")
        #expect(try text("log.txt").hasPrefix("…\nxxx"))
        let manifest = try text("MANIFEST")
        #expect(manifest.contains("log.txt") && manifest.contains("2 in total"), "\(manifest)")
        #expect(manifest.contains("\nNothing is missing.\n"), "\(manifest)")
    }

    @Test func theManifestHasWhatIsMissingAndWhy() throws {
        let directory = try TemporaryDirectory("bundle")
        var bundle = SupportBundle(secrets: ["geheim"], atSeconds: 0)
        try bundle.add("a.json", ["n": "1"], "a value")
        bundle.addLog("log.txt", at: directory.path("none"), "a log")
        try directory.write("", to: "empty")
        bundle.addLog("empty.txt", at: directory.path("empty"), "a log")
        bundle.miss("status.json", "http://u:geheim@h/a?k=geheim: no answer")
        let lines = bundle.manifest.split(separator: "\n")
        func line(_ name: String) -> Substring? { lines.first { $0.hasPrefix(name) } }
        #expect(line("log.txt")?.hasSuffix("none: No such file or directory") == true)
        #expect(line("empty.txt")?.hasSuffix("empty: it is empty") == true)
        #expect(line("status.json")?.hasSuffix("http://…@h/a?… no answer") == true)
        #expect(
            !bundle.manifest.contains("geheim") && !bundle.manifest.contains("Nothing is missing"))
    }

    @Test func eachListIsBounded() async throws {
        let directory = try TemporaryDirectory("bundle")
        var bundle = SupportBundle(secrets: [], atSeconds: 0)
        let many = Array(0..<SupportBundle.maxItems * 2)
        try bundle.add("a.json", ["inner": many], "a list in a value")
        try bundle.add("b.json", many, "a list")
        try bundle.add("c.json", ["inner": [1, 2]], "a short list")
        let cut = bundle.manifest.split(separator: "\n").filter {
            $0.hasSuffix("only the first \(SupportBundle.maxItems) items of longer lists")
        }
        #expect(cut.map { $0.prefix(6) } == ["a.json", "b.json"])
        let path = directory.path("out.tar.gz")
        try bundle.write(to: path)
        try await ChildProcess.run(["tar", "-xzf", path, "-C", directory.path])
        func json(_ name: String) throws -> Any {
            try JSONSerialization.jsonObject(
                with: Data(try directory.read("dray-support/\(name)")), options: .fragmentsAllowed)
        }
        let first = Array(many.prefix(SupportBundle.maxItems))
        #expect(try json("a.json") as? [String: [Int]] == ["inner": first])
        #expect(try json("b.json") as? [Int] == first)
    }

    /// A part of a line could begin in the middle of a secret.
    @Test func aLongLogBeginsWithAWholeLine() async throws {
        let directory = try TemporaryDirectory("bundle")
        let line = String(repeating: "y", count: 99) + "\n"
        try directory.write(String(repeating: line, count: 4_000), to: "log")
        var bundle = SupportBundle(secrets: [], atSeconds: 0)
        bundle.addLog("log.txt", at: directory.path("log"), "a log")
        let path = directory.path("out.tar.gz")
        try bundle.write(to: path)
        try await ChildProcess.run(["tar", "-xzf", path, "-C", directory.path])
        let bytes = try directory.read("dray-support/log.txt")
        #expect(bytes.count == (256 << 10) / 100 * 100)
    }
}
