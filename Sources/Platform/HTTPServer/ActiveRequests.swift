internal import EventLoop
internal import Synchronization

/// The requests that are being handled or answered. Safe from any thread.
final class ActiveRequests: Sendable {
    private struct State {
        var exchanges: [ObjectIdentifier: Exchange] = [:]
        var isRefusing = false
        var nextWaiter = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    var count: Int { state.withLock(\.exchanges.count) }
    var isRefusing: Bool { state.withLock(\.isRefusing) }

    /// Adds a request; returns false if requests are no longer accepted.
    func begin(_ exchange: Exchange) -> Bool {
        state.withLock { state in
            if !state.isRefusing { state.exchanges[ObjectIdentifier(exchange)] = exchange }
            return !state.isRefusing
        }
    }

    /// Removes a request that is answered, or whose connection is closed.
    func end(_ exchange: Exchange) {
        let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.exchanges[ObjectIdentifier(exchange)] = nil
            guard state.exchanges.isEmpty else { return [] }
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Rejects new requests and cancels the handlers of the present ones.
    func refuseAndCancel() {
        let all = state.withLock { state in
            state.isRefusing = true
            return Array(state.exchanges.values)
        }
        for exchange in all { exchange.cancel() }
    }

    /// Sends `response` for all handlers that have not answered.
    func abandon(with response: HTTPResponse) {
        for exchange in state.withLock({ Array($0.exchanges.values) }) {
            exchange.finish(response)
        }
    }

    /// Waits until no request is active, at most for the given time.
    func waitUntilIdle(atMostSeconds seconds: Double) async {
        // Not cancelled with its caller: requests get their time to end all the same.
        _ = await Task {
            await waitAtMost(.seconds(seconds)) { await self.waitUntilIdle() }
        }.value
    }

    /// Waits until no request is active or the task is cancelled.
    private func waitUntilIdle() async {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    // The cancellation handler may have run before this; it found no waiter then.
                    if state.exchanges.isEmpty || Task.isCancelled { return true }
                    state.waiters[id] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
        }
    }
}
