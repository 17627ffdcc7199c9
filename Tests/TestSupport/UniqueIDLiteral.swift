package import Model

/// Tests write identities as text: that of a UUID, or any other, which stands for a UUID of its own.
extension UniqueID: ExpressibleByStringInterpolation {
    package init(stringLiteral value: String) {
        self = Self(value) ?? Self(hashing: value)
    }

    private init(hashing text: String) {
        // FNV-1a, from two offsets.
        let halves = [0xCBF2_9CE4_8422_2325, 0x8422_2325_CBF2_9CE4].map { (offset: UInt64) in
            text.utf8.reduce(offset) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        }
        let digits = halves.map { half in
            let text = String(half, radix: 16)
            return String(repeating: "0", count: 16 - text.count) + text
        }.joined()
        let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { range in
            String(digits.dropFirst(range.lowerBound).prefix(range.count))
        }
        guard let id = Self(groups.joined(separator: "-")) else {
            preconditionFailure("the text of a UUID")
        }
        self = id
    }
}

extension FileSystemID: ExpressibleByStringLiteral {
    package init(stringLiteral value: String) {
        guard let id = Self(value) else { preconditionFailure("hexadecimal digits and colons") }
        self = id
    }
}
