import Model
import Testing

@Suite struct PartSizeTests {
    @Test(
        arguments: [
            (1, 1, []), (10, 1, []), (11, 2, [10]), (20, 2, [10]), (25, 3, [10, 20]),
        ] as [(Int64, Int64, [Int64])])
    func partsCoverTheFile(total: Int64, count: Int64, later: [Int64]) {
        let size = PartSize(10)
        #expect(size.count(of: total) == count)
        #expect(size.splits(total) == (count > 1))
        #expect(size.laterStarts(of: total) == later)
        let lengths = ([0] + later).map { size.length(from: $0, of: total) }
        #expect(lengths.reduce(0, +) == total)
        #expect(lengths.allSatisfy { (1...10).contains($0) })
    }
}
