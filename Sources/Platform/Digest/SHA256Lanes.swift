import CCrypto

/// Hashes several messages with SHA-256 in parallel, one per lane of the processor's widest
/// registers.
///
/// On a processor without SHA instructions, 16 lanes are some 8 times and 8 lanes some 4 times as
/// fast as one message after the other. With SHA instructions it brings nothing. Used by one thread
/// at a time; it may move between threads.
package final class SHA256Lanes {
    /// Minimum number of messages; fewer are hashed faster one by one.
    package static let minMessages = 3

    /// Number of lanes that pays off on this processor; nil if none does.
    package static let worthwhileCount: Int? = {
        let lanes = Int(dray_sha256_lane_count())
        return lanes > 0 ? lanes : nil
    }()

    /// Messages at a time, 8 or 16.
    package let count: Int
    private let state: UnsafeMutablePointer<UInt32>
    private let pointers: UnsafeMutablePointer<UnsafePointer<UInt8>>
    private let tails: UnsafeMutablePointer<UInt8>
    private var lanes: [Lane?]

    private static let blockBytes = 64
    /// The last bytes of a message, the bit after them and its length take one block or two.
    private static let tailBytes = 2 * blockBytes

    /// A message in progress.
    private struct Lane {
        let message: Int
        /// Blocks still to add from the lane's pointer in `pointers`.
        var blocks: Int
        var isTail = false
    }

    /// Returns nil if this processor does not support it.
    package init?(count: Int) {
        guard dray_sha256_has_lanes(Int32(count)) != 0 else { return nil }
        self.count = count
        state = .allocate(capacity: 8 * count)
        state.initialize(repeating: 0, count: 8 * count)
        tails = .allocate(capacity: Self.tailBytes * count)
        tails.initialize(repeating: 0, count: Self.tailBytes * count)
        pointers = .allocate(capacity: count)
        pointers.initialize(repeating: UnsafePointer(tails), count: count)
        lanes = Array(repeating: nil, count: count)
    }

    deinit {
        state.deallocate()
        pointers.deallocate()
        tails.deallocate()
    }

    /// Hashes `messages` of any number and lengths. Calls `body` with each message's index in the
    /// list and its digest, in the order of completion.
    package func hash(
        _ messages: [UnsafeRawBufferPointer], _ body: (Int, SHA256Digest) -> Void
    ) {
        var next = 0
        func begin(_ lane: Int) {
            lanes[lane] = nil
            guard next < messages.count else { return }
            start(next, messages[next], in: lane)
            next += 1
        }
        for lane in 0..<count { begin(lane) }
        while let first = lanes.firstIndex(where: { $0 != nil }) {
            let blocks = lanes.reduce(Int.max) { least, lane in min(least, lane?.blocks ?? .max) }
            // An idle lane's result is useless, but its input must be readable.
            for lane in 0..<count where lanes[lane] == nil { pointers[lane] = pointers[first] }
            add(blocks)
            for lane in first..<count {
                guard var running = lanes[lane] else { continue }
                pointers[lane] += blocks * Self.blockBytes
                running.blocks -= blocks
                lanes[lane] = running
                guard running.blocks == 0 else { continue }
                guard running.isTail else {
                    end(messages[running.message], in: lane)
                    continue
                }
                body(running.message, digest(of: lane))
                begin(lane)
            }
        }
    }

    private func add(_ blocks: Int) {
        if count == 16 {
            dray_sha256_16_lanes(state, pointers, blocks)
        } else {
            dray_sha256_8_lanes(state, pointers, blocks)
        }
    }

    /// FIPS 180-4, 5.3.3.
    private static let initial: [UInt32] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab,
        0x5be0_cd19,
    ]

    private func start(_ index: Int, _ message: UnsafeRawBufferPointer, in lane: Int) {
        for word in 0..<8 { state[word * count + lane] = Self.initial[word] }
        lanes[lane] = Lane(message: index, blocks: message.count / Self.blockBytes)
        if message.count < Self.blockBytes {
            end(message, in: lane)
        } else if let start = message.bindMemory(to: UInt8.self).baseAddress {
            pointers[lane] = start
        }
    }

    /// Pads the rest of `message` (FIPS 180-4, 5.1.1), and continues with that.
    private func end(_ message: UnsafeRawBufferPointer, in lane: Int) {
        let rest = message.count % Self.blockBytes
        let blocks = rest + 9 <= Self.blockBytes ? 1 : 2
        let tail = UnsafeMutableRawBufferPointer(
            start: tails + lane * Self.tailBytes, count: blocks * Self.blockBytes)
        _ = tail.initializeMemory(as: UInt8.self, repeating: 0)
        tail.copyMemory(from: UnsafeRawBufferPointer(rebasing: message.suffix(rest)))
        tail[rest] = 0x80
        tail.storeBytes(
            of: (UInt64(message.count) * 8).bigEndian, toByteOffset: tail.count - 8, as: UInt64.self
        )
        pointers[lane] = UnsafePointer(tails + lane * Self.tailBytes)
        lanes[lane]?.blocks = blocks
        lanes[lane]?.isTail = true
    }

    private func digest(of lane: Int) -> SHA256Digest {
        SHA256Digest { output in
            for word in 0..<8 {
                output.storeBytes(
                    of: state[word * count + lane].bigEndian, toByteOffset: 4 * word,
                    as: UInt32.self)
            }
        }
    }
}
