import FoundationEssentials
import Gzip

/// The reason why bytes are not a histogram; one clause.
package struct HistogramError: Error, Hashable, Sendable {
    package var detail: String

    package init(detail: String) { self.detail = detail }
}

/// HdrHistogram's V2 encodings. The plain one has a header of 40 bytes, then the counts as ZigZag
/// LEB128 numbers, where a negative one is a run of empty bins. The compressed one has that in a
/// zlib stream after a header of 8 bytes.
extension Histogram {
    private static let plainCookie: Int32 = 0x1C84_9303
    private static let compressedCookie: Int32 = 0x1C84_9304
    /// The word size 1, as the encoders write it.
    private static let wordSize: Int32 = 0x10
    private static let headerBytes = 40
    /// Maximum size: a histogram of all bins with nine bytes each, and five significant digits.
    private static let maxBytes = 32 << 20

    /// The uncompressed V2 encoding.
    package var encoded: [UInt8] {
        var payload: [UInt8] = []
        var empty: Int64 = 0
        for index in 0..<(maximum.map { Self.index(of: $0) + 1 } ?? 0) {
            guard counts[index] > 0 else {
                empty += 1
                continue
            }
            if empty > 0 { payload.appendZigZag(-empty) }
            empty = 0
            payload.appendZigZag(counts[index])
        }
        var bytes: [UInt8] = []
        bytes.appendBigEndian(Self.plainCookie | Self.wordSize)
        bytes.appendBigEndian(Int32(payload.count))
        bytes.appendBigEndian(Int32(0))
        bytes.appendBigEndian(Int32(Self.significantDigits))
        bytes.appendBigEndian(Int64(1))
        bytes.appendBigEndian(Self.highest)
        bytes.appendBigEndian(Int64(bitPattern: (1.0).bitPattern))
        return bytes + payload
    }

    /// The compressed V2 encoding in base64, as in a line of a histogram log.
    package var text: String {
        let body = Zlib.compressed(encoded)
        var bytes: [UInt8] = []
        bytes.appendBigEndian(Self.compressedCookie | Self.wordSize)
        bytes.appendBigEndian(Int32(body.count))
        return Data(bytes + body).base64EncodedString()
    }

    /// Decodes `text`, also from other programs; counts in different bins move to the bins of their
    /// middles.
    package init(text: String) throws(HistogramError) {
        guard let data = Data(base64Encoded: text) else {
            throw HistogramError(detail: "it is not base64")
        }
        try self.init(encoded: [UInt8](data))
    }

    /// Decodes either encoding.
    package init(encoded bytes: [UInt8]) throws(HistogramError) {
        var reader = ByteReader(bytes: bytes[...])
        let cookie = try reader.int32() & ~0xF0
        guard cookie != Self.compressedCookie else {
            let length = try reader.int32()
            guard length >= 0, Int(length) <= reader.bytes.count else {
                throw HistogramError(detail: "it ends early")
            }
            let body: [UInt8]
            do throws(GzipError) {
                body = try Zlib.decompressed(
                    Array(reader.bytes.prefix(Int(length))), atMost: Self.maxBytes)
            } catch {
                throw HistogramError(detail: error.detail)
            }
            guard body.count >= 4, body[0] == 0x1C, body[3] & 0x0F == 0x03 else {
                throw HistogramError(detail: "it is not a V2 histogram")
            }
            try self.init(encoded: body)
            return
        }
        guard cookie == Self.plainCookie else {
            throw HistogramError(detail: "it is not a V2 histogram")
        }
        try self.init(header: &reader)
    }

    private init(header reader: inout ByteReader) throws(HistogramError) {
        let length = Int(try reader.int32())
        let offset = try reader.int32()
        let digits = Int(try reader.int32())
        let lowest = try reader.int64()
        let most = try reader.int64()
        let ratio = Double(bitPattern: UInt64(bitPattern: try reader.int64()))
        guard offset == 0, (0...5).contains(digits), lowest >= 1, most / 2 >= lowest,
            ratio.isFinite,
            length >= 0, length <= reader.bytes.count
        else { throw HistogramError(detail: "its header is not that of a V2 histogram") }
        self.init()
        let layout = Layout(digits: digits, lowest: lowest)
        var index: Int64 = 0
        reader.bytes = reader.bytes.prefix(length)
        while !reader.bytes.isEmpty {
            let count = try reader.zigZag()
            guard count < 0 else {
                guard let value = layout.value(ofBin: index), value.lowest <= most else {
                    throw HistogramError(detail: "its counts exceed its range")
                }
                let isSame = digits == Self.significantDigits && lowest == 1
                record(isSame ? value.lowest : value.middle, count: count)
                guard total >= 0 else { throw HistogramError(detail: "its counts are too large") }
                index += 1
                continue
            }
            guard count > -(1 << 40), index < 1 << 40 else {
                throw HistogramError(detail: "its counts exceed its range")
            }
            index -= count
        }
        takeMiddles()
    }

    /// The bins of a histogram with other digits or another lowest value.
    private struct Layout {
        let halfMagnitude: Int64
        let unitMagnitude: Int64

        init(digits: Int, lowest: Int64) {
            var largest = 2
            for _ in 0..<digits { largest *= 10 }
            var magnitude: Int64 = 0
            while 1 << magnitude < largest { magnitude += 1 }
            halfMagnitude = max(magnitude, 1) - 1
            unitMagnitude = Int64(63 - lowest.leadingZeroBitCount)
        }

        /// Returns the bounds of a bin; nil beyond the range of an Int64.
        func value(ofBin index: Int64) -> (lowest: Int64, middle: Int64)? {
            let half = Int64(1) << halfMagnitude
            let bucket = max(index >> halfMagnitude - 1, 0)
            let within = index >> halfMagnitude > 0 ? index & (half - 1) + half : index
            let shift = bucket + unitMagnitude
            guard shift + halfMagnitude + 1 < 62 else { return nil }
            return (within << shift, within << shift + (1 << shift) / 2)
        }
    }
}

/// Reads numbers from the front of bytes.
private struct ByteReader {
    var bytes: ArraySlice<UInt8>

    mutating func int32() throws(HistogramError) -> Int32 {
        Int32(truncatingIfNeeded: try integer(bytes: 4))
    }

    mutating func int64() throws(HistogramError) -> Int64 { try integer(bytes: 8) }

    private mutating func integer(bytes count: Int) throws(HistogramError) -> Int64 {
        guard bytes.count >= count else { throw HistogramError(detail: "it ends early") }
        defer { bytes = bytes.dropFirst(count) }
        return bytes.prefix(count).reduce(0) { $0 << 8 | Int64($1) }
    }

    /// Reads seven bits per byte, the lowest first; a ninth byte has eight.
    mutating func zigZag() throws(HistogramError) -> Int64 {
        var value: UInt64 = 0
        for index in 0..<9 {
            guard let byte = bytes.popFirst() else { throw HistogramError(detail: "it ends early") }
            let isLast = index == 8
            value |= UInt64(isLast ? byte : byte & 0x7F) << UInt64(7 * index)
            if isLast || byte < 0x80 { break }
        }
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }
}

extension [UInt8] {
    fileprivate mutating func appendBigEndian(_ value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }

    fileprivate mutating func appendZigZag(_ value: Int64) {
        var left = UInt64(bitPattern: value << 1 ^ value >> 63)
        for index in 0..<9 {
            guard index < 8, left >= 0x80 else {
                append(UInt8(truncatingIfNeeded: left))
                return
            }
            append(UInt8(truncatingIfNeeded: left) | 0x80)
            left >>= 7
        }
    }
}
