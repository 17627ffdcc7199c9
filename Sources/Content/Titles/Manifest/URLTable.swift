import Model
import WebURL

/// Many URLs in compact form: some are stored whole as anchors, others as their difference from an
/// anchor.
///
/// A URL takes 16 bytes plus the bytes between the start and end that it shares with its anchor.
struct URLTable: Sendable {
    private struct Entry {
        /// Start of its stored bytes: block index times 65,536 plus the offset in the block.
        var start: UInt32
        /// Index of its anchor, which is stored whole; its own index if it is an anchor.
        var anchor: UInt32
        /// Number of bytes shared with the start and end of its anchor.
        var head: UInt16
        var tail: UInt16
        /// Number of its stored bytes.
        var length: UInt16
        var queryStart: UInt16

        var count: Int { Int(head) + Int(length) + Int(tail) }
    }

    /// A URL that is stored whole and shared by others.
    private struct Anchor {
        var index: UInt32
        var uses = 0
    }

    /// Maximum number of anchors. A URL that shares little with them becomes another: forms may
    /// alternate, as those of segments and mirrors do.
    private static let maxAnchors = 8
    /// Maximum uses of an anchor, after which its user replaces it, because names drift.
    private static let maxUses = 64
    private static let blockBytes = (1 << 16) - 1

    private var entries: [Entry] = []
    /// Stored bytes. A URL lies within one block; blocks do not grow, so that nothing large is
    /// copied.
    private var blocks: [[UInt8]] = []
    private var anchors: [Anchor] = []
    /// Index of the last used anchor.
    private var latest = 0
    /// Bytes of all URLs, uncompressed.
    private(set) var totalBytes = 0

    var count: Int { entries.count }

    /// Reserves capacity for so many URLs, without their stored bytes.
    mutating func reserve(_ count: Int) { entries.reserveCapacity(count) }

    mutating func append(_ url: WebURL) {
        var text = url.text
        text.withUTF8 { append(Pieces($0, nil), queryStart: url.queryStart) }
    }

    /// Appends the URL of the base's folder and a plain reference.
    ///
    /// - Parameter queryStart: the result of `ReferenceBase.plainQueryStart(_:_:)` for the
    ///   reference.
    mutating func append(
        _ base: ReferenceBase, _ reference: [UInt8], _ range: Range<Int>, queryStart: Int
    ) {
        base.folder.withUnsafeBufferPointer { folder in
            reference.withUnsafeBufferPointer { reference in
                append(
                    Pieces(folder, UnsafeBufferPointer(rebasing: reference[range])),
                    queryStart: folder.count + queryStart - range.lowerBound)
            }
        }
    }

    /// A text in one or two pieces.
    private struct Pieces {
        let first: UnsafeBufferPointer<UInt8>
        let second: UnsafeBufferPointer<UInt8>
        var count: Int { first.count + second.count }

        init(_ first: UnsafeBufferPointer<UInt8>, _ second: UnsafeBufferPointer<UInt8>?) {
            self.first = first
            self.second = second ?? UnsafeBufferPointer(start: nil, count: 0)
        }

        /// Returns the number of bytes at its start that equal the start of `other`.
        func head(sharedWith other: UnsafeRawBufferPointer) -> Int {
            let shared = SharedBytes.head(UnsafeRawBufferPointer(first), other)
            guard shared == first.count else { return shared }
            let rest = UnsafeRawBufferPointer(rebasing: other[shared...])
            return shared + SharedBytes.head(UnsafeRawBufferPointer(second), rest)
        }

        /// Returns the number of bytes at its end that equal the end of `other`.
        func tail(sharedWith other: UnsafeRawBufferPointer) -> Int {
            let shared = SharedBytes.tail(UnsafeRawBufferPointer(second), other)
            guard shared == second.count else { return shared }
            let rest = UnsafeRawBufferPointer(rebasing: other.dropLast(shared))
            return shared + SharedBytes.tail(UnsafeRawBufferPointer(first), rest)
        }
    }

    private mutating func append(_ text: Pieces, queryStart: Int) {
        totalBytes += text.count
        let (anchor, head, tail) = anchor(for: text)
        let end = text.count - tail
        if blocks.isEmpty || blocks[blocks.count - 1].count + end - head > Self.blockBytes {
            var block: [UInt8] = []
            // The first block grows, as most titles are small.
            if !blocks.isEmpty { block.reserveCapacity(Self.blockBytes) }
            blocks.append(block)
        }
        // All values fit: a URL has at most 8,192 bytes, a block fewer than 2¹⁶, and there are far
        // fewer blocks.
        let start = UInt32((blocks.count - 1) << 16 | blocks[blocks.count - 1].count)
        entries.append(
            Entry(
                start: start, anchor: anchor, head: UInt16(head), tail: UInt16(tail),
                length: UInt16(end - head), queryStart: UInt16(queryStart)))
        let inFirst = text.first.count
        if head < inFirst {
            blocks[blocks.count - 1].append(contentsOf: text.first[head..<min(end, inFirst)])
        }
        if end > inFirst {
            blocks[blocks.count - 1].append(
                contentsOf: text.second[(max(head, inFirst) - inFirst)..<(end - inFirst)])
        }
    }

    /// Returns the anchor for the next URL, with the number of shared bytes at its start and end.
    private mutating func anchor(for text: Pieces) -> (anchor: UInt32, head: Int, tail: Int) {
        var best: (number: Int, head: Int, tail: Int)?
        for step in anchors.indices {
            let number = (latest + step) % anchors.count
            let (head, tail) = shared(with: text, anchors[number])
            if best.map({ head + tail > $0.head + $0.tail }) ?? true {
                best = (number, head, tail)
            }
            if Self.isMuch(head + tail, text.count) { break }
        }
        let index = UInt32(clamping: entries.count)
        let isGood = best.map { Self.isMuch($0.head + $0.tail, text.count) } ?? false
        guard let best, isGood || anchors.count == Self.maxAnchors else {
            latest = anchors.count
            anchors.append(Anchor(index: index))
            return (index, 0, 0)
        }
        latest = best.number
        anchors[latest].uses += 1
        guard anchors[latest].uses < Self.maxUses else {
            anchors[latest] = Anchor(index: index)
            return (index, 0, 0)
        }
        return (anchors[latest].index, best.head, best.tail)
    }

    /// Distinct names share at least their folder, other forms only the scheme.
    private static func isMuch(_ shared: Int, _ count: Int) -> Bool { 3 * shared >= count }

    private func shared(with text: Pieces, _ anchor: Anchor) -> (head: Int, tail: Int) {
        withWhole(entries[Int(anchor.index)]) { whole in
            let head = text.head(sharedWith: whole)
            let tail = text.tail(sharedWith: whole)
            // Bytes shared by both count for the head.
            return (head, min(tail, min(whole.count, text.count) - head))
        }
    }

    /// Calls `body` with the stored bytes of a URL.
    private func withWhole<Result>(
        _ entry: Entry, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        blocks[Int(entry.start >> 16)].withUnsafeBytes { block in
            let start = Int(entry.start & 0xFFFF)
            return body(
                UnsafeRawBufferPointer(rebasing: block[start..<(start + Int(entry.length))]))
        }
    }

    /// Returns the length of a URL.
    func length(at index: Int) -> Int { entries[index].count }

    /// Returns the index of the `?`; the URL's length without a query.
    func queryStart(at index: Int) -> Int { Int(entries[index].queryStart) }

    /// Replaces the contents of `out` by a URL.
    func copy(_ index: Int, into out: inout [UInt8]) {
        out.removeAll(keepingCapacity: true)
        let entry = entries[index]
        withWhole(entries[Int(entry.anchor)]) { whole in
            out += whole[..<Int(entry.head)]
            withWhole(entry) { out += $0 }
            out += whole[(whole.count - Int(entry.tail))...]
        }
    }

    subscript(index: Int) -> WebURL {
        let entry = entries[index]
        let text = withWhole(entries[Int(entry.anchor)]) { whole in
            withWhole(entry) { own in
                String(unsafeUninitializedCapacity: entry.count) { out in
                    let out = UnsafeMutableRawBufferPointer(out)
                    let (head, tail) = (Int(entry.head), Int(entry.tail))
                    out.copyMemory(from: UnsafeRawBufferPointer(rebasing: whole[..<head]))
                    UnsafeMutableRawBufferPointer(rebasing: out[head...]).copyMemory(from: own)
                    UnsafeMutableRawBufferPointer(rebasing: out[(head + own.count)...])
                        .copyMemory(
                            from: UnsafeRawBufferPointer(rebasing: whole[(whole.count - tail)...]))
                    return entry.count
                }
            }
        }
        return WebURL(normalised: text, queryStart: Int(entry.queryStart))
    }
}

/// Compares two byte sequences, eight bytes at a time.
private enum SharedBytes {
    /// Returns the number of equal bytes at the start.
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

    /// Returns the number of equal bytes at the end.
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

    /// Loads the eight bytes at `index` in little-endian order.
    private static func word(_ bytes: UnsafeRawBufferPointer, _ index: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
    }
}
