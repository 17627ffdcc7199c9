import Foundation
import Synchronization

/// Returns the result of `work`, or nil after `duration` or if the calling task is cancelled.
///
/// The work is cancelled then, but not waited for: unlike `waitAtMost`, this is for work that may
/// not react.
package func result<Value: Sendable>(
    atMost duration: Duration, of work: @escaping @Sendable () async -> Value
) async -> Value? {
    let first = FirstResult<Value>()
    let task = Task.detached { first.end(await work()) }
    return await first.wait(atMost: duration) { task.cancel() }
}

/// Does the same for work that blocks, on a thread of its own.
package func blockingResult<Value: Sendable>(
    atMost duration: Duration, of work: @escaping @Sendable () -> Value
) async -> Value? {
    let first = FirstResult<Value>()
    Thread.detachNewThread { first.end(work()) }
    return await first.wait(atMost: duration) {}
}

/// A result that is waited for at most once.
private final class FirstResult<Value: Sendable>: Sendable {
    private let signal = ShutdownSignal()
    private let value = Mutex<Value?>(nil)

    func end(_ result: Value) {
        value.withLock { $0 = result }
        signal.trigger()
    }

    func wait(atMost duration: Duration, abandon: @Sendable () -> Void) async -> Value? {
        _ = await signal.wait(atMost: duration)
        let result = value.withLock { $0 }
        if result == nil { abandon() }
        return result
    }
}
