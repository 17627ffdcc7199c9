internal import Model
internal import Storage

/// A destination of a loop's transfer, to be opened by another thread.
struct OpeningDestination: Sendable {
    let transfer: UInt64
    let bytes: Int64?
    let open: @Sendable (_ bytes: Int64?) throws(Failure) -> PendingObject

    func result() -> Result<PendingObject, Failure> {
        Result { () throws(Failure) in try open(bytes) }
    }
}
