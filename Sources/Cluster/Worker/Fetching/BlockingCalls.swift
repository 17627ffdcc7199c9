import Dispatch

/// Runs calls that block on the disk, or hash for long, away from the threads that tasks share.
struct BlockingCalls: Sendable {
    // Threads come by class of service: in the standard one they would be those of tasks, and as many
    // long calls as there are cores would hold up every heartbeat.
    private let queue = DispatchQueue(
        label: "dray.storage", qos: .utility, attributes: .concurrent)

    /// Nobody waits for it.
    func start(_ body: @escaping @Sendable () -> Void) { queue.async { body() } }

    func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: body()) }
        }
    }
}
