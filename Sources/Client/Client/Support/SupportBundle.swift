import API
import FileSystem
import FoundationEssentials
import Glibc
import Gzip
package import Model
import Rendering
import Services
import Text

/// The files of `dray support-bundle`: what helps to explain a failure, without secrets.
///
/// Everything passes `BundleRedactor`; a file `MANIFEST` lists the others, how many texts were changed
/// in each, and what is missing.
package struct SupportBundle {
    private struct Entry {
        var name: String
        var contents: [UInt8]
        var changed: Int
        var description: String
    }

    private let redactor: BundleRedactor
    private let seconds: Double
    private var entries: [Entry] = []
    /// Files that are not there, or not complete, with the reason.
    private var missing: [(name: String, reason: String)] = []

    /// Maximum bytes of a log's end.
    private static let maxLogBytes = 256 << 10
    /// Maximum number of items of each list in a value.
    static let maxItems = 1_000
    /// The directory in the archive.
    private static let directory = "dray-support"

    /// - Parameters:
    ///   - secrets: texts that must not be in it: tokens, passwords.
    ///   - seconds: the time of the bundle, in seconds since 1970.
    package init(secrets: [String], atSeconds seconds: Double) {
        redactor = BundleRedactor(secrets: secrets)
        self.seconds = seconds
    }

    // MARK: Contents

    /// Adds what `dray doctor` found, and the lists that it read.
    package mutating func add(_ findings: DoctorSession.Findings) throws {
        try add("doctor.json", findings.report, "all checks of dray doctor")
        try add("machine.json", findings.machine, "kernel and limits of this machine")
        if !findings.coordinators.isEmpty {
            try add(
                "coordinators.json", findings.coordinators,
                "versions and limits of coordinators, with their databases")
        }
        if let database = findings.database {
            try add(
                "database.json", database, "PostgreSQL: settings, sessions, tables, schema")
        }
        if let status = findings.status {
            try add("status.json", status, "catalogs, queues, workers and load tests")
        }
        if let sites = findings.sites {
            try add("sites.json", sites, "sites with their limits and failures")
        }
        if let origins = findings.origins {
            try add("origins.json", origins, "origins with their limits and decisions")
            if origins.next != nil {
                miss("origins.json", "only the first \(origins.origins.count) origins, by name")
            }
        }
        if let webhooks = findings.webhooks {
            try add("webhooks.json", webhooks, "webhooks, what waits and the last failures")
        }
        for absence in findings.absences { miss(Self.file(of: absence.source), absence.reason) }
    }

    private static func file(of source: DoctorAbsence.Source) -> String {
        switch source {
        case .coordinators: "coordinators.json"
        case .database: "database.json"
        case .status: "status.json"
        case .sites: "sites.json"
        case .origins: "origins.json"
        case .webhooks: "webhooks.json"
        }
    }

    /// Records that a file is missing, or lacks something, and why.
    package mutating func miss(_ name: String, _ reason: String) {
        missing.append((name, redactor.redacted(reason)))
    }

    /// Adds a value as JSON, with the first `maxItems` of each list.
    package mutating func add(
        _ name: String, _ value: some Encodable, _ description: String
    ) throws {
        let tree = try JSONDecoder().decode(JSONTree.self, from: JSONEncoder().encode(value))
        var changed = 0
        if tree.hasList(longerThan: Self.maxItems) {
            miss(name, "only the first \(Self.maxItems) items of longer lists")
        }
        let redacted = tree.mapped(maxItems: Self.maxItems) { text, field in
            let shown =
                field.map { redactor.isSecret(field: $0) } == true
                ? Redaction.mark : redactor.redacted(text)
            if shown != text { changed += 1 }
            return shown
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        let bytes = Array(try encoder.encode(redacted)) + [UInt8(ascii: "\n")]
        entries.append(
            Entry(name: name, contents: bytes, changed: changed, description: description))
    }

    /// Adds the end of a log, from the start of a line. One that cannot be read is recorded as missing.
    package mutating func addLog(_ name: String, at path: String, _ description: String) {
        let bytes: [UInt8]
        switch Self.end(of: path, bytes: Self.maxLogBytes) {
        case .success(let found): bytes = found
        case .failure(let error): return miss(name, "\(path): \(error.reason)")
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false
        ).map(String.init)
        let redacted = lines.map { redactor.redacted($0) }
        entries.append(
            Entry(
                name: name, contents: Array(redacted.joined(separator: "\n").utf8),
                changed: zip(lines, redacted).count { $0 != $1 }, description: description))
    }

    private struct LogError: Error {
        var reason: String
    }

    private static func end(of path: String, bytes: Int) -> Result<[UInt8], LogError> {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            return .failure(LogError(reason: systemErrorText(errno)))
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return .failure(LogError(reason: "not a regular file"))
        }
        let start = max(0, Int(status.st_size) - bytes)
        var buffer = [UInt8](repeating: 0, count: bytes)
        let count = pread(descriptor, &buffer, bytes, start)
        guard count > 0 else {
            return .failure(
                LogError(reason: count == 0 ? "it is empty" : systemErrorText(errno)))
        }
        let found = buffer[..<count]
        guard start > 0, let feed = found.firstIndex(of: UInt8(ascii: "\n")) else {
            return .success(Array(found))
        }
        // A part of a line could begin in the middle of a secret.
        return .success(Array(found[(feed + 1)...]))
    }

    // MARK: The archive

    /// The manifest: a line for each file, and one for each that is missing.
    package var manifest: String {
        let rows = entries.map { entry in
            [
                entry.name, HumanFormat.count(entry.contents.count),
                HumanFormat.count(entry.changed), entry.description,
            ]
        }
        let removed = entries.reduce(0) { $0 + $1.changed }
        return "Support bundle of dray \(drayVersion), \(TimeText.minute(ofSeconds: seconds))\n\n"
            + TextLayout.table(
                headings: ["File", "Bytes", "Redacted", "Contents"],
                alignments: [.left, .right, .right, .left], rows: rows)
            + missingText
            + "\nRedacted: texts in which something was replaced by \(Redaction.mark), "
            + "\(HumanFormat.count(removed)) in total.\n\n\(Self.notice)"
    }

    private var missingText: String {
        guard !missing.isEmpty else { return "\nNothing is missing.\n" }
        return "\n"
            + TextLayout.table(
                headings: ["Missing", "Reason"], alignments: [.left, .left],
                rows: missing.map { [$0.name, printable($0.reason)] })
    }

    private static let notice = """
        Replaced are the cluster's token, passwords of the database, user information, queries
        and fragments of URLs, and values of fields, parameters and headers that are named like
        a secret. Names of hosts, catalogs, assets and directories are in the files: look at
        them before you send the bundle.

        """

    /// Writes the archive with mode 0600; an existing file of that name is replaced as a whole.
    ///
    /// Throws `input.destination`.
    package func write(to path: String) throws(Failure) {
        var archive = TarArchive()
        let time = Int64(seconds)
        archive.add("\(Self.directory)/MANIFEST", Array(manifest.utf8), atSeconds: time)
        for entry in entries {
            archive.add("\(Self.directory)/\(entry.name)", entry.contents, atSeconds: time)
        }
        do throws(OutputFileError) {
            let file = try OutputFile(path)
            do throws(OutputFileError) {
                try file.write(Gzip.compressed(archive.ended()))
                try file.keep(mode: 0o600)
            } catch {
                file.abandon()
                throw error
            }
        } catch {
            throw Failure(.inputDestination, "\(printable(path)): \(error.reason)")
        }
    }
}
