import CoordinatorClient
import Model
import Services
import Transfer

/// The objects that all parts of a worker use.
struct WorkerCore: Sendable {
    let identity: WorkerIdentity
    let connections: Int
    let client: CoordinatorClient
    let engine: TransferEngine
    let held: HeldWork
    let pace: LeasePace
    let blocking: BlockingCalls
    /// Triggered when the worker leases no more jobs.
    let draining: ShutdownSignal
    let log: Logger
    let metrics = WorkerMetrics()
}
