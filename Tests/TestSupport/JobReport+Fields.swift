package import API
package import Model

// The fields of a report, whatever its outcome: nil or false where it has none.
extension JobReport {
    package var stored: StoredObject? {
        get { done?.stored }
        set { change { $0.stored = newValue } }
    }

    package var cache: String? {
        get { done?.cache }
        set { change { $0.cache = newValue } }
    }

    package var freshSeconds: Int? {
        get { done?.freshSeconds }
        set { change { $0.freshSeconds = newValue } }
    }

    package var isReused: Bool {
        get { done?.isReused == true }
        set { change { $0.isReused = newValue } }
    }

    package var isVerified: Bool {
        get { done?.isVerified == true }
        set { change { $0.isVerified = newValue } }
    }

    package var validator: String? {
        get { done?.validator }
        set { change { $0.validator = newValue } }
    }

    package var milliseconds: Int? {
        get { done?.milliseconds }
        set { change { $0.milliseconds = newValue } }
    }

    package var digests: String? {
        get { done?.digests }
        set { change { $0.digests = newValue } }
    }

    package var segments: Int? {
        get { done?.segments }
        set { change { $0.segments = newValue } }
    }

    package var refreshed: RefreshOutcome? {
        get { done?.refreshed }
        set { change { $0.refreshed = newValue } }
    }

    package var failure: Failure? { failed?.failure }

    package var refused: String? {
        get { failed?.refused }
        set { changeFailed { $0.refused = newValue } }
    }

    package var retryAfterSeconds: Double? { failed?.retryAfterSeconds }

    private mutating func change(_ body: (inout Done) -> Void) {
        guard var done else { preconditionFailure("the job is not done") }
        body(&done)
        outcome = .done(done)
    }

    private mutating func changeFailed(_ body: (inout Failed) -> Void) {
        guard var failed else { preconditionFailure("the job has not failed") }
        body(&failed)
        outcome = .failed(failed)
    }
}
