/// Finds what was numbered one after another by 64 bits of keyed hash: 8 bytes each, and 8 to 16 more.
struct PlaceTable: Sendable {
    /// Most that can be numbered.
    static let most = 1 << numberBits - 1

    private static let numberBits: UInt32 = 21
    private static let none = UInt32.max

    /// By number.
    private var hashes: [Int] = []
    /// At the first free slot from where its hash leads on, each number, and above it bits of the hash, so that few
    /// others are looked at; `none` in those that are free.
    private var slots: [UInt32] = []

    /// Makes room for so many in all at once, so that nothing large is copied.
    mutating func reserve(_ count: Int) {
        guard hashes.isEmpty, count > 0 else { return }
        hashes.reserveCapacity(count)
        slots = Array(
            repeating: Self.none, count: 1 << (Int.bitWidth - (2 * count).leadingZeroBitCount))
    }

    /// Numbers what has a hash that is not there yet; nil, or else what has it.
    mutating func insert(_ hash: Int) -> Int? {
        if 2 * (hashes.count + 1) > slots.count { grow() }
        let (slot, found) = find(hash)
        if let found { return found }
        precondition(hashes.count < Self.most, "more are numbered than there are numbers")
        slots[slot] = Self.entry(hash, hashes.count)
        hashes.append(hash)
        return nil
    }

    /// What has a hash.
    subscript(hash: Int) -> Int? { slots.isEmpty ? nil : find(hash).number }

    private static func entry(_ hash: Int, _ number: Int) -> UInt32 {
        UInt32(truncatingIfNeeded: hash >> 32) << numberBits | UInt32(number)
    }

    /// What has a hash; where it has its slot, or would have it.
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
