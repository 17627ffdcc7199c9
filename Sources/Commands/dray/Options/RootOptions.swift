import Client
import CommandLine
import Glibc
import Model
import Services
import Storage
import Text

/// The directories that workers may write to.
enum RootOptions {
    static let root = CommandOption(
        "root", .directory(placeholder: "DIR"), repeatable: true, setting: Settings.roots,
        otherNames: ["site", "sites", "to"],
        help:
            "Directory, s3:// or cache: URL that workers may write to, with all below it. Repeatable. "
            + "Default: $\(variable), separated by colons.")

    private static let variable = "DRAY_ROOTS"

    /// Returns the directories of `--root`, or else of the environment; nil without either.
    static func roots(_ arguments: Arguments) throws(UsageError) -> SiteRoots? {
        let given = arguments.texts("root")
        let source = given.isEmpty ? ClientSettings.source(of: variable) : "--root"
        let paths =
            given.isEmpty
            ? paths(in: ClientSettings.environment[variable] ?? "") : given
        guard !paths.isEmpty else { return nil }
        do throws(Failure) {
            return try SiteRoots(existing: paths)
        } catch {
            let missing = paths.filter {
                $0.hasPrefix("/") && access($0, F_OK) != 0 && errno == ENOENT
            }
            let create =
                missing.isEmpty
                ? ""
                : "Create what is missing: mkdir -p "
                    + missing.map { "'\(printable($0))'" }.joined(separator: " ") + "\n"
            throw UsageError(
                "\(source): \(printable(error.message))",
                hint: create
                    + "Use absolute paths of existing directories below /, and s3://bucket/prefix or "
                    + "cache:https://host with the fields that the sites' URLs have.")
        }
    }

    /// Splits at colons, but for those of `s3://` and `cache:https://`.
    private static func paths(in text: String) -> [String] {
        text.split(separator: ":").reduce(into: [String]()) { paths, part in
            let isRest = part.hasPrefix("//")
            if let last = paths.last,
                isRest && ["s3", "cache:http", "cache:https"].contains(last)
                    || last == "cache" && ["http", "https"].contains(part)
            {
                paths[paths.count - 1] = "\(last):\(part)"
            } else {
                paths.append(String(part))
            }
        }
    }

    /// Returns the directories like `roots`; throws without any.
    ///
    /// - Parameter whom: the reason to require them, for the message.
    static func required(
        _ arguments: Arguments, because whom: String
    ) throws(UsageError) -> SiteRoots {
        if let roots = try roots(arguments) { return roots }
        throw UsageError(
            "--root is missing: \(whom)",
            hint: "Use --root DIR or \(variable) to set the directory that contains the sites.")
    }
}

/// Checks the user that runs a process of a cluster.
enum ServiceUser {
    /// Warns if it runs as root: then file permissions do not limit what it writes.
    static func warn(_ component: String) {
        guard geteuid() == 0 else { return }
        Logger(component).warning(
            "running as root",
            [
                "hint":
                    "run it as a dedicated system user: `useradd --system dray`, then "
                    + "`setpriv --reuid dray --regid dray --init-groups`, or User=dray of "
                    + "systemd; docs/operations.md"
            ])
    }
}
