import TestSupport
import Testing

/// Options of `dray prefetch` and `dray adopt` that would fetch everything, or delete it at once.
@Suite(.timeLimit(.minutes(2))) struct PrefetchUsageTests {
    @Test(arguments: [
        (
            ["prefetch", "list.txt", "--to", "edge", "--expires", "2020-01-31T18:00Z"],
            "--expires is '2020-01-31T18:00Z', which has passed"
        ),
        (
            ["prefetch", "list.txt", "--to", "edge", "--refresh-after", "59s"],
            "--refresh-after is '59s'"
        ),
        // Without the mirror's files, everything would be fetched.
        (["adopt", "none", "--catalog", "list.txt"], "/none: No such file or directory"),
        (["adopt", "list.txt", "--catalog", "list.txt"], "/list.txt: Not a directory"),
    ])
    func nothingBegins(words: [String], message: String) async throws {
        let directory = try TemporaryDirectory("prefetch-usage")
        try directory.write("http://127.0.0.1:1/file\n", to: "list.txt")
        let process = try DrayProcess.start(
            words, environment: ["XDG_STATE_HOME": "\(directory.path)/state"],
            workingDirectory: directory.path)
        #expect(try await process.wait() == .exited(2))
        #expect(process.errors.contains(message), "\(process.errors)")
        #expect(try directory.files() == ["list.txt"])
    }
}
