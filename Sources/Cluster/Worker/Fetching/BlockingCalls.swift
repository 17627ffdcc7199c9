import Dispatch

/// Runs calls that block on the disk, or hash for long, outside the threads of Swift tasks.
struct BlockingCalls: Sendable {
    // Dispatch shares its threads per quality of service. The default class would use the threads
    // of tasks, and as many long calls as cores would delay every heartbeat.
    private let queue = DispatchQueue(
        label: "dray.storage", qos: .utility, attributes: .concurrent)

    /// Runs a call without waiting for it.
    func start(_ body: @escaping @Sendable () -> Void) { queue.async { body() } }

    func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: body()) }
        }
    }
}
