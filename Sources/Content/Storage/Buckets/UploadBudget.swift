import Synchronization

/// A number of bytes that several uploads divide; those that find too few wait in order.
final class UploadBudget: Sendable {
    private struct State {
        var free: Int
        var waiting: [(bytes: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    let total: Int
    private let state: Mutex<State>

    init(bytes: Int) {
        total = bytes
        state = Mutex(State(free: bytes))
    }

    /// Runs `body` with `bytes` of the budget, or all of it if that is less.
    func with<Value: Sendable>(
        _ bytes: Int, _ body: () async -> Value
    ) async -> Value {
        let taken = min(bytes, total)
        await take(taken)
        defer { giveBack(taken) }
        return await body()
    }

    /// Takes bytes, at most `total`; `giveBack` returns the same number.
    func take(_ bytes: Int) async {
        await withCheckedContinuation { continuation in
            let isTaken = state.withLock { state in
                guard state.waiting.isEmpty, state.free >= bytes else {
                    state.waiting.append((bytes, continuation))
                    return false
                }
                state.free -= bytes
                return true
            }
            if isTaken { continuation.resume() }
        }
    }

    func giveBack(_ bytes: Int) {
        let woken = state.withLock { state in
            state.free += bytes
            var woken: [CheckedContinuation<Void, Never>] = []
            while let first = state.waiting.first, first.bytes <= state.free {
                state.free -= first.bytes
                woken.append(first.continuation)
                state.waiting.removeFirst()
            }
            return woken
        }
        for continuation in woken { continuation.resume() }
    }
}
