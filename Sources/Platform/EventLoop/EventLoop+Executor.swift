internal import Glibc
internal import Synchronization

/// An actor whose `unownedExecutor` is a loop's runs on that loop's thread.
extension EventLoop: SerialExecutor {
    package func enqueue(_ job: consuming ExecutorJob) {
        take(.task(UnownedJob(job)))
    }

    func take(_ job: LoopWork) {
        let action = inbox.withLock { box -> EnqueueAction in
            box.jobs.append(job)
            if box.phase == .closed {
                if box.isDraining { return .nothing }
                box.isDraining = true
                return .drain
            }
            defer { box.isSleeping = false }
            return box.isSleeping ? .wake : .nothing
        }
        switch action {
        case .nothing: break
        case .wake: wake()
        case .drain: drainAfterEnd()
        }
    }

    private enum EnqueueAction { case nothing, wake, drain }

    package func checkIsolated() {
        preconditionInLoop()
    }

    /// Runs queued tasks on this thread, which is the loop's owner meanwhile.
    ///
    /// A task must run even after the loop's thread has ended; otherwise its awaiting task would
    /// wait forever. `isDraining`, set by the caller, keeps this serial.
    func drainAfterEnd() {
        owner.store(UInt(pthread_self()), ordering: .relaxed)
        while true {
            let job = inbox.withLock { box -> LoopWork? in
                if box.jobs.isEmpty {
                    owner.store(0, ordering: .relaxed)
                    box.isDraining = false
                    return nil
                }
                return box.jobs.removeFirst()
            }
            guard let job else { return }
            run(job)
        }
    }
}

/// Runs tasks without an actor on a loop's thread. Their calls of actors there, such as connections
/// to PostgreSQL, then switch and wake no threads.
///
/// For tasks that do little by themselves, because the loop waits while they work. It must live as
/// long as its tasks.
package final class EventLoopTaskExecutor: TaskExecutor {
    private let loop: EventLoop

    package init(_ loop: EventLoop) { self.loop = loop }

    package func enqueue(_ job: consuming ExecutorJob) {
        loop.take(.guest(UnownedJob(job), asUnownedTaskExecutor()))
    }
}
