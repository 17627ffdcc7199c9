/// Counts of an interval.
///
/// In JSON the counts of all groups are one flat object.
package struct LoadCounts: Sendable, Equatable {
    package var requests = Requests()
    package var pacing = Pacing()
    package var afterEnd = AfterEnd()
    package var cache = Cache()
    package var viewers = Viewers()
    package var playback = Playback()
    package var live = Live()
    package var pathways = Pathways()
    /// CPU seconds of the generator's processes.
    package var cpuSeconds = 0.0
    /// Shards of a second are added; later seconds replace earlier ones.
    package var levels = Levels()

    package init() {}

    package mutating func add(_ other: LoadCounts) {
        requests.add(other.requests)
        pacing.add(other.pacing)
        afterEnd.add(other.afterEnd)
        cache.add(other.cache)
        viewers.add(other.viewers)
        playback.add(other.playback)
        live.add(other.live)
        pathways.add(other.pathways)
        cpuSeconds += other.cpuSeconds
        levels.add(other.levels)
    }

    // Counts up to the end of the load, from which rates are calculated.

    package var succeededInTime: Int64 { requests.succeeded - afterEnd.succeeded }
    package var failedInTime: Int64 { requests.failed - afterEnd.failed }
    package var endedInTime: Int64 { succeededInTime + failedInTime }
    package var bytesInTime: Int64 { requests.bytes - afterEnd.bytes }
    package var cpuSecondsInTime: Double { max(cpuSeconds - afterEnd.cpuSeconds, 0) }
}

extension LoadCounts {
    /// Requests, their answers and connections.
    package struct Requests: Sendable, Equatable, Codable {
        package var sent: Int64 = 0
        package var succeeded: Int64 = 0
        package var failed: Int64 = 0
        /// Bytes of bodies, including those of failed requests.
        package var bytes: Int64 = 0
        /// Part of `bytes` that belongs to failed requests.
        package var failedBytes: Int64 = 0
        /// Requests sent once more on a new connection, because the server closed a kept one before
        /// the first byte of an answer. The server may have received both; `sent` counts one.
        package var resent: Int64 = 0
        /// Requests that were answered with a redirect, which was followed; part of `succeeded`.
        package var redirects: Int64 = 0
        /// Connections opened.
        package var connections: Int64 = 0
        /// Requests in flight when the test was stopped, or cut off by a byte cap, and the longest
        /// time since the planned start of one. No latency includes them.
        package var unfinished: Int64 = 0
        package var longestUnfinishedSeconds = 0.0

        /// Requests that ended.
        package var ended: Int64 { succeeded + failed }

        mutating func add(_ other: Requests) {
            sent += other.sent
            succeeded += other.succeeded
            failed += other.failed
            bytes += other.bytes
            failedBytes += other.failedBytes
            resent += other.resent
            redirects += other.redirects
            connections += other.connections
            unfinished += other.unfinished
            longestUnfinishedSeconds = max(longestUnfinishedSeconds, other.longestUnfinishedSeconds)
        }
    }

    /// The generator's plan, and the requests with which it was behind.
    package struct Pacing: Sendable, Equatable, Codable {
        /// Requests and viewers that were due in the open model's plan.
        package var planned: Int64 = 0
        /// Requests sent more than `LoadHealth.lateSeconds` after they were due although a slot was
        /// free: a delay of the generator.
        package var lateSends: Int64 = 0
        /// Requests that were due before the end and never sent.
        package var missedSends: Int64 = 0
        /// Requests that waited in the generator because all `LoadHTTP.concurrency` slots were in
        /// use.
        package var queued: Int64 = 0

        mutating func add(_ other: Pacing) {
            planned += other.planned
            lateSends += other.lateSends
            missedSends += other.missedSends
            queued += other.queued
        }
    }

    /// The part of other counts after the end of the load, while the last requests ended. No rate
    /// includes it.
    package struct AfterEnd: Sendable, Equatable, Codable {
        package var succeeded: Int64 = 0
        package var failed: Int64 = 0
        package var bytes: Int64 = 0
        package var cpuSeconds = 0.0

        private enum CodingKeys: String, CodingKey {
            case succeeded = "succeededAfterEnd"
            case failed = "failedAfterEnd"
            case bytes = "bytesAfterEnd"
            case cpuSeconds = "cpuSecondsAfterEnd"
        }

        mutating func add(_ other: AfterEnd) {
            succeeded += other.succeeded
            failed += other.failed
            bytes += other.bytes
            cpuSeconds += other.cpuSeconds
        }
    }

    /// Responses that a cache served or fetched, as their headers say.
    package struct Cache: Sendable, Equatable, Codable {
        package var hits: Int64 = 0
        package var misses: Int64 = 0
        /// Bytes of their bodies.
        package var hitBytes: Int64 = 0
        package var missBytes: Int64 = 0
        /// Responses from a cache with an `Age`, and the sum of their ages.
        package var ages: Int64 = 0
        package var ageSeconds = 0.0

        package init() {}

        private enum CodingKeys: String, CodingKey {
            case hits = "cacheHits"
            case misses = "cacheMisses"
            case hitBytes = "cacheHitBytes"
            case missBytes = "cacheMissBytes"
            case ages = "cacheAges"
            case ageSeconds = "cacheAgeSeconds"
        }

        mutating func add(_ other: Cache) {
            hits += other.hits
            misses += other.misses
            hitBytes += other.hitBytes
            missBytes += other.missBytes
            ages += other.ages
            ageSeconds += other.ageSeconds
        }

        /// Share of the responses with cache headers that a cache served; nil without any.
        package var hitRatio: Double? {
            let known = hits + misses
            return known > 0 ? Double(hits) / Double(known) : nil
        }

        /// The same by bytes of bodies.
        package var byteHitRatio: Double? {
            let known = hitBytes + missBytes
            return known > 0 ? Double(hitBytes) / Double(known) : nil
        }

        /// Mean `Age` of responses from a cache.
        package var meanAgeSeconds: Double? { ages > 0 ? ageSeconds / Double(ages) : nil }
    }
}

extension LoadCounts {
    /// Starts and ends of viewers.
    package struct Viewers: Sendable, Equatable, Codable {
        package var started: Int64 = 0
        package var ended: Int64 = 0
        /// Ended viewers that could not play to the end.
        package var failed: Int64 = 0
        /// Ended viewers that still waited for their first frame.
        package var notStarted: Int64 = 0
        /// Ended viewers that left because they waited too long.
        package var abandoned: Int64 = 0
        /// Part of `Pacing.missedSends`: viewers that were due while the generator had the maximum
        /// number.
        package var rejected: Int64 = 0

        private enum CodingKeys: String, CodingKey {
            case started = "viewersStarted"
            case ended = "viewersEnded"
            case failed = "viewersFailed"
            case notStarted = "viewersNotStarted"
            case abandoned = "viewersAbandoned"
            case rejected = "viewersRefused"
        }

        mutating func add(_ other: Viewers) {
            started += other.started
            ended += other.ended
            failed += other.failed
            notStarted += other.notStarted
            abandoned += other.abandoned
            rejected += other.rejected
        }
    }

    /// Playing of viewers: its segments, time and interruptions.
    package struct Playback: Sendable, Equatable, Codable {
        package var segments: Int64 = 0
        /// Segments that arrived after the buffer was empty.
        package var lateSegments: Int64 = 0
        package var stalls: Int64 = 0
        package var switches: Int64 = 0
        package var seeks: Int64 = 0
        package var playedSeconds = 0.0
        package var stalledSeconds = 0.0
        /// Bits of the played renditions: bit rate times time.
        package var playedBits = 0.0

        mutating func add(_ other: Playback) {
            segments += other.segments
            lateSegments += other.lateSegments
            stalls += other.stalls
            switches += other.switches
            seeks += other.seeks
            playedSeconds += other.playedSeconds
            stalledSeconds += other.stalledSeconds
            playedBits += other.playedBits
        }
    }

    /// Manifests and edges of live viewers.
    package struct Live: Sendable, Equatable, Codable {
        /// Manifests that were requested again; of these, those without anything new for more than
        /// 1.5 target durations.
        package var playlistReloads: Int64 = 0
        package var stalePlaylists: Int64 = 0
        /// Times that a viewer continued at the edge, because its next segment was not listed any
        /// more.
        package var skips: Int64 = 0

        private enum CodingKeys: String, CodingKey {
            case playlistReloads
            case stalePlaylists
            case skips = "liveSkips"
        }

        mutating func add(_ other: Live) {
            playlistReloads += other.playlistReloads
            stalePlaylists += other.stalePlaylists
            skips += other.skips
        }
    }

    /// Changes of a viewer's pathway.
    package struct Pathways: Sendable, Equatable, Codable {
        package var changes: Int64 = 0
        /// Part of `changes`: those because the pathway failed.
        package var failures: Int64 = 0

        private enum CodingKeys: String, CodingKey {
            case changes = "pathwayChanges"
            case failures = "pathwayFailures"
        }

        mutating func add(_ other: Pathways) {
            changes += other.changes
            failures += other.failures
        }
    }

    /// Levels at the interval's end.
    package struct Levels: Sendable, Equatable, Codable {
        /// Requests in flight.
        package var inFlight: Int64 = 0
        /// Requests that are due and wait for a slot.
        package var backlog: Int64 = 0
        package var viewers: Int64 = 0

        package init() {}

        mutating func add(_ other: Levels) {
            inFlight += other.inFlight
            backlog += other.backlog
            viewers += other.viewers
        }
    }
}
