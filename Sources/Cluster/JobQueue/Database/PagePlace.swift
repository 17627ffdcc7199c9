import Model

/// Where a page begins, behind the row before: its numbers, between full stops as `next` has them.
struct PagePlace: CustomStringConvertible {
    private let numbers: [Int64]

    init(_ numbers: [Int64]) { self.numbers = numbers }

    /// - Parameters:
    ///   - first: what is before the first row, with as many numbers as a place has.
    ///   - endsInOrdinal: the last number is 32 bits wide.
    /// - Throws: `input.field` where `text` is not of a page's next.
    init(_ text: String?, first: [Int64], endsInOrdinal: Bool = true) throws(Failure) {
        guard let text else {
            numbers = first
            return
        }
        numbers = text.split(separator: ".", omittingEmptySubsequences: false)
            .compactMap { Int64($0) }
        guard numbers.count == first.count, let last = numbers.last,
            !endsInOrdinal || Int32(exactly: last) != nil
        else {
            throw Failure(.inputField, "after: \(text.prefix(40)) is not from a page's next.")
        }
    }

    subscript(index: Int) -> Int64 { numbers[index] }

    var description: String { numbers.map(String.init).joined(separator: ".") }
}
