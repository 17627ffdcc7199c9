import CoordinatorClient
import Model

/// Something of a cluster that `dray doctor` could not read, and why.
package struct DoctorAbsence: Sendable, Hashable {
    package enum Source: Sendable, Hashable {
        case coordinators, database, status, sites, origins, webhooks
    }

    package var source: Source
    package var reason: String

    init(_ source: Source, because reason: String) {
        self.source = source
        self.reason = Redaction.message(reason)
    }

    init(_ source: Source, _ failure: Failure) {
        self.init(source, because: "\(failure.message) (\(failure.code))")
    }

    /// The diagnosis of a coordinator; nil if it was read.
    init?(_ probe: CoordinatorProbe) {
        if let failure = probe.failure {
            self.init(.coordinators, because: "\(probe.url): \(failure.message) (\(failure.code))")
            return
        }
        switch probe.diagnosis {
        case .success: return nil
        case nil: self.init(.coordinators, because: "\(probe.url): it was not asked")
        case .failure(let failure):
            self.init(.coordinators, because: "\(probe.url): \(failure.message) (\(failure.code))")
        }
    }
}
