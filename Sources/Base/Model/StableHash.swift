/// FNV-1a, 64 bits, run twice from different bases: stable between versions and machines.
///
/// Not cryptographic: it distinguishes names but proves nothing.
package enum StableHash {
    /// Returns 64 bits: the first half of `hex`.
    package static func value(_ name: String) -> UInt64 {
        name.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }

    /// Returns 32 lower-case hex digits.
    package static func hex(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var first: UInt64 = 0xcbf2_9ce4_8422_2325
        var second: UInt64 = 0x6c62_272e_07bb_0142
        for byte in bytes {
            first = (first ^ UInt64(byte)) &* 0x100_0000_01b3
            second = (second ^ UInt64(byte ^ 0x55)) &* 0x100_0000_01b3
        }
        let digits: StaticString = "0123456789abcdef"
        var out: [UInt8] = []
        for value in [first, second] {
            for shift in stride(from: 60, through: 0, by: -4) {
                out.append(digits.utf8Start[Int(value >> UInt64(shift) & 15)])
            }
        }
        return out
    }
}
