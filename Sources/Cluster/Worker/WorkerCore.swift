import CoordinatorClient
import Model
import Services
import Transfer

/// What everything in a worker works with.
struct WorkerCore: Sendable {
    let identity: WorkerIdentity
    let connections: Int
    let client: CoordinatorClient
    let engine: TransferEngine
    let held: HeldWork
    let pace: LeasePace
    let blocking: BlockingCalls
    /// Triggered when the worker takes no more work.
    let draining: ShutdownSignal
    let log: Logger
}
