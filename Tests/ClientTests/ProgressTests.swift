import CommandLine
import Model
import Rendering
import TestSupport
import Testing

@testable import API
@testable import Client

@Suite struct ProgressTests {
    private let plain = TerminalStyle(usesColor: false, usesUnicode: false)

    private func status(
        _ change: (inout CatalogStatus) -> Void = { _ in }
    ) -> CatalogStatus {
        var totals = CatalogTotals()
        totals.assets = 50
        totals.completed = 33
        totals.failed = 1
        totals.segments = 1_000
        totals.segmentsDone = 680
        totals.bytes = 1 << 30
        totals.retries = 2
        var status = CatalogStatus(
            id: CatalogID(1), name: "demo", queue: "q", storageURL: "file:///edge",
            state: .running, generation: 1, totals: totals,
            active: [
                AssetStatus(
                    id: AssetID(7), name: "film/master.m3u8", url: "http://o/f", kind: .hls,
                    state: .inProgress, segments: 40, segmentsDone: 10, bytes: 10 << 20),
                AssetStatus(
                    id: AssetID(8), name: "映画/とても長い名前のファイル.mp4", url: "http://o/g",
                    kind: .file, state: .inProgress, segments: 1, bytes: 50 << 20,
                    expectedBytes: 100 << 20, retries: 1),
                AssetStatus(
                    id: AssetID(9), name: "next.m3u8", url: "http://o/h", kind: .hls,
                    state: .resolving),
            ])
        change(&status)
        return status
    }

    @Test func aFetchsLineShowsBytesTotalRateAndTimeLeft() {
        var progress = FetchProgress(name: "film.mp4", style: plain)
        let first = progress.line(bytes: 0, expected: nil, seconds: 0, columns: 100)
        #expect(first.contains("film.mp4") && first.contains("–"))
        let line = progress.line(bytes: 25 << 20, expected: 100 << 20, seconds: 1, columns: 100)
        #expect(line.contains(" 25%") && line.contains("25.0 MiB of 100 MiB"))
        #expect(line.contains("25.0 MiB/s") && line.contains("0:03 left"))
        let almost = progress.line(
            bytes: 100 << 20 - 1, expected: 100 << 20, seconds: 2, columns: 60)
        #expect(almost.contains(" 99%") && TextLayout.width(almost) <= 60)
        #expect(
            progress.line(bytes: 0, expected: 0, seconds: 3, columns: 100).contains("100%"))
    }

    @Test func eachKindOfFailureIsReportedOnce() {
        var issues = Issues()
        let full = Issues.Issue(text: "full", relief: "there is room")
        let silent = Issues.Issue(text: "silent", relief: "it comes")
        let isBack = Issues.Line.relief("the coordinator answers again")
        #expect(issues.answer(nil, isOver: true) == [])
        #expect(issues.noAnswer("busy") == [.issue("busy")])
        #expect(issues.noAnswer("gone") == [] && issues.text == "gone")
        #expect(issues.answer(full, isOver: true) == [isBack, .issue("full")])
        #expect(issues.answer(full, isOver: true) == [] && issues.text == "full")
        #expect(issues.noAnswer("gone") == [.issue("gone")])
        #expect(issues.answer(full, isOver: true) == [isBack, .issue("full")])
        #expect(issues.answer(silent, isOver: true) == [.issue("silent")])
        #expect(issues.noAnswer("gone") == [.issue("gone")])
        #expect(issues.answer(nil, isOver: true) == [isBack, .relief("it comes")])
        #expect(issues.text == nil)
        // A cancelled catalog shows nothing of its site.
        #expect(issues.answer(full, isOver: true) == [.issue("full")])
        #expect(issues.answer(nil, isOver: false) == [])
    }

    @Test func linesShowWhatIsKnown() {
        var meter = ProgressMeter()
        meter.update(status(), atSeconds: 0)
        meter.update(
            status {
                $0.totals.segmentsDone = 710
                $0.totals.bytes += 32 << 20
                $0.active[1].bytes += 5 << 20
            }, atSeconds: 1)
        let later = status {
            $0.totals.segmentsDone = 740
            $0.totals.bytes += 64 << 20
            $0.active[1].bytes += 10 << 20
        }
        meter.update(later, atSeconds: 2)
        let text = ProgressText(status: later, meter: meter, style: plain)
        let lines = text.lines(columns: 120, rows: 10)
        #expect(
            lines[0]
                == "demo" + String(repeating: " ", count: 29)
                + "  ##############------  74%  34/50  1 failed  1.06 GiB  32.0 MiB/s   0:09 left  2 retr…"
        )
        let narrow = text.lines(columns: 80, rows: 10)[0]
        #expect(narrow.contains("  74%  34/50  1 failed  1.06 GiB  32.0 MiB/s   0:09 left"))
        #expect(
            lines[2]
                == "  映画/とても長い…のファイル.mp4   ############--------  60%   "
                + "60.0 MiB of 100 MiB  5.00 MiB/s   0:08 left  1 retry")
    }

    @Test(arguments: [20, 40, 64, 80, 84, 100, 120, 300])
    func noLineIsWiderThanTheTerminal(columns: Int) {
        var meter = ProgressMeter()
        meter.update(status(), atSeconds: 0)
        for rows in 1...6 {
            let text = ProgressText(
                status: status(), meter: meter, style: plain, issue: "coordinator unreachable")
            let lines = text.lines(columns: columns, rows: rows)
            #expect(lines.count <= max(2, rows))
            for line in lines { #expect(TextLayout.width(line) <= columns, "\(line)") }
        }
    }

    @Test func colorAddsNothingToTheWidth() {
        var line = StyledLine()
        line.append("name", .bold)
        line.appendBar(0.5, width: 4, style: TerminalStyle(usesColor: true, usesUnicode: true))
        #expect(
            line.rendered(columns: 6, usesColor: true)
                == "\u{1B}[1mname\u{1B}[0m\u{1B}[36m━…\u{1B}[0m")
        #expect(line.rendered(columns: 80, usesColor: false) == "name━━──")
    }

    @Test func thePlainLineReadsAsASentence() {
        var meter = ProgressMeter()
        meter.update(status(), atSeconds: 0)
        meter.update(status { $0.totals.segmentsDone = 710 }, atSeconds: 1)
        meter.update(status { $0.totals.segmentsDone = 740 }, atSeconds: 2)
        let text = ProgressText(status: status(), meter: meter, style: plain)
        #expect(
            text.plainLine
                == "demo: 34 of 50 assets, 74%, 1.00 GiB, 0 B/s, 0:09 left, 2 retries, 1 failed")
    }

    /// The same catalog at two sites: each has a line of its own.
    @Test func eachSiteHasItsLine() {
        for (site, done) in [("srv-edge-a", 740), ("srv-edge-b", 370)] {
            var meter = ProgressMeter()
            let own = status { $0.totals.segmentsDone = done }
            meter.update(own, atSeconds: 0)
            var text = ProgressText(status: own, meter: meter, style: plain)
            text.site = site
            #expect(text.plainLine.hasPrefix("demo at \(site): 34 of 50 assets, "))
            let line = text.lines(columns: 120, rows: 1)
            #expect(line.count == 1 && line[0].contains(site), "\(line)")
        }
    }

    @Test func theBarNeverGoesBackAndSpeedIsNeverNegative() {
        var meter = ProgressMeter()
        meter.update(status(), atSeconds: 0)
        // A title was resolved: much more to do; and a running transfer failed.
        meter.update(
            status {
                $0.totals.segments = 10_000
                $0.totals.bytes -= 1_000
            }, atSeconds: 1)
        #expect((meter.catalog.fraction ?? 0) >= 0.68)
        #expect(meter.catalog.bytesPerSecond == 0)
        #expect(meter.catalog.secondsLeft == nil)
    }

    @Test(arguments: [80, 90, 100, 120, 140])
    func theTimeLeftIsThereBesideAFailure(columns: Int) {
        var meter = ProgressMeter()
        func update(_ bytes: Int64, atSeconds seconds: Double) -> CatalogStatus {
            let next = status {
                $0.totals.bytes = bytes
                $0.totals.expectedBytes = 10 << 30
            }
            meter.update(next, atSeconds: seconds)
            return next
        }
        _ = update(1 << 30, atSeconds: 0)
        _ = update(3 << 29, atSeconds: 5)
        let last = update(2 << 30, atSeconds: 10)
        let lines = ProgressText(status: last, meter: meter, style: plain)
            .lines(columns: columns, rows: 10)
        #expect(lines[0].contains(" 1:20 left"), "\(lines[0])")
    }

    @Test func aShareOfSegmentsIsNotKeptForOneOfBytes() {
        var meter = ProgressMeter()
        func update(_ done: Int, _ bytes: Int64, of all: Int64?, atSeconds seconds: Double) {
            let next = status {
                ($0.totals.segments, $0.totals.segmentsDone) = (2, done)
                ($0.totals.bytes, $0.totals.expectedBytes) = (bytes, all)
            }
            meter.update(next, atSeconds: seconds)
        }
        update(1, 1 << 20, of: nil, atSeconds: 0)
        #expect(meter.catalog.fraction == 0.5)
        update(1, 3 << 20, of: 100 << 20, atSeconds: 1)
        #expect(meter.catalog.fraction == 0.03 && meter.catalog.secondsLeft == nil)
        update(1, 4 << 20, of: 100 << 20, atSeconds: 2)
        #expect(meter.catalog.fraction == 0.04)
        update(1, 5 << 20, of: 100 << 20, atSeconds: 3)
        #expect(abs((meter.catalog.secondsLeft ?? 0) - 95) < 0.01)
        // More turned up: the bar waits.
        update(1, 5 << 20, of: 200 << 20, atSeconds: 4)
        #expect(meter.catalog.fraction == 0.05)
    }

    @Test func whatLayThereAlreadyIsNotSpeed() {
        var meter = ProgressMeter()
        meter.update(status(), atSeconds: 0)
        meter.update(
            status {
                $0.totals.bytes += 10 << 20
                $0.totals.adoptedBytes += 10 << 20
            }, atSeconds: 1)
        #expect(meter.catalog.bytesPerSecond == 0)
    }

    @Test func framesAreDrawnInPlace() {
        #expect(LiveLines.frame(["a", "b"], over: 0) == "\ra\u{1B}[K\nb\u{1B}[K\n\u{1B}[J")
        #expect(LiveLines.frame(["a"], over: 2) == "\r\u{1B}[2Aa\u{1B}[K\n\u{1B}[J")
    }

    @Test func theSummaryIsATable() {
        let ended = status {
            $0.state = .failed
            $0.totals.seconds = 21.37
            $0.totals.adoptedBytes = 1 << 20
        }
        let text = RunSummary(status: ended, destination: "/srv/edge").text
        #expect(
            text == """
                demo: 1 of 50 assets failed, in /srv/edge

                Assets  Completed  Failed  Segments     Bytes  Already there    Time        Rate  Retries
                    50         33       1       680  1.00 GiB       1.00 MiB  21.4 s  47.9 MiB/s        2

                """)
    }

    @Test func aSummaryFitsItsTerminal() {
        var summary = RunSummary(status: status { $0.state = .completed }, destination: "/edge")
        summary.columns = 80
        summary.missingSidecars = 1
        let text = summary.text
        for line in text.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
        #expect(text.contains("\n\nRetries\n      2\n"), "\(text)")
        #expect(text.hasSuffix("\n\n1 sidecar missing, see --report\n"))
    }

    @Test func aSummaryNamesTheGapsOfRecordings() {
        var summary = RunSummary(
            status: status {
                $0.state = .completed
                $0.recording = CatalogRecording(
                    recording: 0, titles: 1, segments: 15, gaps: 7, behindSeconds: 0, unrecorded: 0)
            }, destination: "/edge")
        #expect(summary.text.hasSuffix("\n\nrecorded 1 title: 15 segments, 7 gaps\n"))
        var gap = ClusterEvent(id: "1-1", time: 0, kind: EventKind(rawValue: "asset.gap"))
        (gap.message, gap.code) = ("Segment 2, o/2.ts\u{1B}, could not be fetched", .originHTTP404)
        summary.gaps = RunSummary.gaps([gap], hasMore: true)
        #expect(
            summary.text.hasSuffix(
                "15 segments, 7 gaps\n    Segment 2, o/2.ts\\u{1B}, could not be fetched "
                    + "(origin.http.404)\n    and more gaps\n"), "\(summary.text)")
    }

    @Test func failuresAreListedUpToABound() {
        let failed = (1...25).map { number in
            AssetStatus(
                id: AssetID(Int64(number)), name: "a\(number)\u{1B}", url: "http://o", kind: .file,
                state: .failed, failure: Failure("origin.http.404", "GET http://o/a: 404"))
        }
        let text = RunSummary.failures(failed, total: 30, reportPath: "r.json")
        #expect(text.hasPrefix("failed: a1\\u{1B}\n    origin.http.404: GET http://o/a: 404\n"))
        #expect(text.contains("The origin has no such object; check the URL."))
        #expect(text.hasSuffix("and 10 more, see r.json\n"))
        #expect(text.split(separator: "\n").count { $0.hasPrefix("failed:") } == 20)
    }

    @Test func aNameMadeOfASignedURLKeepsItsSecret() {
        var asset = AssetStatus(
            id: AssetID(1), name: "cdn/film?sig=abc", url: "http://cdn/film?sig=abc", kind: .file,
            state: .new)
        #expect(asset.shownName == "cdn/film?…")
        asset.name = "What is this? A film"
        asset.url = "http://cdn/film"
        #expect(asset.shownName == "What is this? A film")
    }

    @Test(arguments: [
        ("127.0.0.1:7400", "127.0.0.1", 7_400), ("localhost:0", "127.0.0.1", 0),
        ("[::1]:80", "::1", 80), ("0.0.0.0:65535", "0.0.0.0", 65_535),
        ("127.0.0.2", "127.0.0.2", 7_400), ("127.0.0.2:80", "127.0.0.2", 80),
        ("localhost", "127.0.0.1", 7_400), ("[::1]", "::1", 7_400),
    ])
    func listenAddresses(text: String, address: String, port: Int) throws {
        let listen = try ListenAddress(text)
        #expect(listen.address == address)
        #expect(listen.port == port)
    }

    @Test(arguments: ["", "7400", ":7400", "a:b", "1.2.3.4:65536", "::1:80", "[]", "x:-1", "1.2"])
    func badListenAddresses(text: String) {
        #expect(throws: UsageError.self) { try ListenAddress(text) }
        // A port of its own only a coordinator has.
        #expect(throws: UsageError.self) {
            try ListenAddress("127.0.0.2", option: "metrics-listen")
        }
    }

    @Test func whatListensEverywhereIsReachedOnLoopback() throws {
        #expect(try ListenAddress("0.0.0.0:1").url(port: 5) == "http://127.0.0.1:5")
    }

    @Test func batchesKeepWithinTheWireLimits() {
        var batch = SubmissionBatch()
        var sizes: [Int] = []
        let short = { (number: Int) in
            AssetSubmission(name: "\(number)", url: "http://o/a", kind: .file, key: "o/a")
        }
        for number in 0..<5_001 {
            if let full = batch.add(short(number)) { sizes.append(full.count) }
        }
        #expect(sizes == [5_000])
        // A list may name an asset twice alike; a request does not.
        #expect(batch.add(short(5_000)) == nil)
        #expect(batch.takeRest()?.count == 1)
        #expect(batch.takeRest() == nil)
        let url = "http://o/" + String(repeating: "x", count: 8_000)
        for number in 0..<5_000 {
            let long = AssetSubmission(
                name: "\(number)", url: url, kind: .file, key: String(repeating: "k", count: 2_000))
            if let full = batch.add(long) { sizes.append(full.count) }
        }
        #expect(sizes.dropFirst().allSatisfy { $0 * 10_000 < WireLimits.bodyBytes / 2 })
    }

    @Test func pathsAreMadeAbsoluteByName() {
        #expect(Destination.absolute("/a/./b/../c//d/") == "/a/c/d")
        #expect(Destination.absolute("/../..") == "/")
    }

    @Test func nothingIsFetchedAtNoRate() {
        var meter = ProgressMeter()
        meter.update(status(), atSeconds: 0)
        meter.update(status { $0.totals.bytes += 50 << 20 }, atSeconds: 1)
        #expect(meter.catalog.bytesPerSecond ?? 0 > 0)
        // A wait of a moment is none.
        for second in [2.0, 3] {
            meter.update(
                status {
                    $0.totals.bytes += 50 << 20
                    $0.waits = [CatalogWait(.paused(assets: 2))]
                }, atSeconds: second)
        }
        #expect(meter.catalog.bytesPerSecond == 0 && meter.catalog.secondsLeft == nil)
    }
}
