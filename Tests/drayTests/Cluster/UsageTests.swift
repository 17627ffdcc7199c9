import Glibc
import Model
import TestSupport
import Testing

/// What the built binary answers to bad usage and input: a message, the exit code, nothing written.
@Suite(.timeLimit(.minutes(2))) struct UsageTests: UsageSuite {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory("usage") }

    @Test func helpAndVersion() async throws {
        for words in [
            [], ["--help"], ["prefetch", "--help"], ["up", "--help"], ["coordinator", "--help"],
            ["worker", "--help"], ["fetch", "--help"], ["database", "--help"],
            ["database", "migrate", "--help"],
            ["status", "--help"], ["benchmark", "--help"], ["benchmark", "queue", "--help"],
        ] {
            let answer = try await dray(words)
            #expect(answer.ending == .exited(0))
            #expect(answer.output.contains("Usage: dray"))
            #expect(answer.errors.isEmpty)
        }
        let version = try await dray(["--version"])
        #expect(version.output.hasPrefix("dray 0."))
    }

    @Test(arguments: [
        ["--help"], ["catalog", "check", "good.txt"], ["catalog", "check", "good.txt", "--json"],
        ["inspect", "main.m3u8", "--base", "http://h/main.m3u8", "--json"],
        ["plan", "--users", "1000", "--json"],
    ])
    func whatStdoutDoesNotTakeIsNoSuccess(words: [String]) async throws {
        try directory.write("http://127.0.0.1:1/file\n", to: "good.txt")
        try directory.write("#EXTM3U\n#EXTINF:4,\n1.ts\n#EXT-X-ENDLIST\n", to: "main.m3u8")
        let full = try ChildProcess(
            ["sh", "-c", "exec \"$0\" \"$@\" >/dev/full", try DrayProcess.binary()] + words,
            workingDirectory: directory.path)
        #expect(try await full.wait() == .exited(2))
        #expect(full.errors.contains("dray: stdout: No space left on device (input.destination)\n"))
        #expect(try await dray(words).ending == .exited(0))
    }

    @Test func aCoordinatorsURLComesFromItsVariable() async throws {
        for url in ["foo", "ftp://h", "http://h?x"] {
            let answer = try await dray(["status"], environment: ["DRAY_COORDINATOR": url])
            #expect(answer.ending == .exited(2))
            let start = "dray: DRAY_COORDINATOR: the coordinator's URL "
            #expect(answer.errors.hasPrefix(start), "\(answer.errors)")
        }
    }

    @Test func oneURLIsAListThatCanBeChecked() async throws {
        let answer = try await dray(["catalog", "check", "http://127.0.0.1:1/film.mp4"])
        #expect(answer.ending == .exited(0))
        #expect(answer.output.hasPrefix("http://127.0.0.1:1/film.mp4: one URL\n"))
        #expect(answer.output.contains("known bytes  none\n"))
    }

    private static let badInput: [(words: [String], message: String)] = [
        (["prefetch"], "LIST is missing"), (["prefetch", "list"], "--to is missing"),
        (["prefetch", "list", "--to", "edge", "--audio", "none,en"], "--audio is 'none,en'"),
        (["prefetch", "missing.json", "--to", "edge"], "missing.json: No such file"),
        (["prefetch", ".", "--to", "edge"], "is a directory, not a list"),
        (["prefetch", "bad.json", "--to", "/"], "--to /: this is the whole file system"),
        (["prefetch", "bad.json", "--to", "edge"], "bad.json: line 2, column"),
        (["prefetch", "empty.txt", "--to", "edge"], "names no asset"),
        (["prefetch", "ftp.txt", "--to", "edge"], "ftp.txt: line 1, column"),
        (["prefetch", "ftp://host/x", "--to", "edge"], "http"),
        (["prefetch", "http://h/\u{1}x", "--to", "edge"], "URL"),
        (["prefetch", "good.txt", "--to", "good.txt/edge"], "Not a directory"),
        (["prefetch", "good.txt", "--to", "gs://bucket/x"], "file:///"),
        (["prefetch", "good.txt", "--to", "s3://b"], "3 to 63"),
        (["prefetch", "good.txt", "--to", "edge", "--report", "no/r.json"], "--report no/r.json"),
        (
            ["prefetch", "good.txt", "--to", "edge", "--durability", "maybe"],
            "--durability is 'maybe'"
        ),
        (
            ["worker", "--coordinator", "http://h", "--root", "/tmp", "--durability", "x"],
            "--durability is 'x'"
        ),
        (["site", "set", "edge", "--floor", "lots"], "--floor is 'lots'"),
        (["site", "set", "edge", "--quota", "0"], "--quota is '0'"),
        (
            [
                "prefetch", "good.txt", "--to", "edge", "--report",
                String(repeating: "r", count: 256),
            ],
            "File name too long"
        ),
        // Even root cannot write there, with any mode.
        (["prefetch", "good.txt", "--to", "/proc/edge"], "cannot write to /proc"),
        (["prefetch", "good.txt", "--to", "edge", "--workers", "0"], "--workers is '0'"),
        (["prefetch", "good.txt", "--to", "edge", "--name", "a\nb"], "--name is 'a\\nb'"),
        (
            ["prefetch", "good.txt", "--to", "edge", "--not-before", "22:00"],
            "--not-before is '22:00'"
        ),
        (
            ["prefetch", "good.txt", "--to", "edge", "--not-before", "2h", "--deadline", "1h"],
            "--deadline comes before --not-before"
        ),
        (
            ["prefetch", "good.txt", "--to", "edge", "--not-before", "2h", "--expires", "1h"],
            "--expires is '1h', which is not later than --not-before; allowed: a time after 2"
        ),
        (["site", "set", "x", "--not-before", "2h", "--expires", "1h"], "(input.rights)"),
        (["assets", "list", "c", "--site", "ftp://x"], "There is no site ftp://x."),
        (["site", "set", "x", "--expires", "0s"], "--expires is '0s', which has passed"),
        (
            ["prefetch", "good.txt", "--to", "edge", "--deadline", "2020-01-31T18:00+01:00"],
            "--deadline is '2020-01-31T18:00+01:00', which has passed: it is 2"
        ),
        (["catalog", "reschedule", "x", "--deadline", "0s"], "--deadline is '0s', which has"),
        (["catalog", "reschedule", "movies"], "nothing to set"),
        (["up", "--listen", "nowhere"], "--listen is 'nowhere'"),
        (["coordinator", "--database", "x"], "--listen is missing"),
        (["worker"], "--coordinator is missing"),
        (["worker", "--coordinator", "ftp://x", "--root", "/tmp"], "ftp://x"),
        (["worker", "--coordinator", "http://h"], "--root is missing"),
        (["worker", "--coordinator", "http://h", "--root", "edge"], "not an absolute path"),
        (["worker", "--coordinator", "http://h", "--root", "/"], "is the whole file system"),
        (["worker", "--coordinator", "http://h", "--root", "/tmp/.."], "is the whole file system"),
        (
            ["worker", "--coordinator", "http://h", "--root", "/no/such"],
            "\"/no/such\" cannot be a root"
        ),
        (["worker", "--coordinator", "http://h", "--root", "/etc/passwd"], "is not a directory"),
        (["database", "migrate"], "--database is missing"),
        (
            ["database", "migrate", "--database", "x", "--database-file", "y"],
            "--database and --database-file are both given"
        ),
        (["database", "migrate", "--database-file", "none"], "none: No such file"),
        (["database", "migrate", "--database-file", "empty-line.txt"], "empty-line.txt is empty"),
        (["status", "--jsno"], "Did you mean --json?"),
        (["queue", "pause"], "NAME is missing"), (["queue", "puase"], "Did you mean pause?"),
        (["catalog"], "dray catalog needs a command"),
        (["catalog", "cancel"], "CATALOG is missing"),
        (["catalog", "cancel", "all"], "`all` selects what failed with one code"),
        (["catalog", "cancel", "x", "--site", "gs://bucket"], "There is no site gs://bucket."),
        (["catalog", "reprioritize", "x"], "Did you mean reprioritise?"),
        (["catalog", "reprioritise", "x"], "--priority is missing"),
        (["catalog", "reprioritise", "x", "--priority", "10"], "--priority is '10'"),
        (["origins", "set", "cdn.example", "--connections", "1"], "ORIGIN is 'cdn.example'"),
        (["origins", "set", "http://h"], "no limit was given"),
        (["site", "set", "x"], "nothing to set"),
        (["origins", "set", "http://h", "--requests", "0"], "--requests is '0'"),
        (["origins", "set", "http://h", "--requests", "many"], "--requests is 'many'"),
        (["origins", "set", "http://h", "--bandwidth", "5Mb/s"], "--bandwidth: '5Mb/s'"),
        (
            ["origins", "default", "--unlimited", "--connections", "2"],
            "--unlimited cannot be used with a limit"
        ),
        (
            ["assets", "list", "x", "--min-size", "2MB", "--max-size", "1MB"],
            "--min-size is greater than --max-size"
        ),
        (["refresh", "x", "--state", "nowhere"], "--state is 'nowhere', where no private cluster"),
        (
            ["assets", "list", "x", "--match", "a", "--name", "b"],
            "--match and --name are the same option"
        ),
        (["assets", "pause", "--match", "a*"], "no catalog is named"),
        (["site", "set", "x", "--max-fetches", "3"], "--max-fetches is '3'"),
        (["site", "set", "x", "--max-fetches", "0/30d"], "--max-fetches is '0/30d'"),
        (["site", "set", "x", "--max-sites", "few"], "--max-sites is 'few'"),
        (["site", "evict", "x", "--bytes", "-1"], "--bytes is '-1'"),
        (["assets", "list", "x", "--state", "nowhere"], "use --asset-state."),
        (["assets", "list", "x", "--state", "running"], "'running' is not a state of an asset"),
        (["assets", "list", "x", "--state", "a", "--state", "b"], "--state is given twice"),
        (["catalog", "retry", "x", "--state", "failed"], "does not select by state"),
        (
            ["site", "set", "x", "--schedule", "Mon 25:00-26:00 off"],
            "entry 1 'Mon 25:00-26:00 off'"
        ),
        (["site", "set", "x", "--maximum", "off"], "--maximum: 'off' was given"),
    ]

    @Test(arguments: badInput)
    func badInputIsRefusedAndNothingIsWritten(words: [String], message: String) async throws {
        try directory.write("{\"assets\": [\n  oops\n]}", to: "bad.json")
        try directory.write("# nothing\n\n", to: "empty.txt")
        try directory.write("\n", to: "empty-line.txt")
        try directory.write("ftp://host/file\n", to: "ftp.txt")
        try directory.write("http://127.0.0.1:1/file\n", to: "good.txt")
        let before = try names
        let answer = try await dray(
            words, environment: ["XDG_STATE_HOME": "\(directory.path)/state"])
        #expect(answer.ending == .exited(2), "\(answer.errors)")
        #expect(answer.errors.hasPrefix("dray: "))
        #expect(answer.errors.contains(message), "\(answer.errors)")
        #expect(answer.output.isEmpty)
        #expect(try names == before)
    }

    @Test func optionsOfThePrivateClusterAreIgnoredWithAnother() async throws {
        let answer = try await dray(
            ["prefetch", "http://h/x", "--to", "edge", "--workers", "2"],
            environment: ["DRAY_COORDINATOR": "http://127.0.0.1:1"])
        #expect(answer.ending == .exited(3))
        #expect(answer.errors.contains("--workers is for the private cluster; ignored"))
    }

    /// Without the filter that was meant, everything would be listed, or retried.
    @Test func aStateThatIsNoDirectoryIsRefusedAlsoWithACluster() async throws {
        let nowhere = ["DRAY_COORDINATOR": "http://127.0.0.1:1"]
        for (words, hint) in [
            (["catalog", "retry", "x"], "does not select by state"),
            (["catalog", "status", "x"], "does not select by state"),
            (["status"], "does not select by state"),
        ] {
            let answer = try await dray(words + ["--state", "failed"], environment: nowhere)
            #expect(answer.ending == .exited(2), "\(answer.errors)")
            #expect(answer.errors.contains("--state is 'failed', where no private cluster exists"))
            #expect(answer.errors.contains(hint), "\(answer.errors)")
            // The same command line serves on a laptop and here.
            let path = try await dray(words + ["--state", "/srv/state"], environment: nowhere)
            #expect(path.ending == .exited(3), "\(path.errors)")
            #expect(path.errors.contains("--state is for the private cluster; ignored"))
        }
    }

    /// One of several is misspelt.
    @Test func aStateThatIsNoneIsNamed() async throws {
        for words in [["assets", "pause", "x"], ["assets", "list", "x"]] {
            let answer = try await dray(
                words + ["--state", "paused,bogus"],
                environment: ["DRAY_COORDINATOR": "http://127.0.0.1:1"])
            #expect(answer.ending == .exited(2))
            #expect(answer.errors.contains("--state: 'bogus' is not a state of an asset"))
            #expect(answer.errors.contains("interrupted, failed"), "\(answer.errors)")
        }
    }

    @Test func noCoordinatorAndNoDatabaseAreThree() async throws {
        let nowhere = ["DRAY_COORDINATOR": "http://127.0.0.1:1"]
        for words in [
            ["status"], ["queue"], ["origins"], ["site"], ["catalog", "cancel", "x"],
            ["prefetch", "http://h/x", "--to", "/edge"],
        ] {
            let answer = try await dray(words, environment: nowhere)
            #expect(answer.ending == .exited(3), "\(answer.errors)")
            #expect(answer.errors.contains("or set DRAY_COORDINATOR to the URL of a running one"))
        }
        let database = "postgresql://127.0.0.1:1/none"
        for words in [
            ["database", "migrate", "--database", database],
            ["coordinator", "--database", database, "--listen", "127.0.0.1:0"],
        ] {
            let answer = try await dray(words)
            #expect(answer.ending == .exited(3), "\(answer.errors)")
            #expect(answer.errors.contains("Check that PostgreSQL is up"))
        }
    }

    @Test func helpNamesThePurposeOfEachOption() async throws {
        let bare = try await dray(["catalog", "cancel", "all"])
        #expect(bare.ending == .exited(2))
        #expect(bare.errors.contains("`dray catalog cancel all --code CODE`"), "\(bare.errors)")
        #expect(bare.errors.contains("--code is missing"))
        let asset = try await dray([
            "catalog", "retry", "all", "--code", "origin.dns", "--asset", "a",
        ])
        #expect(asset.errors.contains("takes no --asset"), "\(asset.errors)")
        for words in [["assets", "pause", "movies"], ["catalog", "retry", "all"]] {
            let code = try await dray(words + ["--code", "no code"])
            #expect(code.ending == .exited(2))
            #expect(code.errors.contains("--code is 'no code'"), "\(code.errors)")
        }
        let mistyped = try await dray(["assets", "prioritise", "movies"])
        #expect(mistyped.errors.contains("Did you mean reprioritise?"), "\(mistyped.errors)")
        let floor = try await dray(["site", "set", "edge", "--floor", "--json"])
        #expect(floor.errors.contains("--floor needs a value"), "\(floor.errors)")
    }

    /// One line reports what it works for; a warning names a root that it cannot write.
    @Test func aWorkerReportsItsQueues() async throws {
        let worker = try DrayProcess.start([
            "worker", "--coordinator", "http://127.0.0.1:1", "--root", directory.path,
            "--connections", "7",
        ])
        try await waitUntil(deadlineSeconds: 30, "the worker's first line") {
            worker.errors.contains("started")
        }
        #expect(
            worker.errors.contains("coordinator=http://127.0.0.1:1 ")
                && worker.errors.contains("roots=file://\(directory.path)")
                && worker.errors.contains("connections=7"), "\(worker.errors)")
        worker.signal(SIGTERM)
        _ = try await worker.wait()
        guard geteuid() == 0 else { return }
        let home = try await EmbeddedHome(.ordinary)
        let closed = home.path("closed")
        mkdir(closed, 0o755)
        let words = ["worker", "--coordinator", "http://127.0.0.1:1", "--root", closed]
        let started = try home.start(words, ["DRAY_TOKEN": AccessToken.test.text])
        try await waitUntil(deadlineSeconds: 30, "the worker's start") {
            started.errors.contains("started")
        }
        // A site below it may be the user's own.
        #expect(
            started.errors.contains("cannot write to the root \(closed), only to directories"),
            "\(started.errors)")
        started.signal(SIGTERM)
        #expect(try await started.wait(deadlineSeconds: 30) == .exited(0), "\(started.errors)")
    }

    @Test func aPortInUseIsThreeAndNothingIsWritten() async throws {
        let holder = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(holder) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                _ = bind(holder, generic, size)
                getsockname(holder, generic, &size)
            }
            return UInt16(bigEndian: pointer.pointee.sin_port)
        }
        try #require(listen(holder, 1) == 0)
        let answer = try await dray([
            "up", "--listen", "127.0.0.1:\(port)", "--state", directory.path("state"),
        ])
        #expect(answer.ending == .exited(3))
        #expect(answer.errors.contains("127.0.0.1:\(port) is in use by another process"))
        #expect(try names.isEmpty)
    }

    @Test func badLogSettingsAreNamed() async throws {
        let answer = try await dray(["status"], environment: ["DRAY_LOG": "loud"])
        #expect(answer.ending == .exited(2))
        #expect(answer.errors.contains("DRAY_LOG is 'loud'"))
    }
}
