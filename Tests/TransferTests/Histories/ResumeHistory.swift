import Digest
import Model
import Statistics
import Storage
import Synchronization
import TestSupport
import Transfer

/// One object's random history: an origin that changes it, cuts answers short, serves other ranges
/// than those asked for, and workers that are killed and started again on a disk that may lose bytes.
///
/// All that is random comes from the seed: requests of one history come one after the other.
struct ResumeHistory {
    /// A history that ended in wrong bytes.
    struct Failed: Error, CustomStringConvertible {
        let seed: UInt64
        let reason: String
        let events: [String]

        var description: String {
            "seed \(seed): \(reason)\n" + events.joined(separator: "\n")
                + "\nRun it again with DRAY_SEED=\(seed)."
        }
    }

    /// Totals of histories, so that a test can check that they cover enough.
    struct Counts: Sendable {
        var successes = 0
        var resumed = 0
        var failures = 0
        var mismatches = 0

        static func + (left: Self, right: Self) -> Self {
            Counts(
                successes: left.successes + right.successes, resumed: left.resumed + right.resumed,
                failures: left.failures + right.failures,
                mismatches: left.mismatches + right.mismatches)
        }
    }

    private static let attempts = 6
    /// One in so many is of a body that another thread hashes.
    private static let longEach: UInt64 = 100

    /// Runs one history; throws `Failed` when its end is neither the right bytes nor a failure.
    static func run(
        seed: UInt64, origin: FaultOrigin, fetcher: Fetcher
    ) async throws -> Counts {
        var random = SeededRandom(seed: seed)
        let path = "/history/\(seed)"
        let isLong = seed % longEach == 0
        var shape = OriginScript.Shape()
        if isLong { shape.bytes = (16 << 20)...(17 << 20) }
        let script = OriginScript(seed: random.next(), path: path, shape: shape)
        for location in script.locations { origin.route(location) { script.answer($0) } }
        defer { for location in script.locations { origin.route(location, .init(404)) } }
        var attempts = Attempts(fetcher, url: origin.url(path), key: "h/\(seed)")
        attempts.asset = AssetID(Int64(seed))
        let wanted = script.listed
        var counts = Counts()
        for _ in 0..<Self.attempts {
            if Int.random(in: 0..<4, using: &random) == 0 {
                attempts.storage = try DirectoryStorage(
                    StorageURL(directory: fetcher.directory.path), durability: .none)
                script.log("the worker is another one")
            }
            if Int.random(in: 0..<12, using: &random) == 0 {
                try loseBytes(of: seed, fetcher.directory, &random, script)
            }
            let isKilled = Int.random(in: 0..<3, using: &random) == 0
            let outcome = try await attempts.run(
                isKilled ? .killed : .orderly, minimumBytes: isLong ? 1 << 20 : 500,
                noteBytes: isLong ? 3 << 20 : 700
            ) { $0.expected.furtherDigests = wanted }
            script.log("attempt: \(outcome.code?.rawValue ?? "success"), killed \(isKilled)")
            if let from = outcome.startedFrom {
                counts.resumed += 1
                script.log("it resumed from \(from)")
            }
            guard outcome.code == nil else {
                counts.failures += 1
                if outcome.code == "integrity.digestMismatch" { counts.mismatches += 1 }
                continue
            }
            counts.successes += 1
            guard let bytes = outcome.bytes, script.isRight(bytes) else {
                throw Failed(
                    seed: seed, reason: "\(outcome.bytes?.count ?? -1) wrong bytes were stored",
                    events: script.events)
            }
            return counts
        }
        if try fetcher.directory.files().contains("h/\(seed)") {
            throw Failed(seed: seed, reason: "a failure stored bytes", events: script.events)
        }
        return counts
    }

    /// What a power cut does to bytes that were never synced.
    private static func loseBytes(
        of seed: UInt64, _ directory: TemporaryDirectory, _ random: inout SeededRandom,
        _ script: OriginScript
    ) throws {
        let names = try directory.files().filter {
            $0.hasPrefix(".dray/tmp/lease-\(seed)-")
        }
        for name in names {
            var bytes = try directory.read(name)
            guard bytes.count > 10 else { continue }
            let start = Int.random(in: 0..<bytes.count, using: &random)
            for index in start..<min(start + 300, bytes.count) { bytes[index] = 0 }
            try directory.write(bytes, to: name)
            script.log("the disk lost bytes at \(start)")
        }
    }
}
