import Dispatch

/// Runs calls that block on the disk away from the threads that tasks share.
struct BlockingCalls: Sendable {
    private let queue = DispatchQueue(label: "dray.storage", attributes: .concurrent)

    /// Nobody waits for it.
    func start(_ body: @escaping @Sendable () -> Void) { queue.async { body() } }

    func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: body()) }
        }
    }
}
