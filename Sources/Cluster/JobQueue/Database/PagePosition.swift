import Model

/// The start of a page, after the last row of the previous one: numbers separated by full stops, as
/// in `next`.
struct PagePosition: CustomStringConvertible {
    private let numbers: [Int64]

    init(_ numbers: [Int64]) { self.numbers = numbers }

    /// - Parameters:
    ///   - first: the position before the first row, with all numbers of a position.
    ///   - endsInOrdinal: true if the last number has 32 bits.
    /// - Throws: `input.field` if `text` is not from a page's `next`.
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
