import Testing

@testable import Digest

@Suite("Several digests at once")
struct DigestSetTests {
    private let digits = Array("123456789".utf8)

    /// Of "123456789", as `md5sum` and its kin say; CRCs by their published check values.
    private let known: [DigestAlgorithm: String] = [
        .md5: "25f9e794323b453885f5181f1b624d0b",
        .sha1: "f7c3bc1d808e04732adf679965ccc34ca7ae3441",
        .sha512: "d9e6762dd1c8eaf6d61b3c6192fc408d4d6d5f1176d0c29169bc24e71c3f274a"
            + "d27fcd5811b313d681f7e55ec02d73d499c95455b6b5bb503acf574fba8ffe85",
        .crc32c: "e3069283", .crc32: "cbf43926", .crc64nvme: "ae8b14860a799888",
    ]

    @Test("agree with published values, in blocks of any size", arguments: 1...9)
    func knownValues(block: Int) {
        var set = DigestSet(DigestAlgorithm.allCases)
        for start in stride(from: 0, to: digits.count, by: block) {
            Array(digits[start..<min(start + block, digits.count)]).withUnsafeBytes {
                set.update($0)
            }
        }
        let (sha256, others) = set.finish()
        #expect(sha256 == SHA256Digest(hashing: digits))
        #expect(others.count == known.count)
        for digest in others { #expect(digest.hex == known[digest.algorithm]) }
        // A new message begins.
        digits.withUnsafeBytes { set.update($0) }
        let again = set.finish()
        #expect(again.sha256 == sha256)
        #expect(again.others == others)
    }

    @Test(
        "CRC32C by instruction and by table are one", arguments: [0, 1, 7, 8, 9, 63, 4_096, 4_099])
    func crc32c(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ 13) }
        var fast = CRC32C()
        var slow = CRC32C()
        bytes.withUnsafeBytes { fast.update($0) }
        bytes.withUnsafeBytes { slow.update($0, byTable: true) }
        #expect(fast.bytes == slow.bytes)
    }

    @Test("a look at the SHA-256 on the way changes nothing")
    func soFar() {
        var set = DigestSet()
        Array(digits[..<4]).withUnsafeBytes { set.update($0) }
        #expect(set.sha256SoFar() == SHA256Digest(hashing: Array(digits[..<4])))
        Array(digits[4...]).withUnsafeBytes { set.update($0) }
        #expect(set.finish().sha256 == SHA256Digest(hashing: digits))
    }

    @Test(
        "hashed in the background they are the same, in blocks of any size",
        arguments: [1_000, 16_384, 65_536, 131_072, 500_000, 3_000_000])
    func aside(block: Int) {
        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ $0 >> 9) }
        var plain = DigestSet(DigestAlgorithm.allCases)
        var aside = DigestSet(DigestAlgorithm.allCases)
        aside.hashInBackground()
        for start in stride(from: 0, to: bytes.count, by: block) {
            let end = min(start + block, bytes.count)
            bytes[start..<end].withUnsafeBytes {
                plain.update($0)
                aside.update($0)
            }
            if start % 3 == 0 || end == bytes.count {
                #expect(plain.sha256SoFar() == aside.sha256SoFar())
            }
        }
        let (first, second) = (plain.finish(), aside.finish())
        #expect(first.sha256 == SHA256Digest(hashing: bytes))
        #expect(first.sha256 == second.sha256)
        #expect(first.others == second.others)
        // A new message begins.
        digits.withUnsafeBytes { aside.update($0) }
        #expect(aside.finish().sha256 == SHA256Digest(hashing: digits))
    }

    @Test("more at once than there are cores, and dropped on the way, they are the same")
    func manyAside() async {
        let bytes = [UInt8](repeating: 7, count: 1 << 20)
        let expected = SHA256Digest(hashing: bytes + bytes)
        await withTaskGroup { group in
            for index in 0..<64 {
                group.addTask {
                    var set = DigestSet()
                    set.hashInBackground()
                    bytes.withUnsafeBytes { set.update($0) }
                    guard index % 4 != 0 else { return true }
                    bytes.withUnsafeBytes { set.update($0) }
                    return set.finish().sha256 == expected
                }
            }
            for await agrees in group { #expect(agrees) }
        }
    }

    @Test("stated digests are read and written")
    func expected() {
        for (algorithm, hex) in known {
            let digest = ExpectedDigest(algorithm, hex: hex.uppercased())
            #expect(digest?.hex == hex)
            #expect(digest.flatMap { ExpectedDigest($0.description) } == digest)
            #expect(ExpectedDigest(algorithm, hex: hex.dropLast()) == nil)
            #expect(ExpectedDigest(algorithm, hex: hex.dropLast() + "g") == nil)
        }
        #expect(ExpectedDigest("md6=00") == nil)
        #expect(ExpectedDigest("md5") == nil)
    }
}
