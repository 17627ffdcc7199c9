import CoordinatorClient
import Model
import Rendering

/// Judges clocks against this machine's.
enum ClockChecks {
    /// Difference from which a clock gets a warning, in seconds.
    static let maxSkewSeconds = 1.0
    /// Length of a lease if no coordinator reports it, in seconds.
    static let usualLeaseSeconds = 30.0

    /// Judges a clock: a warning above `maxSkewSeconds`, a failure above the length of a lease. Only
    /// the database's clock decides on leases, but times in lists, signed URLs and certificates
    /// are compared with the others.
    static func check(
        _ area: DoctorCheck.Area, _ name: String, _ reading: ClockReading?,
        leaseSeconds: Double = usualLeaseSeconds
    ) -> DoctorCheck {
        guard let reading else {
            return .skipped(area, name, because: "no answer has its time")
        }
        let skew = reading.minSkewSeconds
        guard abs(skew) > maxSkewSeconds else {
            let most = max(1, reading.stepSeconds)
            return .ok(
                area, name, "agrees within \(HumanFormat.fixed(most, places: 0)) s")
        }
        let finding =
            "\(HumanFormat.duration(seconds: abs(skew))) "
            + (skew > 0 ? "ahead of" : "behind") + " this machine"
        let advice = "Synchronise the clocks of both machines: chronyc tracking, timedatectl."
        return abs(skew) > leaseSeconds
            ? .failed(area, name, finding, advice: advice)
            : .warning(area, name, finding, advice: advice)
    }
}
