/// Work for a loop from another thread.
enum LoopWork {
    case closure(@Sendable () -> Void)
    case task(UnownedJob)
    /// A task without an actor that only runs here.
    case guest(UnownedJob, UnownedTaskExecutor)
}

/// The loop's queue of work from other threads, with its sleeping state.
struct LoopInbox {
    enum Phase {
        /// Accepts all work.
        case open
        /// The thread must end, and runs the queued work.
        case closing
        /// The thread has ended: closures are rejected; tasks run on the thread that enqueues them.
        case closed
    }

    var jobs: [LoopWork] = []
    var phase = Phase.open
    /// True if the loop is in `epoll_wait` or about to be: a thread that adds work must wake it.
    var isSleeping = false
    /// True after the end while some thread runs the queued tasks.
    var isDraining = false
}
