import Synchronization
import Testing

@testable import Worker

@Suite("Calls that block", .timeLimit(.minutes(2)))
struct BlockingCallsTests {
    private final class Flag: Sendable {
        private let value = Atomic(false)
        var isSet: Bool { value.load(ordering: .acquiring) }
        func set() { value.store(true, ordering: .releasing) }
    }

    /// Busy rather than asleep: a pool adds threads for those that sleep.
    @Test("as many busy calls as there are cores, and more, hold up no task")
    func tasksContinue() async {
        let calls = BlockingCalls()
        let tasksHaveRun = Flag()
        let timeout = ContinuousClock.now + .seconds(60)
        await withTaskGroup { group in
            for _ in 0..<64 {
                group.addTask {
                    _ = await calls.run {
                        while !tasksHaveRun.isSet, ContinuousClock.now < timeout {}
                    }
                }
            }
            group.addTask {
                // Several suspensions, each of which has to come back to one of the tasks' threads:
                // by a timer, because a yield may never leave its own.
                for _ in 0..<10 { try? await Task.sleep(for: .milliseconds(1)) }
                tasksHaveRun.set()
            }
        }
        #expect(ContinuousClock.now < timeout)
    }
}
