import TestSupport
import Testing

/// Rejects what is wrong in any case before the cluster is asked: there is none.
@Suite(.timeLimit(.minutes(1))) struct CheckedFirstTests {
    @Test(arguments: [
        (["watch", "--after", "garbage"], "--after is 'garbage'"),
        (["watch", "--after", "-1"], "--after is '-1'"),
        (["watch", "movies", "--after", "l4-2s-3"], "--after is 'l4-2s-3'"),
        (["webhook", "redeliver", "abc"], "NUMBER is 'abc'"),
        (["webhook", "remove", "0"], "NUMBER is '0'"),
        (["webhook", "change", "x", "--url", "https://hook.example"], "NUMBER is 'x'"),
        (["webhook", "change", "1"], "nothing is to be changed"),
    ])
    func positionsAndNumbers(words: [String], message: String) async throws {
        let process = try DrayProcess.start(
            words, environment: ["DRAY_COORDINATOR": "http://127.0.0.1:9"])
        #expect(try await process.wait() == .exited(2))
        #expect(process.errors.contains(message), "\(process.errors)")
        #expect(!process.errors.contains("cluster."), "\(process.errors)")
    }

    /// Options of another use of the command, which would have no effect.
    @Test(arguments: [
        (["watch", "--site", "edge"], "--site needs a catalog"),
        (
            ["assets", "pause", "--asset-state", "failed", "--site", "edge"],
            "--site needs a catalog"
        ),
        (["status", "--list", "workers"], "--list needs --csv"),
        (["site", "popularity", "edge", "--since", "7d"], "--since needs --from-access-log"),
        (["site", "popularity", "edge", "--prefix", "/m"], "--prefix needs --from-access-log"),
        (
            ["site", "popularity", "edge", "--from-access-log", "-", "--least"],
            "--least cannot be used with --from-access-log"
        ),
        (
            ["site", "popularity", "edge", "--from-access-log", "-", "--limit", "5"],
            "--limit cannot be used with --from-access-log"
        ),
    ])
    func optionsWithoutEffect(words: [String], message: String) async throws {
        try await positionsAndNumbers(words: words, message: message)
    }

    /// `dray assets NAME` lists the assets of a catalog.
    @Test func aMistypedCommandMayBeTheNameOfACatalog() async throws {
        let process = try DrayProcess.start(
            ["assets", "remov"], environment: ["DRAY_COORDINATOR": "http://127.0.0.1:9"])
        #expect(try await process.wait() == .exited(3))
        let hint = "dray: 'remov' was read as the name of a catalog. Did you mean remove?\n"
        #expect(process.errors.hasSuffix(hint), "\(process.errors)")
        // Nothing suggests that the catalog's name is wrong.
        let other = try DrayProcess.start(
            ["assets", "movies", "--min-size", "big"],
            environment: ["DRAY_COORDINATOR": "http://127.0.0.1:9"])
        #expect(try await other.wait() == .exited(2))
        #expect(!other.errors.contains("movies"), "\(other.errors)")
    }
}
