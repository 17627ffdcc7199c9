internal import Glibc
internal import Synchronization

/// Calls a handler on a loop while a descriptor is readable or at its end.
///
/// It owns the descriptor. Safe from any thread.
package final class ReadableSource: Sendable {
    private let loop: EventLoop
    private let descriptor: Int32
    private let isCancelled = Atomic<Bool>(false)

    /// Takes over `descriptor`. `handler` gets it and returns false to get no further calls.
    package init(
        _ descriptor: Int32, on loop: EventLoop,
        handler: @escaping @Sendable (Int32) -> Bool
    ) {
        self.loop = loop
        self.descriptor = descriptor
        loop.execute {
            // A new descriptor in an open epoll set: only a lack of memory could fail.
            try? loop.register(descriptor, for: .readable) { descriptor, _ in
                if !handler(descriptor) { loop.deregister(descriptor) }
            }
        }
    }

    deinit { cancel() }

    /// Ends the calls and closes the descriptor.
    package func cancel() {
        guard !isCancelled.exchange(true, ordering: .relaxed) else { return }
        let (loop, descriptor) = (loop, descriptor)
        let isQueued = loop.execute {
            loop.deregister(descriptor)
            close(descriptor)
        }
        if !isQueued { close(descriptor) }
    }
}
