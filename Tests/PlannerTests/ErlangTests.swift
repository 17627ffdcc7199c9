import Planner
import Statistics
import Testing

/// Erlang's formulas against values by the recursion in 30 digits (mpmath), and against what must
/// hold whatever the numbers are.
@Suite struct ErlangTests {
    struct Case: Sendable {
        let servers: Int
        let load: Double
        let blocking: Double
        let waiting: Double

        init(_ servers: Int, _ load: Double, _ blocking: Double, _ waiting: Double) {
            self.servers = servers
            self.load = load
            self.blocking = blocking
            self.waiting = waiting
        }
    }

    static let cases = [
        Case(1, 0.5, 1.0 / 3, 0.5), Case(2, 0.5, 0.076_923_076_923_076_923, 0.1),
        Case(2, 1.8, 81.0 / 221, 0.852_631_578_947_368_42), Case(3, 2, 4.0 / 19, 4.0 / 9),
        Case(5, 2, 0.036_697_247_706_422_018, 0.059_701_492_537_313_433),
        Case(14, 10, 0.056_819_143_386_520_859, 0.174_131_933_595_049_84),
        Case(15, 10, 0.036_496_945_472_370_793, 0.102_042_367_007_988_01),
        Case(100, 80, 0.003_992_028_604_553_197_5, 0.019_646_426_634_359_511),
        Case(100, 99.9, 0.075_127_952_737_684_89, 0.987_839_083_559_650_1),
        Case(10, 100, 0.901_084_704_781_538_34, 1),
        Case(50, 1, 1.209_568_993_990_976e-65, 1.234_254_075_500_995_9e-65),
        Case(1_000, 900, 5.929_862_670_146_223_9e-5, 5.926_699_663_787_812_2e-4),
        Case(1_000, 1_000, 0.024_811_917_646_160_408, 1),
        Case(100_000, 99_000, 8.225_775_598_504_222_3e-6, 8.219_082_374_107_954e-4),
        Case(1_000_000, 999_000, 2.874_213_757_768_679_2e-4, 0.223_303_390_291_344_09),
        Case(1_000_000, 999_999, 7.968_244_723_429_228_6e-4, 0.998_747_588_964_593_78),
        Case(1_000_000, 1_001_000, 1.523_319_575_819_200_6e-3, 1),
        Case(300, 1, 0, 0),
    ]

    @Test(arguments: cases) func valuesToTenDigits(value: Case) {
        let blocking = Erlang.blocking(servers: value.servers, load: value.load)
        let waiting = Erlang.waiting(servers: value.servers, load: value.load)
        #expect(abs(blocking - value.blocking) <= 1e-10 * value.blocking)
        // C multiplies B's error by what 1 − B is close to.
        #expect(abs(waiting - value.waiting) <= 1e-9 * value.waiting)
    }

    @Test func noServersAndNoArrivals() {
        #expect(Erlang.blocking(servers: 0, load: 3) == 1)
        #expect(Erlang.blocking(servers: 3, load: 0) == 0)
        #expect(Erlang.waiting(servers: 3, load: 0) == 0)
        #expect(Erlang.waiting(servers: 3, load: 3) == 1)
        #expect(Erlang.blocking(servers: 3, load: 1e-300) == 0)
        #expect(Erlang.blocking(servers: 1_000_000, load: 1) == 0)
        #expect(abs(Erlang.blocking(servers: 1, load: 1e300) - 1) < 1e-12)
    }

    /// The recursion that textbooks define it by.
    @Test func eachServerCountFollowsFromTheOneBefore() {
        var random = SeededRandom(seed: 1)
        for _ in 0..<300 {
            let servers = Int.random(in: 1...20_000, using: &random)
            let load = Double(servers) * Double.random(in: 0.9...1.3, using: &random)
            let before = Erlang.blocking(servers: servers - 1, load: load)
            let expected = load * before / (Double(servers) + load * before)
            let value = Erlang.blocking(servers: servers, load: load)
            #expect(abs(value - expected) <= 1e-11 * expected, "\(servers), \(load)")
        }
    }

    @Test func moreLoadWaitsMoreAndMoreServersLess() {
        var random = SeededRandom(seed: 2)
        for _ in 0..<300 {
            let servers = Int.random(in: 1...100_000, using: &random)
            let load = Double(servers) * Double.random(in: 0.01...0.9999, using: &random)
            let waiting = Erlang.waiting(servers: servers, load: load)
            #expect((0...1).contains(waiting))
            #expect(Erlang.waiting(servers: servers + 1, load: load) <= waiting)
            #expect(Erlang.waiting(servers: servers, load: load * 1.000_01) >= waiting)
            #expect(Erlang.blocking(servers: servers, load: load) <= waiting)
        }
    }
}
