internal import Glibc
internal import Synchronization

/// Actions at the end of the test process: servers are stopped, directories removed.
///
/// For objects that live as long as the process (a server that all suites share), whose deinit
/// never runs.
package enum ExitCleanup {
    private static let actions = Mutex<[@Sendable () -> Void]>([])

    private static let registered: Void = {
        atexit { ExitCleanup.run() }
    }()

    /// Adds an action; the last one added runs first.
    package static func add(_ action: @escaping @Sendable () -> Void) {
        _ = registered
        actions.withLock { $0.append(action) }
    }

    private static func run() {
        while let action = actions.withLock({ $0.popLast() }) { action() }
    }
}
