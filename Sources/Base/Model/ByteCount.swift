/// Sizes in human-readable form.
package enum ByteCount {
    /// Parses `500GB`, `1.5 TiB`, `1048576` or `64 MiB`: powers of 1,000, or of 1,024 with an i.
    /// Allows up to three digits after the point. Returns nil for other text, and beyond 2^62.
    package static func parse(_ text: String) -> Int64? {
        let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let unit = text.dropFirst(number.count).drop { $0 == " " }
        guard let factor = factors[unit.lowercased()] else { return nil }
        let parts = number.split(separator: ".", omittingEmptySubsequences: false)
        guard let whole = parts.first, parts.count <= 2, let units = Int64(whole) else {
            return nil
        }
        let digits = parts.count == 2 ? parts[1] : "0"
        guard (1...3).contains(digits.count), var thousandths = Int64(digits) else { return nil }
        for _ in digits.count..<3 { thousandths *= 10 }
        let (bytes, isTooMuch) = units.multipliedReportingOverflow(by: factor)
        let part = Int64(Double(factor) * Double(thousandths) / 1_000)
        guard !isTooMuch, bytes <= 1 << 62 else { return nil }
        return bytes + part
    }

    private static let factors: [String: Int64] = [
        "": 1, "b": 1, "kb": 1_000, "mb": 1_000_000, "gb": 1_000_000_000,
        "tb": 1_000_000_000_000, "pb": 1_000_000_000_000_000, "kib": 1 << 10, "mib": 1 << 20,
        "gib": 1 << 30, "tib": 1 << 40, "pib": 1 << 50,
    ]
}
