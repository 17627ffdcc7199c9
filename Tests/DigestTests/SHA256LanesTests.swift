import Statistics
import Testing

@testable import Digest

@Suite struct SHA256LanesTests {
    /// Those that this processor can run: none without AVX2.
    static let counts = [8, 16].filter { SHA256Lanes(count: $0) != nil }

    /// Lengths on both sides of every bound: an empty message, a block, a tail of one block and of two.
    private static let lengths = [
        0, 1, 54, 55, 56, 57, 63, 64, 65, 118, 119, 120, 127, 128, 129, 4_095, 65_536, 131_072,
    ]

    @Test("each message has the digest that libcrypto gives it", arguments: counts)
    func asLibcrypto(count: Int) throws {
        let lanes = try #require(SHA256Lanes(count: count))
        var random = SeededRandom(seed: 7)
        for messages in [0, 1, 2, count - 1, count, count + 1, 5 * count + 3] {
            let bodies = (0..<messages).map { index -> [UInt8] in
                let length =
                    index % 2 == 0
                    ? Self.lengths[(index / 2 + messages) % Self.lengths.count]
                    : Int.random(in: 0...3_000, using: &random)
                return (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            }
            let digests = hash(bodies, lanes)
            #expect(digests == bodies.map { SHA256Digest(hashing: $0) }, "\(messages) messages")
        }
    }

    @Test("every length up to some blocks, in every lane", arguments: counts)
    func everyLength(count: Int) throws {
        let lanes = try #require(SHA256Lanes(count: count))
        let bodies = (0..<(40 * count)).map { length in
            (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ length) }
        }
        #expect(hash(bodies, lanes) == bodies.map { SHA256Digest(hashing: $0) })
    }

    @Test("a processor has lanes or instructions of its own, or neither")
    func worthwhile() {
        if let count = SHA256Lanes.worthwhileCount { #expect(Self.counts.contains(count)) }
        #expect(SHA256Lanes(count: 4) == nil)
    }

    private func hash(_ bodies: [[UInt8]], _ lanes: SHA256Lanes) -> [SHA256Digest?] {
        let messages = bodies.map { body -> UnsafeRawBufferPointer in
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: body.count, alignment: 1)
            copy.copyBytes(from: body)
            return UnsafeRawBufferPointer(copy)
        }
        defer { for message in messages { message.deallocate() } }
        var digests = [SHA256Digest?](repeating: nil, count: bodies.count)
        lanes.hash(messages) { index, digest in
            #expect(digests[index] == nil)
            digests[index] = digest
        }
        return digests
    }
}
