import Model
import Testing

@testable import LoadModel

@Suite struct LoadScenarioReaderTests {
    @Test func readsAWholeScenario() throws {
        let text = """
            {"name": "premiere", "seed": 7,
             "targets": [
               "https://edge.example/a.m3u8?token=1",
               {"url": "https://edge.example/b", "kind": "dash", "name": "b", "weight": 2.5},
               {"url": "http://edge.example/c.bin", "sha256": "\(String(repeating: "Ab", count: 32))"},
               {"list": "catalog.json"}],
             "arrivals": {"process": "poisson", "stages": [
               {"seconds": 30, "rate": 100}, {"seconds": 0, "rate": 50},
               {"seconds": 60, "from": 10, "rate": 20}]},
             "viewers": {"startupSeconds": 1, "bufferSeconds": 12, "watchSeconds": 90, "loops": true,
                         "safety": 0.7, "startBitsPerSecond": 1000, "fixedBitsPerSecond": 2000,
                         "opensConnection": false},
             "warmUpSeconds": 5,
             "caps": {"seconds": 60, "requests": 1000, "bytes": 1000000},
             "http": {"version": "1.1", "keepAlive": false, "concurrency": 10,
                      "headers": {"X-Test": "1"}, "connectTimeoutSeconds": 1, "timeoutSeconds": 2.5,
                      "caFile": "ca.pem"},
             "bodies": "check",
             "allow": ["CDN.example", "*.cdn.example", "10.0.0.0/8"],
             "thresholds": ["rate > 5/s", {"threshold": "error_rate < 1%", "abortAfterSeconds": 3}]}
            """
        let scenario = try LoadScenarioReader.read(Array(text.utf8))
        #expect(scenario.name == "premiere")
        #expect(scenario.seed == 7)
        #expect(
            scenario.targets.map(\.source) == [
                .url("https://edge.example/a.m3u8?token=1", .hls),
                .url("https://edge.example/b", .dash), .url("http://edge.example/c.bin", .file),
                .list("catalog.json"),
            ])
        // A name goes into reports: what follows a ? may be a secret.
        #expect(scenario.targets.map(\.name)[0] == "https://edge.example/a.m3u8?…")
        #expect(scenario.targets.map(\.weight) == [1, 2.5, 1, 1])
        #expect(scenario.targets[2].sha256 == String(repeating: "ab", count: 32))
        #expect(scenario.model == .open(.poisson))
        #expect(
            scenario.stages == [
                LoadStage(seconds: 30, from: 0, to: 100), LoadStage(seconds: 0, from: 100, to: 50),
                LoadStage(seconds: 60, from: 10, to: 20),
            ])
        var viewers = ViewerSettings()
        viewers.startupSeconds = 1
        viewers.bufferSeconds = 12
        viewers.watchSeconds = 90
        viewers.loops = true
        viewers.safety = 0.7
        viewers.startBitsPerSecond = 1_000
        viewers.fixedBitsPerSecond = 2_000
        viewers.opensConnection = false
        #expect(scenario.user == .viewers(viewers))
        #expect(scenario.durationSeconds == 60)
        #expect(scenario.caps.requests == 1_000)
        #expect(scenario.caps.bytes == 1_000_000)
        var http = LoadHTTP()
        http.version = .http1
        http.keepsAlive = false
        http.concurrency = 10
        http.headers = [try RequestHeader(name: "X-Test", value: "1")]
        http.connectTimeoutSeconds = 1
        http.timeoutSeconds = 2.5
        http.caFile = "ca.pem"
        #expect(scenario.http == http)
        #expect(scenario.bodies == .checked)
        #expect(scenario.allow == ["cdn.example", "*.cdn.example", "10.0.0.0/8"])
        #expect(scenario.thresholds.map(\.figure) == [.requestRate, .errorRate])
        #expect(scenario.thresholds.map(\.abortAfterSeconds) == [nil, 3])
    }

    @Test func aRateOrUsersAloneAreOneStage() throws {
        let open = try read(#"{"arrivals": {"rate": 20, "seconds": 9}}"#)
        #expect(open.model == .open(.constant))
        #expect(open.stages == [LoadStage(seconds: 9, from: 20, to: 20)])
        let closed = try read(
            #"{"arrivals": {"users": 64, "seconds": 30}, "thinkTime": {"meanSeconds": 2}}"#)
        #expect(closed.model == .closed)
        #expect(closed.stages == [LoadStage(seconds: 30, from: 64, to: 64)])
        #expect(closed.think == .exponential(meanSeconds: 2))
    }

    private func read(_ text: String) throws(Failure) -> LoadScenario {
        try LoadScenarioReader.read(Array(text.utf8))
    }

    @Test(arguments: [
        (#"{"targetz": []}"#, "line 1, column 2: field targetz: is not known here"),
        (#"{"targetz": []}"#, "Did you mean targets?"),
        (#"[]"#, "field scenario: given an array, allowed an object"),
        (#"{"seed": -1}"#, "field seed: given -1, allowed a whole number, 0 to"),
        (#"{"seed": 1.5}"#, "field seed: given 1.5"),
        (#"{"name": ""}"#, "field name: is empty"),
        (#"{"targets": []}"#, "field targets: is empty, allowed 1 to 10000 elements"),
        (#"{"targets": ["ftp://a/b"]}"#, "field targets[0]: the URL"),
        (#"{"targets": ["s3://edge"]}"#, "field targets[0]: the URL of an object has a key"),
        (#"{"targets": ["s3://edge/a?x=1"]}"#, "field targets[0]: an S3 URL has no field"),
        (#"{"targets": ["s3://edge/a.m3u8"]}"#, "segments would not be signed, allowed files"),
        (#"{"targets": [{"url": "s3://edge/a", "kind": "hls"}]}"#, "is a title in a bucket"),
        (#"{"targets": [5]}"#, "field targets[0]: given a number, allowed an object"),
        (
            #"{"targets": [{"name": "a"}]}"#,
            "field targets[0]: without url, allowed one of url and list"
        ),
        (#"{"targets": [{"url": "http://a/", "list": "b"}]}"#, "given url and list"),
        (#"{"targets": [{"url": "http://a/", "wait": 1}]}"#, "targets[0].wait: is not known here"),
        (#"{"targets": [{"url": "http://a/", "weight": 0}]}"#, "field targets[0].weight: given 0"),
        (
            #"{"targets": [{"url": "http://a/", "weight": -1}]}"#,
            "field targets[0].weight: given -1"
        ),
        (#"{"targets": [{"url": "http://a/", "kind": "smooth"}]}"#, "allowed file, hls, dash"),
        (#"{"targets": [{"url": "http://a/", "sha256": "ab"}]}"#, "allowed 64 hex digits"),
        (
            #"{"targets": [{"url": "http://a/b.mpd", "sha256": "\#(String(repeating: "0", count: 64))"}]}"#,
            "field targets[0].sha256: given for a title, allowed for files"
        ),
        (#"{"targets": [{"list": "a", "kind": "hls"}]}"#, "field targets[0].kind: given with list"),
        (#"{"popularity": "zipf"}"#, "field popularity: given \"zipf\", allowed \"weights\", or"),
        (#"{"popularity": {"zipf": 6}}"#, "field popularity.zipf: given 6"),
        (#"{"popularity": {}}"#, "without zipf"),
        (
            #"{"arrivals": {"rate": -5, "seconds": 1}}"#,
            "field arrivals.rate: given -5, allowed a number, 0"
        ),
        (#"{"arrivals": {"rate": 5}}"#, "field arrivals: without seconds"),
        (#"{"arrivals": {"seconds": 5}}"#, "field arrivals: without rate"),
        (#"{"arrivals": {"rate": 5, "users": 5, "seconds": 5}}"#, "given rate and users"),
        (
            #"{"arrivals": {"users": 5, "seconds": 5, "process": "poisson"}}"#,
            "given process with users"
        ),
        (
            #"{"arrivals": {"rate": 5, "seconds": 5, "process": "burst"}}"#,
            "allowed constant, poisson"
        ),
        (
            #"{"arrivals": {"rate": 5, "stages": [{"seconds": 1, "rate": 5}]}}"#,
            "given stages and also"
        ),
        (#"{"arrivals": {"stages": [{"rate": 5}]}}"#, "field arrivals.stages[0]: without seconds"),
        (
            #"{"arrivals": {"stages": [{"seconds": 1, "rate": 5}, {"seconds": 1, "users": 5}]}}"#,
            "given stages of rate and of users"
        ),
        (
            #"{"arrivals": {"stages": [{"seconds": -1, "rate": 5}]}}"#,
            "arrivals.stages[0].seconds: given -1"
        ),
        (#"{"viewers": {"bufferSeconds": 0}}"#, "field viewers.bufferSeconds: given 0"),
        (#"{"viewers": {"buffer": 10}}"#, "field viewers.buffer: is not known here"),
        (#"{"warmUpSeconds": "5s"}"#, "field warmUpSeconds: given a string, allowed a number"),
        (#"{"caps": {"requests": 0}}"#, "field caps.requests: given 0"),
        (
            #"{"http": {"version": "3"}}"#,
            "field http.version: given \"3\", allowed automatic, 1.1, 2"
        ),
        (#"{"http": {"headers": {"Host": "a"}}}"#, "field http.headers.Host"),
        (#"{"http": {"headers": {"A": "1", "a": "2"}}}"#, "each once"),
        (#"{"thinkTime": {}}"#, "one of seconds and meanSeconds"),
        (#"{"thinkTime": {"seconds": 1, "meanSeconds": 1}}"#, "given seconds and meanSeconds"),
        (#"{"bodies": "keep"}"#, "field bodies: given \"keep\", allowed discard, check"),
        (
            #"{"allow": ["http://a/"]}"#,
            "field allow[0]: given \"http://a/\", allowed a host's name"
        ),
        (#"{"allow": ["a..b"]}"#, "field allow[0]"),
        (#"{"allow": ["*"]}"#, "field allow[0]"),
        (
            #"{"thresholds": ["p99(first) < 5ms"]}"#,
            "field thresholds[0]: given \"p99(first)\", allowed connect"
        ),
        (#"{"thresholds": [{"abortAfterSeconds": 5}]}"#, "field thresholds[0]: without threshold"),
        (
            "{\"targets\": [\n  \"http://a/\",\n  {\"url\": \"http://a/\", \"wieght\": 1}]}",
            "line 3, column 24: field targets[1].wieght"
        ),
        (#"{"name": "a", "name": "b"}"#, "is repeated"),
        (#"{"name": "a"} x"#, "expected the end of the input"),
        (#"{"#, "line 1, column 2"),
    ])
    func reportsTheFieldWhatWasGivenAndWhatIsAllowed(text: String, message: String) {
        let error = #expect(throws: Failure.self) { try read(text) }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }

    @Test func noSecretIsRepeated() {
        let error = #expect(throws: Failure.self) {
            try read(#"{"http": {"headers": {"Authorization": "Bearer s3cret\n"}}}"#)
        }
        #expect(error?.message.contains("s3cret") == false)
        let url = #expect(throws: Failure.self) {
            try read(#"{"targets": ["ftp://u:s3cret@h/?s3cret"]}"#)
        }
        #expect(url?.message.contains("s3cret") == false)
    }

    // MARK: What must hold together

    private static let one = #""targets": ["http://a/b"]"#
    private static let some = #""arrivals": {"users": 2, "seconds": 10}"#

    @Test(arguments: [
        ("{}", "field targets: is missing, allowed one target at least"),
        ("{\(one)}", "field arrivals: is missing"),
        (#"{\#(one), "arrivals": {"rate": 5, "seconds": 0}}"#, "field arrivals: has no duration"),
        (#"{\#(one), "arrivals": {"rate": 0, "seconds": 5}}"#, "field arrivals: always 0"),
        (
            #"{\#(one), \#(some), "warmUpSeconds": 10}"#,
            "field warmUpSeconds: given 10, allowed less than"
        ),
        (
            #"{\#(one), \#(some), "warmUpSeconds": 1.5}"#,
            "field warmUpSeconds: given 1.5, allowed whole seconds"
        ),
        (#"{\#(one), \#(some), "viewers": {}}"#, "field targets[0]: is a file, allowed titles"),
        (
            #"{\#(one), "arrivals": {"rate": 5, "seconds": 5}, "thinkTime": {"seconds": 1}}"#,
            "field thinkTime: given with a rate"
        ),
        (
            #"{\#(one), "arrivals": {"users": 10, "seconds": 5}, "http": {"concurrency": 9}}"#,
            "field http.concurrency: given 9, allowed as many as users, 10, or more"
        ),
        (
            #"{"targets": [{"url": "http://a/b", "weight": 2}], \#(some), "popularity": {"zipf": 1}}"#,
            "field targets[0].weight: given beside zipf"
        ),
    ])
    func whatIsMissingOrCannotAllHoldIsNamed(text: String, message: String) throws {
        let scenario = try read(text)
        let error = #expect(throws: Failure.self) { try scenario.check() }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }

    @Test(arguments: [(10, 1_000), (1_500, 1_500), (1_000_000, 100_000)])
    func allUsersHaveASlot(users: Int, places: Int) throws {
        var scenario = try read(
            #"{\#(Self.one), "arrivals": {"users": \#(users), "seconds": 5}}"#)
        #expect(scenario.concurrency == places)
        try scenario.check()
        // Requested members are those that exist, for viewers and for a rate too.
        scenario.http.concurrency = 5
        #expect(scenario.concurrency == 5)
        #expect(throws: Failure.self) { try scenario.check() }
        scenario.model = .open(.constant)
        try scenario.check()
        scenario = try read(
            #"{"targets": ["http://h/a.mpd"], "arrivals": {"users": \#(users), "seconds": 5},"#
                + #""viewers": {}, "http": {"concurrency": 5}}"#)
        try scenario.check()
        #expect(scenario.concurrency == 5)
    }

    @Test(arguments: [(0.5, 0.0), (2, 0), (3.5, 1.5), (10, 8), (70, 8)])
    func onlyTheTimeOfTheLoadIsMeasured(elapsed: Double, measured: Double) throws {
        var scenario = try read("{\(Self.one), \(Self.some)}")
        scenario.warmUpSeconds = 2
        #expect(scenario.measuredSeconds(atSeconds: elapsed) == measured)
    }

    @Test func aScenarioOfTheLeastIsWhole() throws {
        try read("{\(Self.one), \(Self.some)}").check()
    }
}

@Suite struct LoadAllowanceTests {
    @Test func admitsTargetsNamesAndWhatIsUnderThem() {
        let allowance = LoadAllowance(
            hosts: ["edge.example"], entries: ["cdn.example", "*.video.example", "10.0.0.0/8"])
        for host in ["edge.example", "cdn.example", "a.video.example", "a.b.video.example"] {
            #expect(allowance.admits(host))
        }
        for host in [
            "video.example", "avideo.example", "other.example", "edge.example.evil", "10.1.2.3", "",
        ] {
            #expect(!allowance.admits(host))
        }
        #expect(allowance.blocks == ["10.0.0.0/8"])
    }

    @Test func knowsAURLsHost() {
        #expect(LoadAllowance.host(of: "https://Edge.Example:8443/a") == "edge.example")
        #expect(LoadAllowance.host(of: "http://[2001:DB8::1]:80/a") == "2001:db8::1")
        #expect(LoadAllowance.host(of: "http://edge.example@evil.example/a") == "evil.example")
        #expect(LoadAllowance.host(of: "file:///etc") == nil)
    }
}
