internal import Model
internal import Storage
import Synchronization

/// One transfer that an engine has accepted; safe from any thread.
package final class Transfer: Sendable {
    /// Unique in its process.
    package let id: UInt64
    package let request: TransferRequest
    /// The meter that counts the bytes of its site.
    let siteMeter: ByteMeter?
    let completion: @Sendable (Transfer, TransferResult) -> Void
    private let received = Atomic<Int64>(0)
    private let resumed = Atomic<Int64>(0)
    private let changing: Mutex<Changing>
    private let observer: Observer?

    private struct Changing {
        var state = TransferState.machine.initial
        var partial: PartialBody?
    }

    /// Receives each event and the state before it, on the thread that raises it.
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
        changing = Mutex(Changing(partial: request.delivery.resumption?.partial))
    }

    /// The partial body of an earlier attempt, or of this one before it was stopped in favor of
    /// others.
    var partial: PartialBody? {
        get { changing.withLock { $0.partial } }
        set { changing.withLock { $0.partial = newValue } }
    }

    /// Bytes of the body so far.
    package var receivedBytes: Int64 { received.load(ordering: .relaxed) }

    /// Bytes of the body that an earlier attempt received.
    package var resumedBytes: Int64 { resumed.load(ordering: .relaxed) }

    package var state: TransferState { changing.withLock { $0.state } }

    /// Changes the state; called by the transfer's present owner, the scheduler or a loop.
    func handle(_ event: TransferEvent) {
        let from = changing.withLock { changing -> TransferState in
            let from = changing.state
            if let next = TransferState.machine.next(from, event) {
                changing.state = next
            } else {
                assertionFailure("\(event.rawValue) of a transfer that is \(from.rawValue)")
            }
            return from
        }
        observer?(from, event)
    }

    /// Begins a body after its first `bytes`, which an earlier attempt received.
    func begin(at bytes: Int64) {
        received.store(bytes, ordering: .relaxed)
        resumed.store(bytes, ordering: .relaxed)
    }

    func add(receivedBytes count: Int) {
        received.wrappingAdd(Int64(count), ordering: .relaxed)
    }
}
