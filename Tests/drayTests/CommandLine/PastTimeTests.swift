import CommandLine
import Services
import Testing

@testable import dray

/// `--since TIME` is in the past: a duration is one before now, wherever it is read.
@Suite struct PastTimeTests {
    private static func arguments(_ words: [String]) throws -> Arguments {
        guard case .run(_, let arguments) = try CommandParser(DrayCommand.tree).parse(words) else {
            throw UsageError("no command", hint: "")
        }
        return arguments
    }

    @Test func aDurationIsBeforeNow() throws {
        let clock = ManualWallClock(nowSeconds: 1_000_000)
        func time(_ text: String) throws -> Double? {
            try TimeOptions.pastTime(
                "since", Self.arguments(["watch", "--since", text]), clock: clock)
        }
        #expect(try time("2d") == 1_000_000 - 172_800)
        #expect(try time("30d") == 1)
        #expect(try time("1970-01-02T00:00Z") == 86_400)
        let error = #expect(throws: UsageError.self) { try time("yesterday") }
        #expect(error?.hint.contains("or how long ago: 90m, 6h, 2d") == true)
        #expect(error?.hint.contains("from now") == false)
    }

    /// Requests of the last days count in a plan, instead of none.
    @Test func aPlanReadsRequestsOfTheLastDays() throws {
        let words = ["plan", "fill", "--log", "a.log", "--site", "s=1MB", "--since", "7d"]
        let settings = try FillSettings(Self.arguments(words))
        let now = SystemWallClock().nowSeconds
        #expect(settings.since <= now - 7 * 86_400 + 1)
        #expect(settings.since > now - 8 * 86_400)
    }
}
