package import Model
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

    init(
        id: UInt64, request: TransferRequest, siteMeter: ByteMeter? = nil,
        completion: @escaping @Sendable (Transfer, TransferResult) -> Void
    ) {
        self.id = id
        self.request = request
        self.siteMeter = siteMeter
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

    /// Moves the state on; false, and nothing changed, when the table does not allow `event` now.
    ///
    /// The engine moves it up to `storing` or `failed`; storing and reporting are its caller's.
    @discardableResult
    package func handle(_ event: TransferEvent) -> Bool {
        current.withLock { state in
            guard let next = TransferState.machine.next(state, event) else { return false }
            state = next
            return true
        }
    }

    func set(receivedBytes count: Int64) { received.store(count, ordering: .relaxed) }

    func add(receivedBytes count: Int) {
        received.wrappingAdd(Int64(count), ordering: .relaxed)
    }
}
