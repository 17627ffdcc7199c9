/// A change to a document: the bytes of `range` become `text`.
struct ManifestEdit: Hashable {
    var range: Range<Int>
    var text: [UInt8]

    init(_ range: Range<Int>, _ text: [UInt8] = []) {
        self.range = range
        self.text = text
    }

    /// `bytes` with `edits` made. Of one that begins within another only what lies behind that is made.
    static func applied(_ edits: [ManifestEdit], to bytes: [UInt8]) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(bytes.count + edits.reduce(0) { $0 + $1.text.count })
        var place = 0
        for edit in edits.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
            guard
                edit.range.upperBound > place
                    || edit.range.isEmpty && edit.range.lowerBound >= place
            else { continue }
            out += bytes[place..<max(place, edit.range.lowerBound)]
            out += edit.text
            place = edit.range.upperBound
        }
        out += bytes[place...]
        return out
    }
}
