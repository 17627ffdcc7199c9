/// Reads one field of a response's head.
enum HeadField {
    /// Returns the value of the first field of a name; nil without it.
    ///
    /// - Parameter name: in lowercase.
    static func value(_ name: StaticString, in head: UnsafeRawBufferPointer) -> String? {
        name.withUTF8Buffer { name in
            for line in head.split(separator: UInt8(ascii: "\n")).dropFirst() {
                guard line.count > name.count,
                    line[line.startIndex + name.count] == UInt8(ascii: ":"),
                    zip(line, name).allSatisfy({ $0 | 0x20 == $1 })
                else { continue }
                var value = line.dropFirst(name.count + 1)
                while let first = value.first, first <= 0x20 { value = value.dropFirst() }
                while let last = value.last, last <= 0x20 { value = value.dropLast() }
                return String(decoding: value, as: UTF8.self)
            }
            return nil
        }
    }
}
