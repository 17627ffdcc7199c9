internal import Curl
internal import EventLoop
internal import Glibc
package import Model
import Synchronization

/// Runs transfers on a few event loops, one thread each.
///
/// Safe to use from any thread. Completions run on a loop's thread and must not block: they hand the
/// result on. What is above the connection limit waits, in order. `shutdown` must be called before an
/// engine is released.
package final class TransferEngine: Sendable {
    package struct Options: Sendable {
        /// Threads; by default one a core, 4 at most.
        package var loops = min(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1), 4)
        /// Transfers, and so connections, at a time, over all loops.
        package var connections = 32
        /// Of these, to one host and port; 0 is no limit of its own.
        package var hostConnections = 0
        package var addressPolicy = AddressPolicy()
        /// libcurl's receive buffer, 1 KiB to 512 KiB a connection.
        package var bufferBytes = 128 << 10
        /// A PEM file of certificate authorities in place of the system's.
        package var caFile: String?
        /// How often timeouts are looked at.
        package var tickSeconds = 0.5

        package init() {}
    }

    private let loops: [TransferLoop]
    private let waiting = Mutex(WaitingQueue())
    private let nextID = Atomic<UInt64>(1)

    package init(options: Options = Options()) throws(Failure) {
        do {
            try CurlGlobal.initialize()
        } catch {
            throw Failure("worker.internal", error.description)
        }
        let count = max(min(options.loops, options.connections), 1)
        var loops: [TransferLoop] = []
        for index in 0..<count {
            // The first loops take the remainder.
            let share = (options.connections + count - 1 - index) / count
            do {
                loops.append(
                    TransferLoop(
                        loop: try EventLoop(name: "transfer-\(index)"), capacity: max(share, 1),
                        options: options))
            } catch {
                for loop in loops { loop.shutdown() }
                throw Failure("worker.internal", "an event loop: \(error)")
            }
        }
        self.loops = loops
        for loop in loops {
            loop.start { [weak self] limit in self?.take(limit) ?? ([], false) }
        }
    }

    /// Queues a transfer. `completion` is called exactly once, on a loop's thread; after `shutdown`
    /// at once, on the caller's, with `worker.cancelled`.
    @discardableResult
    package func submit(
        _ request: TransferRequest,
        completion: @escaping @Sendable (Transfer, TransferResult) -> Void
    ) -> Transfer {
        submit([request], completion: completion)[0]
    }

    /// Queues transfers, cheaper than one by one.
    @discardableResult
    package func submit(
        _ requests: [TransferRequest],
        completion: @escaping @Sendable (Transfer, TransferResult) -> Void
    ) -> [Transfer] {
        let transfers = requests.map { request in
            Transfer(
                id: nextID.wrappingAdd(1, ordering: .relaxed).oldValue, request: request,
                completion: completion)
        }
        let isAccepted = waiting.withLock { queue in
            guard !queue.isClosed else { return false }
            for transfer in transfers { queue.append(transfer) }
            return true
        }
        guard isAccepted else {
            for transfer in transfers { transfer.cancelUnstarted() }
            return transfers
        }
        for loop in loops { loop.wakeIfFree() }
        return transfers
    }

    /// Transfers that wait for a slot.
    package var waitingCount: Int { waiting.withLock { $0.count } }

    /// Ends one transfer with `worker.cancelled`, unless it ends by itself first.
    package func cancel(_ transfer: Transfer) {
        cancel { $0 === transfer }
    }

    /// Ends every transfer of a group.
    package func cancelAll(group: String) {
        cancel { $0.request.group == group }
    }

    private func cancel(where matches: @escaping @Sendable (Transfer) -> Bool) {
        let removed = waiting.withLock { $0.remove(where: matches) }
        loops[0].execute { for transfer in removed { transfer.cancelUnstarted() } }
        for loop in loops { loop.cancel(where: matches) }
    }

    /// Ends every transfer with `worker.cancelled` and joins the threads. Not to be called on a loop.
    package func shutdown() {
        let removed = waiting.withLock { queue in
            queue.isClosed = true
            return queue.remove { _ in true }
        }
        for transfer in removed { transfer.cancelUnstarted() }
        for loop in loops { loop.shutdown() }
    }

    /// What a loop with `limit` free slots starts next: its share, so that few transfers spread over
    /// all loops; and whether more are waiting.
    private func take(_ limit: Int) -> (transfers: [Transfer], isMore: Bool) {
        waiting.withLock { queue in
            let share = (queue.count + loops.count - 1) / loops.count
            let taken = queue.take(min(limit, share))
            return (taken, queue.count > 0)
        }
    }
}

extension Transfer {
    /// Ends a transfer that no loop has started.
    func cancelUnstarted() {
        handle(.fail)
        completion(self, TransferResult(.failure(.cancelled)))
    }
}

extension Failure {
    static let cancelled = Failure("worker.cancelled", "the transfer was cancelled")
}
