import Model

/// Many URLs in little room: the first of every few is kept whole, of those after it what differs.
///
/// 16 bytes a URL and what stands between what it begins and ends with as the first of its group does.
struct URLTable: Sendable {
    private struct Entry {
        /// Block and place in it of what is kept.
        var block: UInt32
        var start: UInt16
        /// Bytes of the first of its group that it begins and ends with.
        var head: UInt16
        var tail: UInt16
        /// Bytes that are kept of it.
        var length: UInt16
        var pathStart: UInt16
        var queryStart: UInt16
    }

    private static let groupSize = 64
    private static let blockBytes = (1 << 16) - 1

    private var entries: [Entry] = []
    /// A URL lies within one; they are not grown, so that nothing large is ever copied.
    private var blocks: [[UInt8]] = []
    /// Of all URLs, as they were before.
    private(set) var totalBytes = 0

    var count: Int { entries.count }

    mutating func append(_ url: WebURL) {
        var text = url.text
        text.withUTF8 { text in
            append(Pieces(text, nil), pathStart: url.pathStart, queryStart: url.queryStart)
        }
    }

    /// Appends the URL that the base's folder and a plain reference come to.
    ///
    /// - Parameter queryStart: what `ReferenceBase.plainQueryStart(_:_:)` says of the reference.
    mutating func append(
        _ base: ReferenceBase, _ reference: [UInt8], _ range: Range<Int>, queryStart: Int
    ) {
        base.folder.withUnsafeBufferPointer { folder in
            reference.withUnsafeBufferPointer { reference in
                append(
                    Pieces(folder, UnsafeBufferPointer(rebasing: reference[range])),
                    pathStart: base.url.pathStart,
                    queryStart: folder.count + queryStart - range.lowerBound)
            }
        }
    }

    /// A text in one piece or in two.
    private struct Pieces {
        let first: UnsafeBufferPointer<UInt8>
        let second: UnsafeBufferPointer<UInt8>
        var count: Int { first.count + second.count }

        init(_ first: UnsafeBufferPointer<UInt8>, _ second: UnsafeBufferPointer<UInt8>?) {
            self.first = first
            self.second = second ?? UnsafeBufferPointer(start: nil, count: 0)
        }

        /// With how many of the bytes of `other` it begins.
        func head(sharedWith other: UnsafeRawBufferPointer) -> Int {
            let shared = SharedBytes.head(UnsafeRawBufferPointer(first), other)
            guard shared == first.count else { return shared }
            let rest = UnsafeRawBufferPointer(rebasing: other[shared...])
            return shared + SharedBytes.head(UnsafeRawBufferPointer(second), rest)
        }

        /// With how many of the bytes of `other` it ends.
        func tail(sharedWith other: UnsafeRawBufferPointer) -> Int {
            let shared = SharedBytes.tail(UnsafeRawBufferPointer(second), other)
            guard shared == second.count else { return shared }
            let rest = UnsafeRawBufferPointer(rebasing: other.dropLast(shared))
            return shared + SharedBytes.tail(UnsafeRawBufferPointer(first), rest)
        }
    }

    private mutating func append(_ text: Pieces, pathStart: Int, queryStart: Int) {
        totalBytes += text.count
        let isFirst = entries.count % Self.groupSize == 0
        let (head, tail) = isFirst ? (0, 0) : shared(with: text)
        let end = text.count - tail
        if blocks.isEmpty || blocks[blocks.count - 1].count + end - head > Self.blockBytes {
            var block: [UInt8] = []
            // The first grows, as most titles are small.
            if !blocks.isEmpty { block.reserveCapacity(Self.blockBytes) }
            blocks.append(block)
        }
        // All fit: a URL has 8,192 bytes at most, and a block less than 2¹⁶.
        entries.append(
            Entry(
                block: UInt32(blocks.count - 1), start: UInt16(blocks[blocks.count - 1].count),
                head: UInt16(head), tail: UInt16(tail), length: UInt16(end - head),
                pathStart: UInt16(pathStart), queryStart: UInt16(queryStart)))
        let inFirst = text.first.count
        if head < inFirst {
            blocks[blocks.count - 1].append(contentsOf: text.first[head..<min(end, inFirst)])
        }
        if end > inFirst {
            blocks[blocks.count - 1].append(
                contentsOf: text.second[(max(head, inFirst) - inFirst)..<(end - inFirst)])
        }
    }

    /// With how much of the first of its group one that comes next begins, and ends.
    private func shared(with text: Pieces) -> (head: Int, tail: Int) {
        let first = entries[entries.count - entries.count % Self.groupSize]
        return blocks[Int(first.block)].withUnsafeBytes { block in
            let start = Int(first.start)
            let whole = UnsafeRawBufferPointer(
                rebasing: block[start..<(start + Int(first.length))])
            let head = text.head(sharedWith: whole)
            let tail = text.tail(sharedWith: whole)
            // What both share has its place at the head.
            return (head, min(tail, min(whole.count, text.count) - head))
        }
    }

    subscript(place: Int) -> WebURL {
        let entry = entries[place]
        let first = entries[place - place % Self.groupSize]
        let (head, tail, length) = (Int(entry.head), Int(entry.tail), Int(entry.length))
        let text = String(unsafeUninitializedCapacity: head + length + tail) { out in
            let start = Int(first.start)
            let end = start + Int(first.length)
            let block = blocks[Int(first.block)]
            let own = Int(entry.start)
            var next = out[..<head].initialize(fromContentsOf: block[start..<(start + head)])
            next = out[next...].initialize(
                fromContentsOf: blocks[Int(entry.block)][own..<(own + length)])
            return out[next...].initialize(fromContentsOf: block[(end - tail)..<end])
        }
        return WebURL(
            text: text, pathStart: Int(entry.pathStart), queryStart: Int(entry.queryStart))
    }
}

/// What two runs of bytes have in common, eight at a time.
private enum SharedBytes {
    /// How many both begin with.
    static func head(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        let most = min(left.count, right.count)
        var shared = 0
        while most - shared >= 8 {
            let differing = word(left, shared) ^ word(right, shared)
            if differing != 0 { return shared + differing.trailingZeroBitCount / 8 }
            shared += 8
        }
        while shared < most, left[shared] == right[shared] { shared += 1 }
        return shared
    }

    /// How many both end with.
    static func tail(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        let most = min(left.count, right.count)
        var shared = 0
        while most - shared >= 8 {
            let differing =
                word(left, left.count - shared - 8) ^ word(right, right.count - shared - 8)
            if differing != 0 { return shared + differing.leadingZeroBitCount / 8 }
            shared += 8
        }
        while shared < most, left[left.count - 1 - shared] == right[right.count - 1 - shared] {
            shared += 1
        }
        return shared
    }

    /// The eight bytes from `place` on, the first the least.
    private static func word(_ bytes: UnsafeRawBufferPointer, _ place: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
    }
}
