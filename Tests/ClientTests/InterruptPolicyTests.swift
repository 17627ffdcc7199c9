import Glibc
import Services
import Testing

@testable import Client

/// What signals do to a followed catalog.
@Suite struct InterruptPolicyTests {
    private func policy(
        _ choice: OnInterrupt, after events: InterruptPolicy.Event...
    ) -> InterruptPolicy {
        var policy = InterruptPolicy(choice)
        for event in events { _ = policy.handle(event) }
        return policy
    }

    private static let ctrlC = InterruptPolicy.Event.signal(SIGINT, canDetach: true)

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func aChoiceNeedsNoQuestion(_ number: Int32) {
        var interrupts = policy(.interrupt)
        #expect(interrupts.handle(.signal(number, canDetach: true)) == .pass(signal: number))
        var detaches = policy(.detach)
        #expect(detaches.handle(.signal(number, canDetach: true)) == .detach(signal: number))
        // Whatever comes then hastens the end.
        #expect(detaches.handle(.signal(number, canDetach: false)) == .pass(signal: number))
    }

    @Test(arguments: OnInterrupt.allCases)
    func aCatalogThatNeedsItsSubmitterIsInterrupted(_ choice: OnInterrupt) {
        var policy = policy(choice)
        #expect(policy.handle(.signal(SIGINT, canDetach: false)) == .pass(signal: SIGINT))
    }

    /// A removal continues in its cluster whatever the answer.
    @Test func nobodyIsAskedWithoutAChoice() {
        var policy = InterruptPolicy(.ask, hasChoice: false)
        #expect(policy.handle(Self.ctrlC) == .pass(signal: SIGINT))
        #expect(InterruptMessages.removal(isEmbedded: false).choice == nil)
        #expect(InterruptMessages.refresh.choice == "cancel the refresh")
    }

    @Test func onlyCtrlCAsks() {
        for number in [SIGTERM, SIGHUP] {
            var policy = policy(.ask)
            #expect(policy.handle(.signal(number, canDetach: true)) == .pass(signal: number))
        }
        var policy = policy(.ask)
        #expect(policy.handle(Self.ctrlC) == .ask)
    }

    @Test(arguments: [
        (TerminalQuestion.Answer.line("d"), InterruptPolicy.Action.detach(signal: SIGINT)),
        (.line(" Detach\r"), .detach(signal: SIGINT)), (.line("i"), .pass(signal: SIGINT)),
        (.line("interrupt"), .pass(signal: SIGINT)), (.line("c"), .follow),
        (.line(""), .repeatQuestion), (.line("yes"), .repeatQuestion),
        (.none, .detach(signal: SIGINT)), (.endOfInput, .pass(signal: SIGINT)),
        (.noTerminal, .pass(signal: SIGINT)),
    ])
    func everyAnswerHasOneMeaning(
        _ answer: TerminalQuestion.Answer, _ action: InterruptPolicy.Action
    ) {
        var policy = policy(.ask, after: Self.ctrlC)
        #expect(policy.handle(.answer(answer)) == action)
    }

    @Test func aSecondCtrlCInterrupts() {
        var twice = policy(.ask, after: Self.ctrlC)
        #expect(twice.handle(Self.ctrlC) == .pass(signal: SIGINT))
        #expect(twice.handle(.answer(.line("d"))) == .nothing)
        #expect(twice.handle(Self.ctrlC) == .pass(signal: SIGINT))
        // Who continues is asked again the next time.
        var continued = policy(.ask, after: Self.ctrlC, .answer(.line("c")))
        #expect(continued.handle(Self.ctrlC) == .ask)
        var repeated = policy(.ask, after: Self.ctrlC, .answer(.line("?")))
        #expect(repeated.handle(.answer(.line("d"))) == .detach(signal: SIGINT))
    }

    @Test func aDetachedCatalogStaysSo() {
        let detachment = Detachment()
        #expect(!detachment.isPossible && !detachment.detach())
        detachment.begin()
        #expect(detachment.isPossible && detachment.detach() && detachment.hasHappened)
        #expect(!detachment.detach())
        let ended = Detachment()
        ended.begin()
        ended.end()
        #expect(!ended.isPossible && !ended.detach() && !ended.hasHappened)
    }
}
