import LoadModel
import Testing

@Suite struct LoadSearchTests {
    /// What a search finds where everything up to `limit` holds, and how many loads it tried.
    private static func found(
        limit: Double, first: Double, most: Double = 1e9, isWhole: Bool = false
    ) -> (search: LoadSearch, tried: [Double]) {
        var search = LoadSearch(first: first, most: most, isWhole: isWhole)
        var tried: [Double] = []
        while let level = search.next {
            tried.append(level)
            search.record(holds: level <= limit)
        }
        return (search, tried)
    }

    @Test(arguments: [0.3, 9.0, 10.0, 11.0, 777.7, 123_456.0])
    func itComesWithinItsPrecisionOfTheLimit(limit: Double) throws {
        let (search, tried) = Self.found(limit: limit, first: 10)
        let highest = try #require(search.highest)
        let broken = try #require(search.lowestBroken)
        #expect(highest <= limit && broken > limit)
        #expect(broken <= highest * (1 + LoadSearch.precision) + 1e-9)
        #expect(tried.count <= LoadSearch.maxSteps)
        #expect(Set(tried).count == tried.count)
    }

    @Test(arguments: 1...70) func wholeLoadsAreFoundExactlyWhereTheyAreFew(limit: Int) throws {
        let (search, tried) = Self.found(limit: Double(limit), first: 8, isWhole: true)
        #expect(tried.allSatisfy { $0 == $0.rounded() && $0 >= 1 })
        let highest = try #require(search.highest)
        #expect(
            highest <= Double(limit) && highest * (1 + LoadSearch.precision) + 1 > Double(limit))
    }

    @Test func theMostIsTriedAndNotExceeded() {
        let (search, tried) = Self.found(limit: 1e6, first: 10, most: 100)
        #expect(search.highest == 100)
        #expect(search.lowestBroken == nil)
        #expect(tried == [10, 20, 40, 80, 100])
    }

    @Test func aSearchWithoutAPassingLoadReportsIt() {
        let (search, tried) = Self.found(limit: 0, first: 10)
        #expect(search.highest == nil)
        #expect(tried.count <= LoadSearch.maxSteps)
        #expect(Self.found(limit: 0, first: 10, isWhole: true).tried.last == 1)
    }

    /// A limit that moves from run to run must not keep it searching.
    @Test func itEndsWhenWhatHeldBreaks() {
        var search = LoadSearch(first: 10, most: 1e9, isWhole: false)
        var tried = 0
        while search.next != nil {
            tried += 1
            search.record(holds: tried % 3 != 0)
        }
        #expect(tried <= LoadSearch.maxSteps)
    }
}
