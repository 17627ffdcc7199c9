import Model
import Services
import Synchronization
import Testing

@Suite(.serialized) struct LogTests {
    private final class Clock: Sendable {
        private let time = Mutex(ContinuousClock.Instant.now)
        var now: ContinuousClock.Instant { time.withLock { $0 } }
        func advance(seconds: Double) { time.withLock { $0 += .seconds(seconds) } }
    }

    @Test func aRepeatedFailureIsLoggedOnceThenItsEnd() {
        let clock = Clock()
        let episodes = FailureEpisodes { clock.now }
        #expect(episodes.succeeded("database") == nil)
        #expect(episodes.failed("database")?.count == 1)
        for _ in 0..<99 {
            clock.advance(seconds: 0.5)
            #expect(episodes.failed("database") == nil)
        }
        // Another failure is another episode.
        #expect(episodes.failed("report")?.count == 1)
        clock.advance(seconds: 0.5)
        let episode = episodes.succeeded("database")
        #expect(episode?.count == 100 && episode?.seconds == 50)
        #expect(episodes.succeeded("database") == nil)
        #expect(episodes.failed("database")?.count == 1)
    }

    /// Its work was under way when the failures began.
    @Test func aSuccessThatBeganEarlierEndsNothing() {
        let clock = Clock()
        let episodes = FailureEpisodes { clock.now }
        let early = clock.now
        clock.advance(seconds: 1)
        #expect(episodes.failed("database")?.count == 1)
        #expect(episodes.succeeded("database", since: early) == nil)
        #expect(episodes.failed("database") == nil)
        clock.advance(seconds: 1)
        let episode = episodes.succeeded("database", since: clock.now)
        #expect(episode?.count == 2 && episode?.seconds == 1)
    }

    @Test func aFailureThatLastsIsLoggedEveryTenMinutes() {
        let clock = Clock()
        let episodes = FailureEpisodes { clock.now }
        var logged: [Int] = []
        for second in 0..<1_900 {
            if episodes.failed("database") != nil { logged.append(second) }
            clock.advance(seconds: 1)
        }
        #expect(logged == [0, 600, 1_200, 1_800])
    }

    @Test func aComponentHasItsOwnLevel() throws {
        let levels = try #require(LogLevels("queue=debug,warning,worker=error", standard: .info))
        #expect(levels.writes(.debug, of: "queue"))
        #expect(!levels.writes(.info, of: "coordinator"))
        #expect(levels.writes(.warning, of: "coordinator"))
        #expect(!levels.writes(.warning, of: "worker"))
        let standard = try #require(LogLevels("queue=debug", standard: .error))
        #expect(!standard.writes(.warning, of: "worker"))
    }

    @Test(arguments: [
        "", "loud", "info,", "=debug", "queue=", "a=info,a=debug", "info,debug", "a=b=info",
    ])
    func otherLevelsAreRefused(text: String) {
        #expect(LogLevels(text, standard: .info) == nil)
    }

    @Test func linesOfARequestHaveItsTrace() throws {
        let lines = Mutex("")
        LogOutput.redirect { line in lines.withLock { $0 += line } }
        defer { LogOutput.redirect(to: nil) }
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        let context = try #require(TraceContext("00-\(trace)-00f067aa0ba902b7-01"))
        TraceContext.$current.withValue(context) { Logger("test").error("traced") }
        Logger("test").error("untraced")
        let own = lines.withLock { $0 }.split(separator: "\n").filter { $0.contains("traced") }
        try #require(own.count == 2)
        #expect(own[0].hasSuffix("test: traced trace_id=\(trace) span_id=00f067aa0ba902b7"))
        #expect(own[1].hasSuffix("test: untraced"))
    }

    @Test func noURLsSecretIsLogged() {
        let lines = Mutex("")
        LogOutput.redirect { line in lines.withLock { $0 += line } }
        defer { LogOutput.redirect(to: nil) }
        Logger("test").error("refused", ["url": "https://u:password@h/x?sig=secret"])
        let text = lines.withLock { $0 }
        #expect(text.contains("https://"))
        #expect(!text.contains("secret") && !text.contains("password"), "\(text)")
    }
}
