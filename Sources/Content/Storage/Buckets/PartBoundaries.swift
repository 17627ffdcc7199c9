/// Where the parts of a body end. A value.
package struct PartBoundaries: Sendable {
    let totalBytes: Int64
    /// Bytes of each part but the last, which may be shorter.
    let partBytes: Int64

    /// Calls `body` with the bytes at an offset, divided where parts end, and with a part's index if
    /// these are its last bytes.
    package func forEachPiece(
        of bytes: UnsafeRawBufferPointer, at offset: Int64,
        _ body: (UnsafeRawBufferPointer, _ ended: Int?) -> Void
    ) {
        var (rest, position) = (bytes, offset)
        while !rest.isEmpty {
            let index = position / partBytes
            let end = min((index + 1) * partBytes, totalBytes)
            // Bytes beyond the total belong to no part.
            let count = end > position ? min(Int64(rest.count), end - position) : Int64(rest.count)
            position += count
            body(
                UnsafeRawBufferPointer(rebasing: rest.prefix(Int(count))),
                position == end ? Int(index) : nil)
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(Int(count)))
        }
    }
}
