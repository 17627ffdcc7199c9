import Testing

@testable import Digest

/// The digests of a message and of its parts, against those of libcrypto for each of them alone.
@Suite struct PartedSHA256Tests {
    private static let bytes = (0..<20_000).map {
        UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13)
    }

    private static func hash(_ bytes: ArraySlice<UInt8>) -> SHA256Digest {
        SHA256Digest(hashing: Array(bytes))
    }

    /// Parts that end within blocks, at their ends, and one byte beside these; blocks of any length.
    @Test(
        arguments: [[64, 128, 4096], [1, 63, 64, 65, 127, 1000], [0, 0, 55, 56, 57], [20_000]],
        [1, 7, 64, 4096])
    func partsAndWholeAreThoseOfLibcrypto(lengths: [Int], step: Int) throws {
        for usesInstructions in Set([false, SHA256Pair.isAvailable]) {
            var digest = PartedSHA256.parted(usesInstructions: usesInstructions)
            for message in 0..<2 {
                var start = message
                for length in lengths where start + length <= Self.bytes.count {
                    for offset in stride(from: start, to: start + length, by: step) {
                        Self.bytes[offset..<min(offset + step, start + length)].withUnsafeBytes {
                            digest.update($0)
                        }
                    }
                    let part = digest.finishPart()
                    #expect(part == Self.hash(Self.bytes[start..<start + length]))
                    start += length
                    let sofar = digest.soFar()
                    #expect(sofar == Self.hash(Self.bytes[message..<start]))
                }
                // Bytes of a part that does not end.
                Self.bytes.prefix(100).withUnsafeBytes { digest.update($0) }
                let whole = digest.finish()
                #expect(
                    whole == Self.hash(Self.bytes[message..<start] + Self.bytes.prefix(100)))
            }
        }
    }

    @Test func aMessageWithoutPartsHasNone() {
        var digest = PartedSHA256()
        Self.bytes.withUnsafeBytes { digest.update($0) }
        #expect(digest.finishPart() == nil)
        let whole = digest.finish()
        #expect(whole == Self.hash(Self.bytes[...]))
    }

    @Test func aSetInTheBackgroundHasTheDigestsOfParts() {
        var digests = DigestSet([.md5])
        digests.beginParts()
        digests.hashInBackground()
        for start in [0, 12_800] {
            let part = Self.bytes[start..<min(start + 12_800, Self.bytes.count)]
            part.withUnsafeBytes { digests.update($0) }
            let digest = digests.finishPart()
            #expect(digest == Self.hash(part))
        }
        let computed = digests.finish()
        #expect(computed.sha256 == Self.hash(Self.bytes[...]))
        #expect(computed.others.count == 1)
    }
}
