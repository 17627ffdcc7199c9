import LoadModel
import Model
import TestSupport
import Testing

/// The scenario for the workers of a cluster has the original meaning.
@Suite struct LoadScenarioWriterTests {
    @Test(arguments: [
        #"{"targets":["http://edge.test/a.bin"],"arrivals":{"rate":2000,"seconds":30}}"#,
        #"""
        {"name": "premiere \"7\"", "seed": 42, "popularity": {"zipf": 1.1}, "warmUpSeconds": 5,
         "targets": [{"url": "https://edge.test/m?sig=x%2F", "kind": "hls", "name": "one"},
                     "https://edge.test/b.mpd"],
         "arrivals": {"process": "poisson", "stages": [{"seconds": 60, "rate": 50.25},
             {"seconds": 0, "rate": 200}, {"seconds": 120, "rate": 200, "from": 10}]},
         "viewers": {"watchSeconds": 90, "loops": true, "startBitsPerSecond": 800000,
                     "opensConnection": false},
         "caps": {"seconds": 90, "requests": 100000, "bytes": 1000000000000},
         "http": {"version": "1.1", "keepAlive": false, "concurrency": 64, "timeoutSeconds": 7.5,
                  "headers": {"X-Test": "a b", "Authorization": "Bearer x"}},
         "allow": ["*.example.com", "10.0.0.0/8"], "privateHosts": ["edge.test"]}
        """#,
        #"""
        {"targets": [{"url": "http://h/a", "weight": 0.5, "sha256":
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
            {"url": "http://h/b", "mayFail": true}],
         "arrivals": {"users": 64, "seconds": 10}, "thinkTime": {"meanSeconds": 0.5},
         "bodies": "check"}
        """#,
    ]) func whatIsWrittenReadsAsItWas(_ text: String) throws {
        var scenario = try LoadScenarioReader.read(Array(text.utf8))
        try scenario.check()
        scenario.http.headers.sort { $0.name < $1.name }
        let written = try LoadScenarioWriter.write(scenario)
        var read = try LoadScenarioReader.read(Array(written.utf8))
        read.http.headers.sort { $0.name < $1.name }
        #expect(read == scenario)
        try read.check()
    }

    /// A target without a name has that of its URL, which is longer than a name may be.
    @Test(arguments: ["a", "ü", "👩‍👩‍👧‍👧"]) func longNamesAreCut(_ piece: String) throws {
        var scenario = LoadScenario()
        scenario.stages = [LoadStage(seconds: 1, from: 1, to: 1)]
        let url = "http://h/" + String(repeating: "a", count: 1_000)
        let name = "http://h/" + String(repeating: piece, count: 190) + "…"
        scenario.targets = [LoadTarget(name: name, source: .url(url, .file))]
        let read = try LoadScenarioReader.read(
            Array(try LoadScenarioWriter.write(scenario).utf8))
        let target = try #require(read.targets.first)
        #expect(target.source == .url(url, .file))
        #expect(name.hasPrefix(target.name) && (180...200).contains(target.name.utf8.count))
    }

    /// Workers get the signed URL, under the name of the object.
    @Test func objectsAreWrittenAsTheirSignedURLs() throws {
        var scenario = try LoadScenarioReader.read(
            Array(
                #"""
                {"targets": ["s3://edge/a%20b.bin?endpoint=http://h:1",
                             {"url": "s3://edge/m.mpd", "kind": "file"}],
                 "arrivals": {"rate": 1, "seconds": 1},
                 "thresholds": ["rate{target=s3://edge/m.mpd} > 1/s"]}
                """#.utf8))
        try scenario.check()
        let object = try BucketLocation(object: "s3://edge/a%20b.bin?endpoint=http://h:1")
        #expect(scenario.targets[0].source == .object(object, signedURL: nil))
        #expect(scenario.targets.map(\.name) == ["s3://edge/a%20b.bin", "s3://edge/m.mpd"])
        scenario.targets.removeLast()
        let signed = "http://h:1/edge/a%20b.bin?X-Amz-Signature=x"
        scenario.targets[0].source = .object(object, signedURL: signed)
        let read = try LoadScenarioReader.read(
            Array(try LoadScenarioWriter.write(scenario).utf8))
        #expect(read.targets.map(\.source) == [.url(signed, .file)])
        #expect(read.targets.map(\.name) == ["s3://edge/a%20b.bin"])
    }

    @Test func whatWorkersCannotReadIsRefused() throws {
        let plain = #""arrivals":{"rate":1,"seconds":1}"#
        for (text, field) in [
            (#"{"targets":["http://h/a",{"list":"/etc/passwd"}],\#(plain)}"#, "targets[1].list"),
            (#"{"targets":["http://h/a"],\#(plain),"http":{"caFile":"ca.pem"}}"#, "http.caFile"),
        ] {
            let scenario = try LoadScenarioReader.read(Array(text.utf8))
            #expect {
                try LoadScenarioWriter.write(scenario)
            } throws: {
                ($0 as? Failure)?.code == "input.field" && "\($0)".contains(field)
            }
        }
    }

    @Test func classesOfViewersSurvive() throws {
        let text = """
            {"targets": ["http://a.example/t.m3u8"], "arrivals": {"users": 2, "seconds": 5},
             "viewers": {"parallelRequests": true, "classes": [
              {"name": "mobile", "weight": 3, "bitsPerSecond": 4000000, "roundTripSeconds": 0.06,
               "maxHeight": 720, "maxBitsPerSecond": 2000000, "meanWatchSeconds": 60,
               "meanSeekSeconds": 30, "abandonStartupSeconds": 10, "abandonStallSeconds": 5},
              {}]}}
            """
        let scenario = try LoadScenarioReader.read(Array(text.utf8))
        guard case .viewers(let settings) = scenario.user else {
            Issue.record("it has no viewers")
            return
        }
        #expect(settings.classes.count == 2 && settings.parallelRequests)
        #expect(settings.classes[0].maxHeight == 720 && settings.classes[1] == ViewerClass())
        let written = try LoadScenarioWriter.write(scenario)
        #expect(try LoadScenarioReader.read(Array(written.utf8)).user == scenario.user)
    }

    @Test func dataOfViewersStaysWithTheClient() throws {
        let text = """
            {"targets": ["http://a.example/t.m3u8"], "arrivals": {"users": 2, "seconds": 5},
             "viewers": {"data": "viewers.csv"}}
            """
        let scenario = try LoadScenarioReader.read(Array(text.utf8))
        let written = try LoadScenarioWriter.write(scenario)
        #expect(!written.contains("viewers.csv"), "\(written)")
        guard case .viewers(let settings) = try LoadScenarioReader.read(Array(written.utf8)).user
        else {
            Issue.record("it has no viewers")
            return
        }
        #expect(settings.data == nil)
    }

    /// Its URLs and requests come apart.
    @Test func ofAReplayWorkersReadTheServer() throws {
        var scenario = LoadScenario()
        let urls = ["http://a.example:81/b?token=S3CRET", "http://a.example:81/c"]
        scenario.setReplay(
            LoadReplay(name: "access.log", urls: urls, count: 1, logSeconds: 0, speedUp: 1) {
                _, _ in [.init(seconds: 0, url: 1)]
            })
        let written = try LoadScenarioWriter.write(scenario)
        #expect(!written.contains("S3CRET"), "\(written)")
        var read = try LoadScenarioReader.read(Array(written.utf8))
        try read.check()
        #expect(read.targets.map(\.source) == [.url("http://a.example:81/", .file)])
        #expect(read.durationSeconds == scenario.durationSeconds)
        try read.setReplay(urls: urls.joined(separator: "\n"))
        var data = LoadShardData(parts: 1, of: read)
        try data.add("0 1\n")
        var plan = LoadPlan()
        data.move(to: &plan, &read, shards: 1)
        #expect(read.replay?.urls == urls && read.replay?.count == 1)
    }
}
