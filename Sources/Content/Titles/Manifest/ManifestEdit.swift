import Model
import WebURL

/// A change to a manifest: the bytes of `range` become `text`.
struct ManifestEdit: Hashable {
    var range: Range<Int>
    var text: [UInt8]

    init(_ range: Range<Int>, _ text: [UInt8] = []) {
        self.range = range
        self.text = text
    }
}

/// Changes to a manifest in compact form: each of a million references may be rewritten.
///
/// A change takes 16 bytes plus its text.
struct ManifestEdits: Hashable {
    private struct Row: Hashable {
        var lower: UInt32
        var upper: UInt32
        var textStart: UInt32
        var textEnd: UInt32
    }

    private var rows: [Row] = []
    private var texts: [UInt8] = []
    /// Upper bound of removed bytes.
    private var removed = 0

    var isEmpty: Bool { rows.isEmpty }

    /// Throws `manifest.tooLarge` once the rewritten start of the manifest exceeds the allowed
    /// size.
    ///
    /// - Parameter url: the manifest's URL.
    func check(upTo index: Int, of url: WebURL) throws(Failure) {
        guard !isEmpty, index - removed + texts.count > WireLimits.rewrittenManifestBytes else {
            return
        }
        throw Failure(
            .manifestTooLarge, at: .manifest("\(url)"),
            "the rewritten manifest exceeds "
                + "\(WireLimits.rewrittenManifestBytes) bytes")
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

    /// Returns `bytes`, fewer than 2³², with the changes applied. Changes at one position apply in
    /// the order of their addition. Of overlapping changes, only the part after the earlier one
    /// applies.
    ///
    /// - Parameter url: the manifest's URL.
    ///
    /// Throws `manifest.tooLarge` if the result exceeds the allowed size.
    func applied(to bytes: [UInt8], of url: WebURL) throws(Failure) -> [UInt8] {
        var order = rows
        order.sort {
            ($0.lower, $0.textStart, $0.textEnd) < ($1.lower, $1.textStart, $1.textEnd)
        }
        var count = 0
        forEachPiece(of: order, bytes.count) { _, range in count += range.count }
        guard count <= WireLimits.rewrittenManifestBytes else {
            throw Failure(
                .manifestTooLarge, at: .manifest("\(url)"),
                "the rewritten manifest has \(count) bytes; "
                    + "at most \(WireLimits.rewrittenManifestBytes) are allowed")
        }
        var out: [UInt8] = []
        out.reserveCapacity(count)
        forEachPiece(of: order, bytes.count) { isNew, range in
            out += isNew ? texts[range] : bytes[range]
        }
        return out
    }

    /// Calls `body` with the pieces of the rewritten manifest: ranges of `texts`, and of the
    /// original.
    private func forEachPiece(
        of order: [Row], _ count: Int, _ body: (_ isNew: Bool, Range<Int>) -> Void
    ) {
        var index = 0
        for row in order {
            let (lower, upper) = (Int(row.lower), Int(row.upper))
            guard upper > index || lower == upper && lower >= index else { continue }
            body(false, index..<max(index, lower))
            body(true, Int(row.textStart)..<Int(row.textEnd))
            index = upper
        }
        body(false, index..<count)
    }
}
