import Model
import WebURL

/// A change to a document: the bytes of `range` become `text`.
struct ManifestEdit: Hashable {
    var range: Range<Int>
    var text: [UInt8]

    init(_ range: Range<Int>, _ text: [UInt8] = []) {
        self.range = range
        self.text = text
    }
}

/// Changes to a document, in little room: each of a million references may be written anew.
///
/// 16 bytes a change, and its text.
struct ManifestEdits: Hashable {
    private struct Row: Hashable {
        var lower: UInt32
        var upper: UInt32
        var textStart: UInt32
        var textEnd: UInt32
    }

    private var rows: [Row] = []
    private var texts: [UInt8] = []
    /// Bytes that go, at most.
    private var removed = 0

    var isEmpty: Bool { rows.isEmpty }

    /// Fails with `manifest.tooLarge` once what the document's first bytes come to is more than one at the edge
    /// may have.
    ///
    /// - Parameter url: the document's.
    func check(upTo place: Int, of url: WebURL) throws(Failure) {
        guard !isEmpty, place - removed + texts.count > WireLimits.documentBytes else { return }
        throw Failure(
            "manifest.tooLarge",
            "\(url): what is to be changed in it for the edge makes more than "
                + "\(WireLimits.documentBytes) bytes, as many as are taken")
    }

    var lastRange: Range<Int>? { rows.last.map { Int($0.lower)..<Int($0.upper) } }

    mutating func append(_ edit: ManifestEdit) {
        let start = texts.count
        removed += edit.range.count
        texts += edit.text
        rows.append(
            Row(
                lower: UInt32(edit.range.lowerBound), upper: UInt32(edit.range.upperBound),
                textStart: UInt32(start), textEnd: UInt32(texts.count)))
    }

    /// `bytes`, of less than 2³², with the changes made; of several at one place those that came first come first.
    /// Of one that begins within another only what lies behind that is made.
    ///
    /// - Parameter url: the document's.
    ///
    /// Fails with `manifest.tooLarge` for more than a document at the edge may have.
    func applied(to bytes: [UInt8], of url: WebURL) throws(Failure) -> [UInt8] {
        var order = rows
        order.sort {
            ($0.lower, $0.textStart, $0.textEnd) < ($1.lower, $1.textStart, $1.textEnd)
        }
        var count = 0
        forEachPiece(of: order, bytes.count) { _, range in count += range.count }
        guard count <= WireLimits.documentBytes else {
            throw Failure(
                "manifest.tooLarge",
                "\(url): what is to be changed in it for the edge makes \(count) bytes, and "
                    + "\(WireLimits.documentBytes) are taken")
        }
        var out: [UInt8] = []
        out.reserveCapacity(count)
        forEachPiece(of: order, bytes.count) { isNew, range in
            out += isNew ? texts[range] : bytes[range]
        }
        return out
    }

    /// Calls with what the document comes to: parts of `texts`, and parts of what it was.
    private func forEachPiece(
        of order: [Row], _ count: Int, _ body: (_ isNew: Bool, Range<Int>) -> Void
    ) {
        var place = 0
        for row in order {
            let (lower, upper) = (Int(row.lower), Int(row.upper))
            guard upper > place || lower == upper && lower >= place else { continue }
            body(false, place..<max(place, lower))
            body(true, Int(row.textStart)..<Int(row.textEnd))
            place = upper
        }
        body(false, place..<count)
    }
}
