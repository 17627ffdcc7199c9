/// An index from 64-bit keyed hashes to consecutive numbers; 8 bytes each, plus 8 to 16.
struct HashIndex: Sendable {
    /// Maximum number of entries.
    static let most = 1 << numberBits - 1

    private static let numberBits: UInt32 = 21
    private static let none = UInt32.max

    /// Hashes by number.
    private var hashes: [Int] = []
    /// Open addressing: each slot has a number and, above it, bits of the hash, so that few other
    /// entries are compared. `none` marks a free slot.
    private var slots: [UInt32] = []

    /// Reserves capacity for so many entries at once, to avoid large copies.
    mutating func reserve(_ count: Int) {
        guard hashes.isEmpty, count > 0 else { return }
        hashes.reserveCapacity(count)
        slots = Array(
            repeating: Self.none, count: 1 << (Int.bitWidth - (2 * count).leadingZeroBitCount))
    }

    /// Adds a new hash under the next number and returns nil; returns the number of a known hash.
    mutating func insert(_ hash: Int) -> Int? {
        if 2 * (hashes.count + 1) > slots.count { grow() }
        let (slot, found) = find(hash)
        if let found { return found }
        precondition(hashes.count < Self.most, "more are numbered than there are numbers")
        slots[slot] = Self.entry(hash, hashes.count)
        hashes.append(hash)
        return nil
    }

    /// Returns the number of a hash.
    subscript(hash: Int) -> Int? { slots.isEmpty ? nil : find(hash).number }

    private static func entry(_ hash: Int, _ number: Int) -> UInt32 {
        UInt32(truncatingIfNeeded: hash >> 32) << numberBits | UInt32(number)
    }

    /// Returns the number of a hash, with its slot or the free slot for it.
    private func find(_ hash: Int) -> (slot: Int, number: Int?) {
        let bits = Self.entry(hash, 0)
        let mask = Self.entry(0, Self.most)
        var slot = hash & (slots.count - 1)
        while slots[slot] != Self.none {
            let number = Int(slots[slot] & mask)
            if slots[slot] & ~mask == bits, hashes[number] == hash { return (slot, number) }
            slot = (slot + 1) & (slots.count - 1)
        }
        return (slot, nil)
    }

    private mutating func grow() {
        slots = Array(repeating: Self.none, count: max(64, 2 * slots.count))
        for (number, hash) in hashes.enumerated() {
            slots[find(hash).slot] = Self.entry(hash, number)
        }
    }
}
