/// The wire form: all groups share one object.
extension LoadCounts: Codable {
    private enum CodingKeys: String, CodingKey {
        case cpuSeconds
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(cpuSeconds, forKey: .cpuSeconds)
        try requests.encode(to: encoder)
        try pacing.encode(to: encoder)
        try afterEnd.encode(to: encoder)
        try cache.encode(to: encoder)
        try viewers.encode(to: encoder)
        try playback.encode(to: encoder)
        try live.encode(to: encoder)
        try pathways.encode(to: encoder)
        try levels.encode(to: encoder)
    }

    package init(from decoder: any Decoder) throws {
        requests = try Requests(from: decoder)
        pacing = try Pacing(from: decoder)
        afterEnd = try AfterEnd(from: decoder)
        cache = try Cache(from: decoder)
        viewers = try Viewers(from: decoder)
        playback = try Playback(from: decoder)
        live = try Live(from: decoder)
        pathways = try Pathways(from: decoder)
        levels = try Levels(from: decoder)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        cpuSeconds = try container.decode(Double.self, forKey: .cpuSeconds)
    }
}

extension LoadCounts {
    /// Range of any count in one second of one shard. Sums over all shards and seconds of the
    /// largest test fit into 64 bits, and 2³⁶ bytes are 550 Gbit.
    static let ofOneSecond: ClosedRange<Int64> = 0...(1 << 36)

    /// True if the counts are plausible for one second of one shard. Workers' reports are checked
    /// before they are merged.
    var isOfOneSecond: Bool {
        [
            requests.whole, pacing.whole, [afterEnd.succeeded, afterEnd.failed, afterEnd.bytes],
            cache.whole, viewers.whole, playback.whole,
            [live.playlistReloads, live.stalePlaylists, live.skips],
            [pathways.changes, pathways.failures],
            [levels.inFlight, levels.backlog, levels.viewers],
        ].joined().allSatisfy(Self.ofOneSecond.contains)
            // Differences of clocks may be slightly below zero.
            && [
                requests.longestUnfinishedSeconds, afterEnd.cpuSeconds, cache.ageSeconds,
                playback.playedSeconds, playback.stalledSeconds, playback.playedBits, cpuSeconds,
            ].allSatisfy { (-1...1e18).contains($0) }
    }
}

extension LoadCounts.Requests {
    fileprivate var whole: [Int64] {
        [
            sent, succeeded, failed, bytes, failedBytes, resent, redirects, connections, unfinished,
        ]
    }
}

extension LoadCounts.Pacing {
    fileprivate var whole: [Int64] { [planned, lateSends, missedSends, queued] }
}

extension LoadCounts.Cache {
    fileprivate var whole: [Int64] { [hits, misses, hitBytes, missBytes, ages] }
}

extension LoadCounts.Viewers {
    fileprivate var whole: [Int64] { [started, ended, failed, notStarted, abandoned, rejected] }
}

extension LoadCounts.Playback {
    fileprivate var whole: [Int64] { [segments, lateSegments, stalls, switches, seeks] }
}
