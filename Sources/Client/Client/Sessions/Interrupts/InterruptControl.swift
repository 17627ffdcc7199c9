import Rendering
import Services

/// Receives the signals of a command that follows a catalog, asks what they mean if the policy says
/// so, and passes them on to the command's services.
struct InterruptControl: Sendable {
    let policy: InterruptPolicy
    let session: any FollowingSession
    let display: ProgressDisplay

    /// Runs until its task is cancelled.
    ///
    /// - Parameters:
    ///   - signals: signals of the process.
    ///   - pass: gets those that stop the services.
    func run(_ signals: AsyncStream<Int32>, pass: @escaping @Sendable (Int32) -> Void) async {
        let (events, sender) = AsyncStream.makeStream(of: InterruptPolicy.Event.self)
        var policy = policy
        await withDiscardingTaskGroup { group in
            group.addTask {
                for await number in signals {
                    sender.yield(.signal(number, canDetach: session.canDetach))
                }
            }
            var deadline = ContinuousClock.now
            for await event in events {
                switch policy.handle(event) {
                case .ask:
                    display.pause()
                    deadline = .now + .seconds(OnInterrupt.patienceSeconds)
                    group.addTask { [deadline] in
                        sender.yield(await Self.answer(to: question, until: deadline))
                    }
                case .repeatQuestion:
                    group.addTask { [deadline] in
                        sender.yield(await Self.answer(to: "d, i or c? ", until: deadline))
                    }
                case .follow: display.resume()
                case .detach(let number):
                    display.resume(breaksLine: event == .answer(.none))
                    if !session.detach() { pass(number) }
                case .pass(let number):
                    // After a second Ctrl-C the cursor is behind the question.
                    if case .signal = event { display.resume(breaksLine: true) }
                    display.resume()
                    pass(number)
                case .nothing: break
                }
            }
        }
    }

    private static func answer(
        to text: String, until deadline: ContinuousClock.Instant
    ) async -> InterruptPolicy.Event {
        .answer(await TerminalQuestion.ask(text, atMost: max(.zero, deadline - .now)))
    }

    private var question: String {
        "dray: detach and let the cluster continue (d), \(session.messages.choice ?? "end") (i), or "
            + "continue to follow (c)?\nCtrl-C again interrupts; without an answer in "
            + "\(HumanFormat.count(OnInterrupt.patienceSeconds, "second")), dray detaches. "
    }
}
