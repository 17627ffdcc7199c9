import Model
import Testing

@testable import LoadModel

/// Data of a test on a cluster, divided among its shards.
@Suite struct LoadPartsTests {
    /// Returns the parts of a shard, as a coordinator selects them.
    private static func own(_ parts: LoadParts, _ shard: Int, of shards: Int) -> [String] {
        parts.texts.indices.filter { $0 % shards == shard % parts.texts.count }
            .map { parts.texts[$0] }
    }

    /// Reads the parts of a shard of viewers' data.
    private static func rows(_ parts: [String], ofShards shards: Int) throws -> ViewerData {
        var (plan, scenario) = (LoadPlan(), LoadScenario())
        try add(parts, to: &plan, &scenario, ofShards: shards)
        return plan.viewerData
    }

    /// Reads the parts of a shard of a replay.
    private static func replay(
        _ scenario: LoadScenario, urls: String, _ parts: [String], ofShards shards: Int
    ) throws -> LoadScenario {
        var (plan, scenario) = (LoadPlan(), scenario)
        try scenario.setReplay(urls: urls)
        try add(parts, to: &plan, &scenario, ofShards: shards)
        return scenario
    }

    private static func add(
        _ parts: [String], to plan: inout LoadPlan, _ scenario: inout LoadScenario,
        ofShards shards: Int
    ) throws {
        var data = LoadShardData(parts: parts.count, of: scenario)
        for part in parts { try data.add(part) }
        data.move(to: &plan, &scenario, shards: shards)
    }

    private static func arrivals(_ arrivals: LoadArrivals) -> [LoadArrival] {
        var arrivals = arrivals
        var all: [LoadArrival] = []
        while let arrival = arrivals.next() { all.append(arrival) }
        return all
    }

    // MARK: Rows

    private static func file(rows: Int) -> [UInt8] {
        let lines = (0..<rows).map { "token=\($0),\"a,\($0)\"\r\n" }
        return Array((["query,Cookie\r\n\r\n"] + lines).joined().utf8)
    }

    @Test(arguments: [1, 2, 3, 199, 200, 5_041, 12_001], [1, 2, 3, 11, 200])
    func eachRowIsInOneShard(rows: Int, shards: Int) throws {
        let text = Self.file(rows: rows)
        let whole = try ViewerData(text).rows
        #expect(whole.count == rows && whole[rows - 1].headers.first?.value == "a,\(rows - 1)")
        let parts = try LoadParts(viewerData: text)
        #expect(parts.urlBlocks == nil && parts.texts.count == min(rows, WireLimits.loadParts))
        var all: [ViewerData.Row] = []
        for shard in 0..<shards {
            let own = try Self.rows(Self.own(parts, shard, of: shards), ofShards: shards)
            #expect(own.shards == shards)
            let numbers = own.rows.compactMap { Int($0.query.dropFirst("token=".count)) }
            #expect(numbers == numbers.sorted() && numbers.count == own.rows.count)
            guard rows >= shards else {
                // As the viewers of as many threads of one process begin.
                #expect(numbers == [shard % rows])
                continue
            }
            if rows <= WireLimits.loadParts || WireLimits.loadParts % shards == 0 {
                #expect(numbers.allSatisfy { $0 % shards == shard })
            }
            // None has many more than others.
            #expect(abs(numbers.count - rows / shards) <= rows / WireLimits.loadParts + 1)
            all += own.rows
        }
        guard rows >= shards else { return }
        #expect(all.count == rows && Set(all.map(\.query)).count == rows)
    }

    /// The first viewers of the whole test have the rows that those of one process have; later ones
    /// have those of their own shard.
    @Test func viewersTakeTheRowsOfTheirShardInTurn() throws {
        let parts = try LoadParts(viewerData: Self.file(rows: 12))
        let (shards, threads) = (3, 2)
        for shard in 0..<shards {
            let data = try Self.rows(Self.own(parts, shard, of: shards), ofShards: shards)
            var rows: [Int] = []
            for thread in 0..<threads {
                let loop = LoadShard(index: shard, count: shards).part(thread, of: threads)
                var mix = ViewerMix([], data: data, shard: loop, seed: 1)
                let taken = (0..<4).compactMap { _ in
                    Int(data.rows[Int(mix.next().row)].query.dropFirst("token=".count))
                }
                let first = loop.index
                #expect(taken == [first, first + 6, first, first + 6])
                rows += taken
            }
            #expect(Set(rows) == Set((0..<4).map { shard + 3 * $0 }))
        }
    }

    @Test func aFileThatCannotBeReadIsRefusedWithoutItsValues() {
        let failure = #expect(throws: Failure.self) {
            _ = try LoadParts(viewerData: Array("Cookie\ns3cret,more\n".utf8))
        }
        #expect(failure?.message.contains("line 2") == true)
        #expect(failure.map { "\($0)".contains("s3cret") } == false)
    }

    // MARK: Requests

    private static func replay(_ count: Int, urls: [String] = ["http://h/a", "http://h/b?c=d"])
        -> LoadReplay
    {
        LoadReplay(
            name: "log", urls: urls, count: count, logSeconds: Double(count) / 1_000, speedUp: 4
        ) { index, most in
            // Bursts, and a pause of an hour.
            (index..<min(count, index + most)).map {
                LoadReplay.Record(
                    seconds: Double($0 / 10) / 100 + ($0 > count / 2 ? 3_600 : 0),
                    url: UInt32($0 % urls.count))
            }
        }
    }

    @Test(arguments: [1, 2, 199, 5_041, 12_001], [1, 2, 3, 11, 200])
    func eachRequestIsInOneShardAtItsTime(count: Int, shards: Int) throws {
        var whole = LoadScenario()
        whole.setReplay(Self.replay(count))
        let parts = try LoadParts(Self.replay(count))
        #expect(parts.texts.count == min(max(count, 200), WireLimits.loadParts))
        let urls = try #require(parts.urlBlocks).joined(separator: "\n")
        var all: [LoadArrival] = []
        for index in 0..<shards {
            let shard = LoadShard(index: index, count: shards)
            let scenario = try Self.replay(
                try LoadScenarioReader.read(Array(try LoadScenarioWriter.write(whole).utf8)),
                urls: urls, Self.own(parts, index, of: shards), ofShards: shards)
            // Two threads of its worker.
            let own = (0..<2).flatMap { thread in
                Self.arrivals(LoadArrivals(scenario, .constant, shard.part(thread, of: 2)))
            }
            // What the client would count of it if it was lost.
            let log = try #require(whole.replay)
            for seconds in [0, 0.00001, 0.0501, 0.2501, 900.001, 900.501, 1e9] {
                #expect(
                    log.requests(of: shard, before: seconds) == own.count { $0.seconds < seconds })
            }
            all += own
        }
        let expected = Self.arrivals(LoadArrivals(whole, .constant, .whole))
        #expect(all.count == count && expected.count == count)
        // Times are whole microseconds.
        func key(_ arrival: LoadArrival) -> [Int] {
            [Int((arrival.seconds * 1e6).rounded()), arrival.object ?? -1]
        }
        let sort = { (arrivals: [LoadArrival]) in
            arrivals.map(key).sorted { $0.lexicographicallyPrecedes($1) }
        }
        #expect(sort(all) == sort(expected))
    }

    @Test func aLogWithTooManyURLsIsRefused() {
        let urls = (0..<5_000).map { "http://h/\($0)/" + String(repeating: "x", count: 2_000) }
        let failure = #expect(throws: Failure.self) {
            _ = try LoadParts(Self.replay(10, urls: urls))
        }
        #expect(failure?.code == .inputTooLarge)
        #expect(failure?.message.contains("5000 different URLs") == true)
    }

    @Test func aLogThatCannotBeReadAgainIsRefused() {
        let replay = LoadReplay(
            name: "log", urls: ["http://h/a"], count: 5, logSeconds: 1, speedUp: 1
        ) { _, _ in [] }
        let failure = #expect(throws: Failure.self) { _ = try LoadParts(replay) }
        #expect(failure?.code == .inputUnreadable)
    }

    @Test(arguments: [
        "0", "0 0", "0 0 0\n", " 0\n", "0 \n", "\n", "0 2\n", "-1 0\n", "0 A\n",
        "zzzzzzzzzzz 0\n", "zzzzzzzzzzzz 0\n",
    ])
    func nonsenseOfACoordinatorIsRefused(part: String) throws {
        var scenario = LoadScenario()
        scenario.targets = [LoadTarget(name: "log", source: .url("http://h/", .file))]
        #expect {
            _ = try Self.replay(scenario, urls: "http://h/a\nhttp://h/b", [part], ofShards: 1)
        } throws: {
            ($0 as? Failure)?.code == .clusterProtocol
        }
        #expect(throws: Failure.self) {
            try scenario.setReplay(urls: "http://h/a b")
        }
        scenario = try Self.replay(scenario, urls: "http://h/a", ["a 0\n", ""], ofShards: 2)
        #expect(scenario.replay?.count == 1 && scenario.replay?.logSeconds == 1e-5)
    }

    @Test(arguments: [
        ["", "0 0\n"], ["0 0\n0 0\n", ""], ["0 0\n", "", "0 0\n"],
        ["0 0\n0 0\n", "0 0\n", "0 0\n0 0\n"],
    ])
    func partsThatDoNotBelongTogetherAreRefused(parts: [String]) throws {
        var scenario = LoadScenario()
        scenario.targets = [LoadTarget(name: "log", source: .url("http://h/", .file))]
        #expect {
            _ = try Self.replay(scenario, urls: "http://h/a", parts, ofShards: 1)
        } throws: {
            ($0 as? Failure)?.code == .clusterProtocol
        }
    }

    /// A coordinator cannot make a worker reserve any memory that it wants.
    @Test func moreItemsThanAClientMaySendAreRefused() throws {
        var items = DealtItems(parts: 3, maxItems: 7, filler: 0)
        #expect(throws: Failure.self) { try items.add([0, 3, 6, 9]) }
        #expect(items.take() == nil)
        try items.add([0, 3, 6])
        try items.add([1, 4])
        #expect(items.take() == nil)
        try items.add([2, 5])
        #expect(throws: Failure.self) { try items.add([7]) }
        #expect(items.take() == Array(0..<7) && items.take() == nil)
    }

    @Test func urlsAreInBlocksOfWholeLines() throws {
        let urls = (0..<1_500).map { "http://h/\($0)/" + String(repeating: "x", count: 2_000) }
        let blocks = try #require(try LoadParts(Self.replay(10, urls: urls)).urlBlocks)
        #expect(blocks.count == 3)
        #expect(blocks.allSatisfy { $0.utf8.count <= WireLimits.loadPageBytes })
        #expect(blocks.joined(separator: "\n") == urls.joined(separator: "\n"))
    }
}
