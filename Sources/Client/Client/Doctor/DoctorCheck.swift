package import Model

/// One check of `dray doctor` and its result.
package struct DoctorCheck: Codable, Sendable, Hashable {
    /// The part of a cluster that was checked.
    package enum Area: String, Codable, CaseIterable, Sendable {
        case machine, coordinators, database, workers, storage, origins, webhooks
    }

    package enum Result: String, Codable, CaseIterable, Sendable {
        case ok
        /// Works, but not as it should, or not for long.
        case warning
        case failed
        /// Could not be checked; the finding has the reason.
        case skipped
    }

    package var area: Area
    /// `clock`, or with its subject `coordinator http://one.example:7400`.
    package var name: String
    package var result: Result
    package var finding: String
    /// Advice; nil if there is nothing to do.
    package var advice: String?
    package var code: FailureCode?

    private init(
        _ area: Area, _ name: String, _ result: Result, _ finding: String, _ advice: String? = nil,
        _ code: FailureCode? = nil
    ) {
        self.area = area
        self.name = Redaction.message(name)
        self.result = result
        self.finding = Redaction.message(finding)
        self.advice = advice
        self.code = code
    }

    package static func ok(_ area: Area, _ name: String, _ finding: String) -> DoctorCheck {
        DoctorCheck(area, name, .ok, finding)
    }

    package static func warning(
        _ area: Area, _ name: String, _ finding: String, advice: String, code: FailureCode? = nil
    ) -> DoctorCheck {
        DoctorCheck(area, name, .warning, finding, advice, code)
    }

    package static func failed(
        _ area: Area, _ name: String, _ finding: String, advice: String, code: FailureCode? = nil
    ) -> DoctorCheck {
        DoctorCheck(area, name, .failed, finding, advice, code)
    }

    /// A check that failed with the failure's hint as advice.
    package static func failed(_ area: Area, _ name: String, _ failure: Failure) -> DoctorCheck {
        DoctorCheck(
            area, name, .failed, failure.message, failure.hint, failure.code)
    }

    package static func warning(_ area: Area, _ name: String, _ failure: Failure) -> DoctorCheck {
        DoctorCheck(
            area, name, .warning, failure.message, failure.hint, failure.code)
    }

    package static func skipped(
        _ area: Area, _ name: String, because reason: String, advice: String? = nil
    ) -> DoctorCheck {
        DoctorCheck(area, name, .skipped, reason, advice)
    }
}
