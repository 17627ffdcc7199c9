internal import Model
internal import Storage
import Synchronization

/// One transfer that an engine has accepted; safe to ask from any thread.
package final class Transfer: Sendable {
    /// Unique in its process.
    package let id: UInt64
    package let request: TransferRequest
    /// What the bytes of its site count against.
    let siteMeter: ByteMeter?
    let completion: @Sendable (Transfer, TransferResult) -> Void
    private let received = Atomic<Int64>(0)
    private let current = Mutex(TransferState.machine.initial)
    private let left: Mutex<PartialBody?>
    private let observer: Observer?

    /// Learns of each event and of the state before it, on the thread that raises it.
    package typealias Observer = @Sendable (TransferState, TransferEvent) -> Void

    init(
        id: UInt64, request: TransferRequest, siteMeter: ByteMeter? = nil,
        observer: Observer? = nil,
        completion: @escaping @Sendable (Transfer, TransferResult) -> Void
    ) {
        self.id = id
        self.request = request
        self.siteMeter = siteMeter
        self.observer = observer
        self.completion = completion
        left = Mutex(request.resumption?.partial)
    }

    /// What an earlier attempt left of what is asked for, or this one before it was stopped for others.
    var partial: PartialBody? {
        get { left.withLock(\.self) }
        set { left.withLock { $0 = newValue } }
    }

    /// Bytes of the body so far.
    package var receivedBytes: Int64 { received.load(ordering: .relaxed) }

    package var state: TransferState { current.withLock { $0 } }

    /// Moves the state on, by whoever has the transfer: the scheduler, then a loop.
    func handle(_ event: TransferEvent) {
        let from = current.withLock { state -> TransferState in
            let from = state
            if let next = TransferState.machine.next(state, event) {
                state = next
            } else {
                assertionFailure("\(event.rawValue) of a transfer that is \(state.rawValue)")
            }
            return from
        }
        observer?(from, event)
    }

    func set(receivedBytes count: Int64) { received.store(count, ordering: .relaxed) }

    func add(receivedBytes count: Int) {
        received.wrappingAdd(Int64(count), ordering: .relaxed)
    }
}
