import Client
import CommandLine
import Foundation
import Glibc
import ListSources
import Lists
import Model
import Services
import Text
import Titles
import Transfer
import WebURL

/// `dray inspect`: lists a title's contents and estimated size before it is fetched.
enum InspectCommand {
    static let command = Command(
        "inspect",
        summary: "List a title's renditions, segments and estimated size, without fetching it.",
        discussion: """
            Reads an HLS playlist or a DASH MPD and lists renditions, languages, segments and \
            estimated bytes. The estimate uses byte ranges if the manifest has them, else bit \
            rate times duration. Track options limit the list to those tracks.

            For a URL, Dray also reads the playlists that it names and the segment indexes of \
            its files. For a FILE, Dray sends no request; --base is the URL to resolve \
            references against.

            With --segments, lists every segment in fetch order: URL, byte range, duration, role \
            and rendition.

            Exit codes: 0 read, 1 `dray prefetch` would reject the title, 2 bad usage or FILE \
            cannot be read, 130 interrupted.
            """,
        operands: [CommandOperand("MANIFEST", .files, help: "A URL, a FILE, or - for stdin.")],
        options: [
            CommandOption(
                "base", .text(placeholder: "URL"),
                help: "URL of FILE, to resolve its references."),
            CommandOption("segments", .flag, help: "List every segment."),
            CommandOption("json", .flag, help: "Print JSON."),
        ] + TrackOptions.ofLists + HeaderOptions.all + TransferOptions.all
    ) { arguments in
        do {
            try LogOutput.configure(
                environment: ClientSettings.environment, defaultLevel: .warning)
            return try await run(arguments)
        } catch {
            return Console.fail(error)
        }
    }

    private static func run(_ arguments: Arguments) async throws -> ExitCode {
        let options = try TrackOptions.titles(arguments) ?? TitleOptions()
        let inspection: Inspection
        if let base = arguments.text("base") {
            let operand = arguments.operands[0]
            if ListSource.isURL(operand) {
                throw UsageError(
                    "--base is for a FILE, and MANIFEST is a URL", hint: "Omit --base.")
            }
            let url: WebURL
            do throws(WebURLError) { url = try WebURL(base) } catch {
                throw UsageError(
                    "--base: the URL \(error.detail)", hint: "Give the manifest's own URL.")
            }
            guard !HeaderOptions.areGiven(arguments) else {
                throw UsageError(
                    "--header is for a URL; Dray sends no request for a FILE",
                    hint: "Omit --header.")
            }
            inspection = await inspect(
                try read(operand), of: operand == "-" ? "stdin" : operand, at: url, options)
        } else if let found = try await inspect(arguments, options) {
            inspection = found
        } else {
            return .interrupted
        }
        let report = InspectReport(inspection, listsSegments: arguments.flag("segments"))
        if arguments.flag("json") {
            try report.writeJSON()
            return inspection.failure == nil ? .success : .someFailed
        }
        if inspection.listing != nil { report.writeText() }
        guard let failure = inspection.failure else { return .success }
        return Console.fail(failure) == .interrupted ? .interrupted : .someFailed
    }

    /// Inspects a manifest in memory.
    private static func inspect(
        _ bytes: consuming [UInt8], of file: String, at url: WebURL, _ options: TitleOptions
    ) async -> Inspection {
        let kind = ManifestForm.kind(of: bytes)
        let plainFile = ManifestForm.plainFile(
            Array(bytes[..<min(bytes.count, ListFormat.sampleBytes)]),
            isWhole: bytes.count <= ListFormat.sampleBytes)
        var bytes = bytes
        var inspection = await Inspection(options) { (options) throws(Failure) in
            try ManifestListing.read(
                &bytes, url: url, kind: Inspection.kind(of: url), options: options,
                snapshotSeconds: Date().timeIntervalSince1970)
        }
        inspection.kind = inspection.kind ?? kind
        if inspection.isOfNoManifest, let plainFile {
            inspection.failure = noManifest(printable(file), plainFile)
            return inspection
        }
        // The error is in the file, regardless of the base URL.
        if case .manifest(_, let line)? = inspection.failure?.location {
            inspection.failure?.location = .manifest(printable(file), line: line)
        }
        return inspection
    }

    /// Inspects a URL; returns nil if it was interrupted.
    private static func inspect(
        _ arguments: Arguments, _ options: TitleOptions
    ) async throws -> Inspection? {
        let operand = arguments.operands[0]
        guard operand.contains("://") else {
            // A mistyped file name is missing before --base is.
            if operand != "-", access(operand, R_OK) != 0 { throw unreadable(operand) }
            throw UsageError(
                "--base is missing",
                hint: "Set the URL of the FILE, to resolve its references.")
        }
        var transfer = TransferEngine.Options()
        transfer.loops = 1
        transfer.addressPolicy = try TransferOptions.addressPolicy(arguments, allowsPrivate: true)
        transfer.origins = try TransferOptions.origins(arguments)
        try HeaderOptions.add(arguments, of: operand, to: &transfer.origins)
        var options = options
        options.keyQueries = transfer.origins.keyQueries
        let session = try InspectSession(operand, options, transfer)
        guard await runServices([[session]], graceSeconds: 5) == .success,
            var inspection = session.result
        else { return nil }
        if inspection.isOfNoManifest, let what = plainFile(at: operand, transfer) {
            inspection.failure = noManifest(Redaction.shown(operand), what)
        }
        return inspection
    }

    /// Describes a URL's body that is no manifest; nil if unknown.
    private static func plainFile(at url: String, _ options: TransferEngine.Options) -> String? {
        ListDownloader(options).start(of: url, bytes: ListFormat.sampleBytes, seconds: 10).flatMap {
            ManifestForm.plainFile($0.bytes, isWhole: $0.isWhole)
        }
    }

    private static func noManifest(_ file: String, _ what: String) -> Failure {
        Failure(
            .manifestNotManifest,
            "\(file): this is \(what), neither an HLS playlist nor a DASH manifest (MPD)")
    }

    /// Reads a file up to slightly more than a manifest's maximum size.
    private static func read(_ path: String) throws(Failure) -> [UInt8] {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw unreadable(path) }
        defer { if descriptor != STDIN_FILENO { close(descriptor) } }
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 1 << 20)
        // Reserved, so that it is never copied to grow; unused space costs no memory.
        bytes.reserveCapacity(TitleResolver.maximumBytes + block.count)
        while bytes.count <= TitleResolver.maximumBytes {
            let count = Glibc.read(descriptor, &block, block.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw unreadable(path) }
            if count == 0 { break }
            bytes += block[..<count]
        }
        return bytes
    }

    /// Returns the failure for errno.
    private static func unreadable(_ path: String) -> Failure {
        Failure(.inputUnreadable, "\(printable(path)): \(systemErrorText(errno))")
    }
}
