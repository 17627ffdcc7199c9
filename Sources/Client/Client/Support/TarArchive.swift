/// A tar archive in memory, in the format ustar (POSIX.1-2008, pax, "ustar Interchange Format").
struct TarArchive {
    private static let blockBytes = 512
    private(set) var bytes: [UInt8] = []

    /// Adds a regular file with mode 0600 and no owner's name.
    ///
    /// - Parameters:
    ///   - name: a path of at most 100 bytes.
    ///   - seconds: its time of change, in seconds since 1970.
    mutating func add(_ name: String, _ contents: [UInt8], atSeconds seconds: Int64) {
        precondition((1...100).contains(name.utf8.count))
        var header = [UInt8](repeating: 0, count: Self.blockBytes)
        func put(_ text: String, at offset: Int) {
            header.replaceSubrange(offset..<(offset + text.utf8.count), with: text.utf8)
        }
        put(name, at: 0)
        put(Self.octal(0o600, digits: 7), at: 100)
        put(Self.octal(0, digits: 7), at: 108)
        put(Self.octal(0, digits: 7), at: 116)
        put(Self.octal(Int64(contents.count), digits: 11), at: 124)
        put(Self.octal(max(seconds, 0), digits: 11), at: 136)
        // The checksum counts its own field as spaces.
        put("        ", at: 148)
        put("0", at: 156)
        put("ustar\u{0}00", at: 257)
        let sum = header.reduce(Int64(0)) { $0 + Int64($1) }
        put(Self.octal(sum, digits: 6) + "\u{0} ", at: 148)
        bytes += header
        bytes += contents
        let rest = contents.count % Self.blockBytes
        if rest > 0 { bytes += [UInt8](repeating: 0, count: Self.blockBytes - rest) }
    }

    /// Returns the archive with its end.
    func ended() -> [UInt8] { bytes + [UInt8](repeating: 0, count: 2 * Self.blockBytes) }

    /// The terminating NUL of a field is there already.
    private static func octal(_ number: Int64, digits: Int) -> String {
        let text = String(number, radix: 8)
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }
}
