package import Model
import Text

/// A worker's shard of a test's data, read part by part.
///
/// The items of a part go straight to their positions in the whole order, and its text is not kept: a
/// request takes 16 bytes. More items than a client may send are rejected. A value: used by one owner
/// at a time.
package struct LoadShardData: Sendable {
    /// URLs of a replay; nil for rows.
    private let urls: Int?
    private var rows: DealtItems<ViewerData.Row>
    private var requests: DealtItems<LoadReplay.Record>

    /// Creates data without a part.
    ///
    /// - Parameters:
    ///   - parts: number of the shard's parts, above 0.
    ///   - scenario: with the URLs of a replay.
    package init(parts: Int, of scenario: LoadScenario) {
        urls = scenario.replay?.urls.count
        rows = DealtItems(parts: parts, maxItems: ViewerData.maxRows, filler: ViewerData.Row())
        requests = DealtItems(
            parts: parts, maxItems: WireLimits.loadDataBytes / LoadParts.requestBytes,
            filler: LoadReplay.Record(seconds: 0, url: 0))
    }

    /// Adds the next part, by number.
    ///
    /// Throws as for a file of rows, without values, and `cluster.protocol` for what no client sends.
    package mutating func add(_ part: String) throws(Failure) {
        if let urls {
            try requests.add(try LoadParts.records(part, urls: urls))
        } else {
            try rows.add(try ViewerData(Array(part.utf8)).rows)
        }
    }

    /// Makes the data a shard's load, and forgets them. Changes nothing unless all parts were added.
    ///
    /// - Parameter shards: number of shards among which the data was divided.
    package mutating func move(
        to plan: inout LoadPlan, _ scenario: inout LoadScenario, shards: Int
    ) {
        if let replay = scenario.replay {
            guard let records = requests.take() else { return }
            scenario.targets[0].source = .replay(
                LoadReplay(
                    name: replay.name, urls: replay.urls, count: records.count,
                    logSeconds: records.last?.seconds ?? 0, speedUp: 1, shards: shards
                ) { index, most in
                    Array(records[index..<min(index + most, records.count)])
                })
        } else if let rows = rows.take() {
            plan.viewerData = ViewerData(rows: rows, shards: shards)
        }
    }
}

/// Items that were dealt into parts in turn, put together again in their original order.
struct DealtItems<Item: Sendable>: Sendable {
    private let parts: Int
    private let maxItems: Int
    private let filler: Item
    private var items: [Item] = []
    private var added = 0
    /// Number of items of the last part.
    private var last = 0
    private var count = 0

    /// - Parameter filler: stands where an item has not been added yet.
    init(parts: Int, maxItems: Int, filler: Item) {
        precondition(parts > 0)
        self.parts = parts
        self.maxItems = maxItems
        self.filler = filler
    }

    /// Adds the next part. Throws `cluster.protocol` for parts that do not belong together.
    mutating func add(_ part: [Item]) throws(Failure) {
        if added == 0 {
            // No other part has more.
            let most = part.count * parts
            guard most < maxItems + parts else { throw Self.impossible }
            items = Array(repeating: filler, count: most)
            last = part.count
        }
        // All items before this part's last one have been dealt.
        let isFirstShort = part.count == last - 1 && last * parts == items.count
        guard added < parts, part.count == last || isFirstShort else { throw Self.impossible }
        for (round, item) in part.enumerated() { items[round * parts + added] = item }
        added += 1
        last = part.count
        count += part.count
    }

    /// Returns all items, and forgets them; nil unless all parts were added.
    mutating func take() -> [Item]? {
        guard added == parts else { return nil }
        var all: [Item] = []
        swap(&all, &items)
        all.removeLast(all.count - count)
        self = Self(parts: parts, maxItems: maxItems, filler: filler)
        return all
    }

    private static var impossible: Failure {
        Failure(.clusterProtocol, "the parts of a load test's data do not belong together")
    }
}

extension LoadScenario {
    /// Makes a replay the load of a scenario that was written for workers; its requests follow as
    /// `LoadShardData`.
    ///
    /// - Parameter urls: those of the whole replay, one a line.
    ///
    /// Throws `cluster.protocol` for what no client sends.
    package mutating func setReplay(urls: String) throws(Failure) {
        let urls = urls.utf8.split(separator: ASCII.lineFeed)
        guard targets.count == 1, user == .requests, (1...LoadPlan.maxObjects).contains(urls.count),
            urls.allSatisfy({ $0.allSatisfy { (0x21...0x7E).contains($0) } })
        else { throw Failure(.clusterProtocol, "the URLs of a replay cannot be read") }
        targets[0].source = .replay(
            LoadReplay(
                name: targets[0].name, urls: urls.map { String(Substring($0)) }, count: 0,
                logSeconds: 0, speedUp: 1
            ) { _, _ in [] })
    }
}
