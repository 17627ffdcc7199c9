import Digest
import Testing

@Suite struct SHA256Tests {
    /// NIST CAVP and FIPS 180-4 examples.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
                + "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
        ),
    ])
    func knownAnswers(message: String, hex: String) {
        #expect(SHA256Digest(hashing: Array(message.utf8)).description == hex)
    }

    @Test func aMillionLettersInUnevenPieces() {
        let letters = [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)
        var hasher = SHA256Hasher()
        letters.withUnsafeBytes { bytes in
            var start = 0
            var length = 1
            while start < bytes.count {
                let end = min(start + length, bytes.count)
                hasher.update(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
                start = end
                length = length * 3 % 70_001
            }
        }
        #expect(
            hasher.finish().description
                == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    @Test func aHasherRestartsAfterFinish() {
        var hasher = SHA256Hasher()
        "abc".utf8.withContiguousStorageIfAvailable { hasher.update(UnsafeRawBufferPointer($0)) }
        let first = hasher.finish()
        #expect(hasher.finish() == SHA256Digest(hashing: []))
        #expect(first == SHA256Digest(hashing: Array("abc".utf8)))
    }

    @Test func anAbandonedMessageDoesNotLeakIntoTheNextHasher() {
        for _ in 0..<4 {
            var abandoned = SHA256Hasher()
            "left over".utf8.withContiguousStorageIfAvailable {
                abandoned.update(UnsafeRawBufferPointer($0))
            }
        }
        var hasher = SHA256Hasher()
        #expect(hasher.finish() == SHA256Digest(hashing: []))
    }

    @Test func hexIsReadInEitherCaseAndNothingElse() throws {
        let digest = SHA256Digest(hashing: [1, 2, 3])
        #expect(SHA256Digest(hex: digest.description) == digest)
        #expect(SHA256Digest(hex: digest.description.uppercased()) == digest)
        #expect(SHA256Digest(hex: "") == nil)
        #expect(SHA256Digest(hex: String(digest.description.dropLast())) == nil)
        #expect(SHA256Digest(hex: digest.description + "0") == nil)
        #expect(SHA256Digest(hex: digest.description.dropLast() + "g") == nil)
        #expect(SHA256Digest(hex: String(repeating: "é", count: 32)) == nil)
    }

    @Test func everyBitCountsInEquality() throws {
        let zero = try #require(SHA256Digest(hex: String(repeating: "0", count: 64)))
        for position in 0..<64 {
            var digits = [Character](repeating: "0", count: 64)
            digits[position] = "1"
            let other = try #require(SHA256Digest(hex: String(digits)))
            #expect(other != zero)
        }
    }

    @Test func hashersOnManyTasksDoNotDisturbOneAnother() async {
        await withTaskGroup(of: Bool.self) { group in
            for seed in 0..<64 {
                group.addTask {
                    let message = [UInt8](repeating: UInt8(seed), count: 10_000 + seed)
                    var hasher = SHA256Hasher()
                    message.withUnsafeBytes { bytes in
                        for start in stride(from: 0, to: bytes.count, by: 100) {
                            let end = min(start + 100, bytes.count)
                            hasher.update(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
                        }
                    }
                    return hasher.finish() == SHA256Digest(hashing: message)
                }
            }
            for await agreed in group { #expect(agreed) }
        }
    }
}
