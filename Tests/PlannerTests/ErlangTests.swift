import Planner
import Testing

/// Against published tables: Erlang B (5, 2) and (14, 10), and waits of M/M/c.
@Suite struct ErlangTests {
    @Test(arguments: [(2, 0.5, 0.1), (3, 2, 4.0 / 9), (2, 1.8, 0.852_631_578_947_368_4)])
    func shareThatWaits(servers: Int, load: Double, expected: Double) {
        #expect(abs(Erlang.waiting(servers: servers, load: load) - expected) < 1e-12)
    }

    @Test(arguments: [(5, 2.0, 0.0367), (14, 10, 0.0568)])
    func shareThatIsTurnedAway(servers: Int, load: Double, expected: Double) {
        #expect(abs(Erlang.blocking(servers: servers, load: load) - expected) < 5e-5)
    }
}
