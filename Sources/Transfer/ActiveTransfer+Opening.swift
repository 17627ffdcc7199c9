internal import Curl
internal import EventLoop
internal import Model
internal import Storage

// The place of a long body is opened by another thread than the loop's: to look for room and to
// reserve it may take long, and a disk in trouble would hold up all transfers of the loop.
extension ActiveTransfer {
    /// A place that is being opened.
    struct Opening {
        /// Why the transfer has ended meanwhile. It ends when the place is open: the next attempt may
        /// open one of the same name.
        var ending: Failure?
    }

    /// A short body's place at a local disk is opened sooner than another thread has been asked to.
    var isWorthAThread: Bool {
        request.opensAside || wantedBytes.map { $0 >= loop.options.openAsideBytes } ?? true
    }

    func openAside(
        _ open: @escaping @Sendable (_ bytes: Int64?) throws(Failure) -> PendingObject
    ) {
        opening = Opening()
        loop.openAside(transfer.id, bytes: wantedBytes, open)
    }

    /// Goes on with the body, or ends.
    func opened(_ result: Result<PendingObject, Failure>) {
        let ending = opening?.ending
        opening = nil
        switch result {
        case .success(let opened) where ending == nil:
            object = opened
            // Making room for a large file may take longer than its first bytes.
            splitCandidate?.startedAt = MonotonicClock.nowSeconds
            receive()
            let code = easy.resume()
            guard code != .ok else { return }
            loop.remove(easy)
            curl(easy, finished: code)
        case .success(let opened):
            opened.discard()
            finish(ending ?? .cancelled)
        case .failure(let failure):
            loop.remove(easy)
            finish(ending ?? failure)
        }
    }

    /// Ends with `failure`: now, or when the place that is being opened is open.
    func finish(orWhenOpened failure: Failure) {
        guard opening != nil else { return finish(failure) }
        if opening?.ending == nil { opening?.ending = failure }
    }

    /// Ends although its place is not open yet: nobody opens another one after that.
    func finishUnopened() {
        guard let ending = opening?.ending else { return }
        opening = nil
        finish(ending)
    }
}

/// A place for a loop's transfer, to be opened by another thread.
struct PlaceToOpen: Sendable {
    let transfer: UInt64
    let bytes: Int64?
    let open: @Sendable (_ bytes: Int64?) throws(Failure) -> PendingObject

    func result() -> Result<PendingObject, Failure> {
        Result { () throws(Failure) in try open(bytes) }
    }
}
