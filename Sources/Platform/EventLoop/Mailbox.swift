/// Work handed to a loop by another thread.
enum Job {
    case closure(@Sendable () -> Void)
    case task(UnownedJob)
    /// Of no actor's own; it only runs here.
    case guest(UnownedJob, UnownedTaskExecutor)
}

/// The loop's queue of work from other threads, and whether the loop sleeps in `epoll_wait`.
struct Mailbox {
    enum Phase {
        /// Takes everything.
        case open
        /// The thread has been asked to end, and runs what is queued.
        case closing
        /// The thread has ended: closures are refused; tasks run on the thread that enqueues them.
        case closed
    }

    var jobs: [Job] = []
    var phase = Phase.open
    /// The loop is in `epoll_wait` or about to be: who adds work must wake it.
    var isSleeping = false
    /// After the end: some thread runs the queued tasks now.
    var isDraining = false
}
