import Model
import Services

/// Knows whether this worker holds what it leased beside its jobs. Safe from any thread.
struct WorkHold: Sendable {
    private let isLost = Shared(false)

    /// False once another worker may have it, or it was changed.
    var isHeld: Bool { !isLost.withLock(\.self) }

    /// Extends the lease regularly, until the task is cancelled or the lease is lost.
    func keep(
        every seconds: Double, _ extend: () async throws(Failure) -> Void
    ) async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(seconds))
            guard !Task.isCancelled else { return }
            do throws(Failure) {
                try await extend()
            } catch {
                if error.code == .workerLeaseLost { return isLost.withLock { $0 = true } }
            }
        }
    }
}
