import CCrypto

/// CRC32C (Castagnoli; RFC 3720, appendix B.4), at several GB/s if the processor has an instruction
/// for it, else by a table.
struct CRC32C: Sendable {
    private static let hasInstruction = dray_crc32c_has_instruction() != 0

    /// The remainder of each byte, by the reflected polynomial.
    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { value, _ in
            value >> 1 ^ (value & 1 == 1 ? 0x82F6_3B78 : 0)
        }
    }

    private var state: UInt32 = 0xFFFF_FFFF

    /// Adds `bytes`. `byTable` is for tests.
    mutating func update(_ bytes: UnsafeRawBufferPointer, byTable: Bool = !hasInstruction) {
        guard let start = bytes.bindMemory(to: UInt8.self).baseAddress else { return }
        if byTable {
            state = Self.table.withUnsafeBufferPointer { table in
                guard let table = table.baseAddress else { return state }
                return dray_crc32c_by_table(state, start, bytes.count, table)
            }
        } else {
            state = dray_crc32c_by_instruction(state, start, bytes.count)
        }
    }

    /// The checksum so far, most significant byte first, as in HTTP headers and tools.
    var bytes: [UInt8] {
        let value = ~state
        return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }
}
