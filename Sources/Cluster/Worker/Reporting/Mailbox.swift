import Synchronization

/// Passes batches from any thread to one task: elements that arrive while the task is busy are its
/// next batch.
final class Mailbox<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var waiter: CheckedContinuation<Void, Never>?
        var isClosed = false
    }

    private let state = Mutex(State())

    func push(_ element: Element) { push(contentsOf: CollectionOfOne(element)) }

    func push(contentsOf elements: some Collection<Element> & Sendable) {
        let waiter = state.withLock { state in
            state.elements.append(contentsOf: elements)
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Closes the mailbox to new elements; the present ones are still delivered.
    func close() {
        let waiter = state.withLock { state in
            state.isClosed = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Takes up to `most` present elements in order.
    func takeNow(_ most: Int) -> [Element] {
        state.withLock { state in
            let batch = Array(state.elements.prefix(most))
            state.elements.removeFirst(batch.count)
            return batch
        }
    }

    /// Waits for elements and returns up to `most` in order; empty only after `close()`.
    ///
    /// For one task at a time.
    func next(_ most: Int) async -> [Element] {
        while true {
            let (batch, isOver) = state.withLock { state in
                let batch = Array(state.elements.prefix(most))
                state.elements.removeFirst(batch.count)
                return (batch, state.isClosed)
            }
            if !batch.isEmpty || isOver { return batch }
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    if !state.elements.isEmpty || state.isClosed { return true }
                    state.waiter = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        }
    }
}
