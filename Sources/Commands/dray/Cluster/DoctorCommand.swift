import Client
import CommandLine
import Configuration
import Model
import Services
import Text
import Transfer

/// `dray doctor`: checks a cluster and this machine.
enum DoctorCommand {
    /// Options that `dray doctor` and `dray support-bundle` share.
    static let subjectOptions =
        [
            CommandOption(
                "coordinator", .text(placeholder: "URL"), setting: Settings.coordinator,
                help: "URL of the coordinator, several separated by commas. Default: "
                    + "$DRAY_COORDINATOR, or else the cluster of this machine."),
            CommonOptions.state,
            CommandOption(
                "site", .text(placeholder: "URL"), repeatable: true,
                help: "Directory of a site on this machine, or s3:// URL, whose storage is tested "
                    + "by writing to it. Repeatable."),
            CommandOption(
                "origin", .text(placeholder: "URL"), repeatable: true,
                help: "URL to request from this machine. Repeatable."),
        ] + Secrets.databaseOptions + TransferOptions.all + TLSOptions.client

    static let command = Command(
        "doctor", summary: "Check a cluster and this machine, and report what to do.",
        discussion: """
            Checks coordinators, token, certificates, clocks, versions, PostgreSQL, workers, \
            storage, origins and the limits of this machine, in 30 seconds at most. Without a \
            cluster it checks the machine alone. Run it as the worker's user on a worker's \
            machine, with --site for each of its sites.

            Coordinators describe their database; with --database-file or --database it is read \
            directly.

            Exits with 1 if a check failed. Warnings do not count.
            """,
        options: subjectOptions + [ClusterCall.json]
    ) { arguments in
        do {
            guard let findings = try await findings(arguments) else { return .interrupted }
            Console.write(
                try ClusterCall.show(findings.report, arguments) { findings.report.text })
            return findings.report.exitCode
        } catch {
            return Console.fail(error)
        }
    }

    /// Runs all checks; returns nil if a signal ended them.
    static func findings(_ arguments: Arguments) async throws -> DoctorSession.Findings? {
        let environment = ClientSettings.environment
        try LogOutput.configure(environment: environment, defaultLevel: .error)
        let session = DoctorSession(
            try await subject(arguments),
            mode: LiveLines.mode(isQuiet: arguments.flag("json"), environment: environment))
        guard await runServices([[session]], graceSeconds: 2) == .success else { return nil }
        return session.findings
    }

    private static func subject(_ arguments: Arguments) async throws -> DoctorSession.Subject {
        try checkState(arguments)
        var subject = DoctorSession.Subject(configuration: configuration(arguments))
        subject.machine = MachineFacts.read(environment: ClientSettings.environment)
        do {
            let found = try endpoint(arguments)
            subject.endpoint = found.endpoint
            subject.isNamed = found.isNamed
        } catch {
            subject.isNamed = true
            subject.endpointFailure = failure(error)
        }
        if let url = try databaseURL(arguments) { subject.databaseURL = url }
        subject.sites = try arguments.texts("site").map { text in
            let destination = try Destination(remote: text)
            guard !destination.isCache else {
                throw Failure(
                    .inputCacheSite,
                    "--site \(destination.path) has no storage to test; use --origin for its POPs")
            }
            return try StorageURL(destination.storageURL)
        }
        subject.origins = arguments.texts("origin")
        subject.transfer.loops = 1
        subject.transfer.connections = max(subject.origins.count, 1)
        subject.transfer.addressPolicy = try TransferOptions.addressPolicy(
            arguments, allowsPrivate: false)
        subject.transfer.origins = try TransferOptions.origins(arguments)
        return subject
    }

    /// Throws if `--state` names a directory without a private cluster; notes that it is ignored
    /// where a coordinator is named.
    private static func checkState(_ arguments: Arguments) throws {
        guard arguments.text(CommonOptions.state.name) != nil else { return }
        guard ClientSettings.coordinator == nil else {
            return PrefetchCommand.noteEmbeddedOptions(arguments, [CommonOptions.state.name])
        }
        try CommonOptions.checkState(arguments)
        try ClusterCall.checkPrivate(arguments)
    }

    /// Returns the cluster, and whether it was named rather than looked for. Throws if the one of
    /// `--state` does not run.
    private static func endpoint(
        _ arguments: Arguments
    ) throws -> (endpoint: ClusterEndpoint, isNamed: Bool) {
        if let named = try ClusterEndpoint.named() { return (named, true) }
        if let path = try? CommonOptions.statePath(arguments) {
            if let running = try ClusterEndpoint.running(in: path) { return (running, true) }
            if arguments.text(CommonOptions.state.name) != nil {
                throw ClusterCall.noneRuns(in: path)
            }
        }
        return (try ClusterEndpoint.standard(), false)
    }

    /// Returns the database's URL if one is named.
    private static func databaseURL(_ arguments: Arguments) throws -> String? {
        let isNamed =
            ["database", "database-file"].contains { arguments.text($0) != nil }
            || ["DRAY_DATABASE_URL", "DRAY_DATABASE_FILE"].contains {
                !(ClientSettings.environment[$0] ?? "").isEmpty
            }
        return isNamed ? try Secrets.databaseURL(arguments) : nil
    }

    private static func configuration(_ arguments: Arguments) -> DoctorCheck {
        do throws(UsageError) {
            guard let file = try ConfigurationSource.file(arguments, of: DrayCommand.tree) else {
                return .ok(.machine, "configuration", "no file")
            }
            return .ok(.machine, "configuration", "\(printable(file.path)): no errors")
        } catch {
            return .failed(
                .machine, "configuration", error.message, advice: error.hint, code: .inputUsage)
        }
    }

    private static func failure(_ error: any Error) -> Failure {
        if let failure = error as? Failure { return failure }
        if let usage = error as? UsageError { return Failure(.inputUsage, usage.message) }
        return Failure(.workerInternal, "\(error)")
    }
}
