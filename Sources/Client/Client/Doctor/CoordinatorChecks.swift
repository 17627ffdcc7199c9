import API
import CoordinatorClient
import Model
import Rendering
import TLS
import Text

/// Judges coordinators, and the versions of a cluster's processes.
enum CoordinatorChecks {
    static let slowSeconds = 1.0

    /// Judges what the probe of a coordinator found.
    static func all(_ probe: CoordinatorProbe, nowSeconds: Double) -> [DoctorCheck] {
        var checks = [reached(probe)]
        guard probe.failure == nil else { return checks }
        checks.append(token(probe))
        checks.append(certificate(probe, nowSeconds: nowSeconds))
        checks.append(
            ClockChecks.check(
                .coordinators, "clock of \(probe.url)", probe.clock,
                leaseSeconds: (try? probe.diagnosis?.get())?.leaseSeconds
                    ?? ClockChecks.usualLeaseSeconds))
        if let diagnosis = try? probe.diagnosis?.get() {
            checks += openFiles(diagnosis, of: probe.url)
        }
        return checks
    }

    static func reached(_ probe: CoordinatorProbe) -> DoctorCheck {
        let name = "coordinator \(probe.url)"
        if let failure = probe.failure { return .failed(.coordinators, name, failure) }
        let seconds = probe.latencySeconds ?? 0
        let finding = "answers in \(HumanFormat.fixed(seconds * 1_000, places: 1)) ms"
        guard seconds <= slowSeconds else {
            return .warning(
                .coordinators, name, finding,
                advice: "Check the network, and the load of the coordinator's machine.")
        }
        return .ok(.coordinators, name, finding)
    }

    static func token(_ probe: CoordinatorProbe) -> DoctorCheck {
        let name = "token at \(probe.url)"
        switch probe.diagnosis {
        case nil: return .skipped(.coordinators, name, because: "the coordinator was not asked")
        case .success: return .ok(.coordinators, name, "accepted")
        case .failure(let failure) where failure.code == .inputNotFound:
            return .warning(
                .coordinators, name, "accepted, but the coordinator has no diagnosis",
                advice: "Upgrade the coordinator; an older one cannot be checked further.")
        case .failure(let failure) where failure.code == .clusterForbidden:
            return .warning(
                .coordinators, name, "accepted, but its role may not read the diagnosis",
                advice: "Ask an administrator for a token of the role operator.",
                code: failure.code)
        case .failure(let failure) where failure.code == .clusterUnauthorized:
            return .failed(.coordinators, name, failure)
        case .failure(let failure):
            return .failed(.coordinators, "diagnosis of \(probe.url)", failure)
        }
    }

    /// True if the coordinator has answered a request with the token, whatever the answer was.
    static func isTokenAccepted(_ probe: CoordinatorProbe) -> Bool {
        switch probe.diagnosis {
        case nil: false
        case .success: true
        case .failure(let failure):
            [.inputNotFound, .clusterForbidden].contains(failure.code)
        }
    }

    static func certificate(_ probe: CoordinatorProbe, nowSeconds: Double) -> DoctorCheck {
        let name = "certificate of \(probe.url)"
        guard probe.isSecure else {
            return .skipped(.coordinators, name, because: "the URL is plain http")
        }
        guard let end = probe.certificateEnd else {
            return .skipped(.coordinators, name, because: "its end is unknown")
        }
        let days = Int(((Double(end) - nowSeconds) / 86_400).rounded(.down))
        let finding = "trusted, for this name; ends in \(HumanFormat.count(days, "day"))"
        guard !Certificate.isExpiringSoon(daysLeft: days) else {
            return .warning(
                .coordinators, name, finding,
                advice: "Renew it; the coordinator reads a changed file without a restart.",
                code: days < 0 ? .clusterCertificateExpired : nil)
        }
        return .ok(.coordinators, name, finding)
    }

    private static func openFiles(
        _ diagnosis: CoordinatorDiagnosis, of url: String
    ) -> [DoctorCheck] {
        guard let files = diagnosis.openFiles else { return [] }
        let finding = "\(HumanFormat.count(files)) descriptors may be open"
        let name = "open files of \(url)"
        // Each waiting worker holds a connection.
        guard files >= 1_024 else {
            return [
                .warning(
                    .coordinators, name, finding,
                    advice: "Raise the limit: LimitNOFILE=65536 in its systemd unit, or ulimit -n.")
            ]
        }
        return [.ok(.coordinators, name, finding)]
    }

    // MARK: Versions

    /// A process with its version; nil if it does not report one.
    struct Process: Sendable, Hashable {
        var name: String
        var version: String?

        init(_ name: String, _ version: String?) {
            self.name = name
            self.version = version
        }
    }

    private static let maxNamed = 3

    /// Compares the versions of all processes with this one's.
    static func versions(
        _ processes: [Process], own: String = drayVersion
    ) -> DoctorCheck {
        let name = "versions"
        guard !processes.isEmpty else {
            return .skipped(.workers, name, because: "no other process was reached")
        }
        let others = processes.filter { $0.version != own }
        guard !others.isEmpty else {
            return .ok(
                .workers, name,
                "all have \(printable(own)): this command, coordinators and workers, "
                    + "\(HumanFormat.count(processes.count + 1)) in total")
        }
        let named = others.prefix(maxNamed).map {
            "\(printable($0.name)) has \(printable($0.version ?? "an unknown one"))"
        }
        let more = others.count > maxNamed ? ", and \(others.count - maxNamed) more differ" : ""
        return .warning(
            .workers, name,
            "this command has \(printable(own)); " + named.joined(separator: ", ") + more,
            advice: "Upgrade coordinators first, then workers and command lines.")
    }

    // MARK: Workers

    static func workers(_ workers: [ClusterStatus.WorkerStatus]) -> DoctorCheck {
        let name = "workers"
        guard !workers.isEmpty else {
            return .warning(
                .workers, name, "none reported in the last minute",
                advice: "Start workers: dray worker --root DIR.")
        }
        let finding = "\(HumanFormat.count(workers.count, "worker"))"
        let failing = workers.filter { $0.issue != nil }
        guard let first = failing.first, let issue = first.issue else {
            return .ok(.workers, name, finding)
        }
        let advice = issue.hint
        let text =
            "\(failing.count) of \(finding) cannot lease jobs: \(printable(first.name)): "
            + issue.message
        return failing.count == workers.count
            ? .failed(.workers, name, text, advice: advice, code: issue.code)
            : .warning(.workers, name, text, advice: advice, code: issue.code)
    }
}
