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

    /// False when requests are not taken any more.
    func begin(_ exchange: Exchange) -> Bool {
        state.withLock { state in
            if !state.isRefusing { state.exchanges[ObjectIdentifier(exchange)] = exchange }
            return !state.isRefusing
        }
    }

    /// The request is answered, or its connection closed.
    func end(_ exchange: Exchange) {
        let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.exchanges[ObjectIdentifier(exchange)] = nil
            guard state.exchanges.isEmpty else { return [] }
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for continuation in waiting { continuation.resume() }
    }

    /// No request goes to a handler any more; those there are asked to end.
    func refuseAndCancel() {
        let all = state.withLock { state in
            state.isRefusing = true
            return Array(state.exchanges.values)
        }
        for exchange in all { exchange.cancel() }
    }

    /// Answers for all handlers that have not.
    func abandon(with response: HTTPResponse) {
        for exchange in state.withLock({ Array($0.exchanges.values) }) {
            exchange.finish(response)
        }
    }

    /// Returns when every request is done with, at the latest after the time given.
    func waitUntilIdle(atMostSeconds seconds: Double) async {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        let timer = Task {
            try? await Task.sleep(for: .seconds(seconds))
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
        }
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if !state.exchanges.isEmpty { state.waiters[id] = continuation }
                return state.exchanges.isEmpty
            }
            if isIdle { continuation.resume() }
        }
        timer.cancel()
    }
}
