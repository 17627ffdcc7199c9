/// Returns bytes that look random and differ by `seed`; the same every time.
package func sampleBytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    return [UInt8](unsafeUninitializedCapacity: (count + 7) / 8 * 8) { bytes, initialized in
        // By words: an unoptimized build takes as long for one as for a byte.
        let words = UnsafeMutableRawBufferPointer(bytes)
        var index = 0
        while index < count {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            words.storeBytes(of: state, toByteOffset: index, as: UInt64.self)
            index += 8
        }
        initialized = count
    }
}
