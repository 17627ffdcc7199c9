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
            search.record(level <= limit ? .holds(perSecond: nil) : .breaks)
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
            search.record(tried % 3 != 0 ? .holds(perSecond: nil) : .breaks)
        }
        #expect(tried <= LoadSearch.maxSteps)
    }

    // MARK: Busy machines

    /// Other work on the machine is waited for, and is no reason to search lower.
    @Test func aBusyMachineEndsItWhereItStaysBusy() {
        var search = LoadSearch(first: 150, most: 1e9, isWhole: false)
        search.record(.holds(perSecond: nil))
        var pauses: [Double] = []
        while search.next == 300 {
            pauses.append(search.pauseSeconds)
            #expect(search.attempt == pauses.count)
            search.record(.machineBusy)
        }
        #expect(pauses == [0] + LoadSearch.busyPauses)
        #expect(search.next == nil && search.end == .machineBusy(300))
        #expect(search.highest == 150 && search.lowestBroken == nil)
    }

    @Test func aBusyMomentIsForgotten() {
        var search = LoadSearch(first: 150, most: 1e9, isWhole: false)
        search.record(.machineBusy)
        search.record(.machineBusy)
        search.record(.holds(perSecond: nil))
        #expect(search.next == 300 && search.pauseSeconds == 0 && search.attempt == 1)
        search.record(.machineBusy)
        search.record(.breaks)
        #expect(search.lowestBroken == 300 && search.end == nil && search.next != nil)
    }

    /// A generator without CPU left is tried once more at once, and searched below.
    @Test func aGeneratorIsTriedOnceMore() {
        var search = LoadSearch(first: 400, most: 1e9, isWhole: false)
        search.record(.generator)
        #expect(search.next == 400 && search.pauseSeconds == 0 && search.lowestBroken == nil)
        search.record(.generator)
        #expect(search.next == 200 && search.lowestBroken == 400)
    }

    // MARK: Throughput

    /// The users tried, and the end, of a server that serves `throughput` of so many users.
    private static func knee(
        first: Double = 10, endsAtKnee: Bool = true, most: Double = 10_000,
        _ throughput: (Double) -> Double
    ) -> (search: LoadSearch, tried: [Double]) {
        var search = LoadSearch(first: first, most: most, isWhole: true, endsAtKnee: endsAtKnee)
        var tried: [Double] = []
        while let users = search.next {
            tried.append(users)
            search.record(.holds(perSecond: throughput(users)))
        }
        return (search, tried)
    }

    @Test func usersAreRaisedUntilThroughputStopsRising() {
        let (search, tried) = Self.knee { min($0 * 500, 20_000) * (1 + $0 / 1e4) }
        #expect(search.end == .knee(.init(level: 40, perSecond: 20_080)))
        #expect(tried == [10, 20, 40, 80, 160, 320])
        // Not with a bound that fails at some number of users, nor while throughput rises slowly.
        let bounded = Self.knee(endsAtKnee: false) { min($0 * 500, 20_000) }
        #expect(bounded.search.end == nil && bounded.tried.last == 10_000)
        let rising = Self.knee { 100 * $0.squareRoot().squareRoot().squareRoot() }
        #expect(rising.search.end == nil && rising.search.highest == 10_000)
    }

    @Test func aServerThatIsFullFromTheStartIsKnownAfterThreeDoublings() {
        let (search, tried) = Self.knee(first: 1) { _ in 300 }
        #expect(search.end == .knee(.init(level: 1, perSecond: 300)) && tried == [1, 2, 4, 8])
    }
}
