import Client
import CommandLine
import Embedded
import Model
import Postgres
import Services
import Text

/// `dray support-bundle`: writes what helps to explain a failure to a file, without secrets.
enum SupportBundleCommand {
    static let command = Command(
        "support-bundle", summary: "Write the state of a cluster to a file, without secrets.",
        discussion: """
            Runs the checks of `dray doctor`, and writes their results, lists of the cluster, \
            settings, limits and the end of the private cluster's log to a .tar.gz that only \
            this user can read. Its MANIFEST lists the files, and what is missing and why. \
            Tokens, passwords and what may be secret in URLs are replaced. Names stay: look at \
            the files before you send them.
            """,
        options: [
            CommandOption(
                "output", short: "o", .file(placeholder: "FILE"),
                help: "File to write. Default: dray-support-TIME.tar.gz in this directory.")
        ] + DoctorCommand.subjectOptions
    ) { arguments in
        do {
            return try await write(arguments)
        } catch {
            return Console.fail(error)
        }
    }

    private static func write(_ arguments: Arguments) async throws -> ExitCode {
        guard let findings = try await DoctorCommand.findings(arguments) else {
            return .interrupted
        }
        let now = SystemWallClock().nowSeconds
        var bundle = SupportBundle(secrets: secrets(arguments), atSeconds: now)
        try bundle.add(findings)
        do {
            try bundle.add(
                "configuration.json", try ConfigCommand.settings(arguments),
                "settings and where they come from; no secrets")
        } catch {
            bundle.miss("configuration.json", reason(error))
        }
        do {
            let state = try CommonOptions.statePath(arguments)
            if StateDirectory.isUsed(state) {
                bundle.addLog(
                    "postgresql.log", at: "\(state)/postgresql.log",
                    "end of the log of the private cluster's PostgreSQL")
            } else {
                bundle.miss("postgresql.log", "there is no private cluster in \(state)")
            }
        } catch {
            bundle.miss("postgresql.log", reason(error))
        }
        let path = arguments.text("output") ?? "dray-support-\(fileTime(now)).tar.gz"
        try bundle.write(to: path)
        Console.note(
            "wrote \(printable(path)); look at its files before you send it\n\n"
                + bundle.manifest)
        Console.write("\(printable(path))\n")
        return .success
    }

    private static func reason(_ error: any Error) -> String {
        if let error = error as? UsageError { return error.message }
        guard let failure = error as? Failure else { return "\(error)" }
        return "\(failure.message) (\(failure.code))"
    }

    /// Returns the secrets that this process knows.
    private static func secrets(_ arguments: Arguments) -> [String] {
        let environment = ClientSettings.environment
        var secrets = ["DRAY_TOKEN", "PGPASSWORD"].compactMap { environment[$0] }
        secrets += [try? Secrets.token?.text].compactMap(\.self)
        if let state = try? CommonOptions.statePath(arguments),
            let running = StateDirectory.running(in: state)
        {
            secrets += [running.runToken?.text, try? running.tokenFile.read().text].compactMap(
                \.self)
        }
        // Set by the option too.
        let named = environment["DRAY_DATABASE_URL"].flatMap { $0.isEmpty ? nil : $0 }
        if let url = named ?? (try? Secrets.databaseURL(arguments)) {
            secrets += PostgresConfiguration.passwords(in: url) ?? []
        }
        return secrets
    }

    /// Returns a time for a file's name: `20261122T170000Z`.
    private static func fileTime(_ seconds: Double) -> String {
        String(timestamp(ofSeconds: seconds).prefix(19).filter { $0.isNumber || $0 == "T" }) + "Z"
    }
}
