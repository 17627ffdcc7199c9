import API
import CoordinatorClient
import FileSystem
import FoundationEssentials
package import Model
import Statistics
import Text

/// Writes the JSON report of a catalog with sorted keys and one asset per line. It writes page by
/// page, so that memory stays bounded, to a temporary name first, so that a report is complete or
/// absent.
package struct ReportWriter {
    let path: String
    let client: CoordinatorClient
    /// The result of `--check-media`; nil without it.
    var media: MediaCheck.Findings?
    /// Times that the catalog waited, by reason, while this command followed it.
    var waited: [WaitHistory.Total] = []
    /// The last reasons to wait; empty for an ended catalog.
    var waits: [CatalogWait] = []

    /// Throws `input.destination` if no report can be written to `path`; leaves no files.
    package static func check(_ path: String, option: String = "report") throws(Failure) {
        do throws(OutputFileError) {
            try OutputFile.check(path)
        } catch {
            throw Failure(
                .inputDestination, "--\(option) \(printable(path)): \(error.reason)")
        }
    }

    /// Reads the catalog's pages and writes the report.
    func write(_ status: CatalogStatus) async throws(Failure) {
        let file: OutputFile
        do throws(OutputFileError) { file = try OutputFile(path) } catch { throw failure(error) }
        var output = BufferedOutput(file)
        do throws(Failure) {
            try await writeBody(status, to: &output)
            try output.flush(path)
        } catch {
            file.abandon()
            throw error
        }
        do throws(OutputFileError) { try file.keep() } catch { throw failure(error) }
    }

    private func failure(_ error: OutputFileError) -> Failure {
        Failure(.inputDestination, "\(printable(path)): \(error.reason)")
    }

    private func writeBody(
        _ status: CatalogStatus, to output: inout BufferedOutput
    ) async throws(Failure) {
        try output.append("{\n  \"assets\": [", path)
        var files = FileCursor(client: client, catalog: status.id)
        var after: String?
        var separator = "\n"
        var unverified = 0
        var waits = WaitHistogram()
        var origins: [String] = []
        repeat {
            let page = try await client.assets(of: status.id, after: after)
            for asset in page.assets {
                try output.append(separator + "    {\"failure\":", path)
                separator = ",\n"
                try output.append(asset.failure.map { json($0) } ?? "null", path)
                try output.append(",\"files\":[", path)
                var fileSeparator = ""
                while let file = try await files.next(of: asset.id) {
                    try output.append(fileSeparator + json(File(file)), path)
                    fileSeparator = ","
                    if file.verified != true { unverified += 1 }
                    if let seconds = file.afterSeconds, seconds >= 0 { waits.add(seconds) }
                    if origins.count < ReportSettings.maxOrigins,
                        let origin = originName(of: file.url), !origins.contains(origin)
                    {
                        origins.append(origin)
                    }
                }
                // The remaining members follow `files` in the order of the keys.
                try output.append("]," + json(Rest(asset, media)).dropFirst(), path)
            }
            after = page.next
        } while after != nil
        var sums = Totals(status.totals, unverified: unverified)
        sums.waitSeconds = ReportWork.Waits(waits)
        sums.work = await ReportWork.of(status, client)
        sums.settings = await ReportSettings.of(status.id, from: origins, client)
        let totals = String(json(sums))
        try output.append(
            "\n  ],\n", path)
        if status.storageURL.hasPrefix("cache:") { try await writeCaches(status, to: &output) }
        try output.append(
            "  \"catalog\": \(json(status.name)),\n"
                + (Deadline(status).map { "  \"deadline\": \(json($0)),\n" } ?? "")
                + "  \"state\": \(json(status.state.rawValue)),\n  \"totals\": \(totals),\n"
                + (status.traceID.map { "  \"traceID\": \(json($0)),\n" } ?? "")
                + "  \"waited\": \(json(waited)),\n  \"waits\": \(json(self.waits))\n}\n",
            path)
    }

    /// Writes the counts of each POP and all findings, page by page.
    private func writeCaches(
        _ status: CatalogStatus, to output: inout BufferedOutput
    ) async throws(Failure) {
        var page = try await client.cacheReport(of: status.id)
        try output.append("  \"caches\": {\"findings\":[", path)
        let pops = json(page.pops)
        var separator = "\n    "
        while true {
            for finding in page.findings {
                try output.append(separator + json(finding), path)
                separator = ",\n    "
            }
            guard let next = page.next else { break }
            page = try await client.cacheReport(of: status.id, after: next)
        }
        try output.append("],\"pops\":\(pops)},\n", path)
    }

    private func json(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings and finite numbers always encode.
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "null"
    }

    /// The deadline of a catalog; nil without one.
    struct Deadline: Encodable {
        /// Seconds by which it was missed; nil if it was met, or is still ahead.
        let missedBySeconds: Double?
        /// Time in seconds since 1970.
        let time: Double

        init?(_ status: CatalogStatus) {
            guard let deadline = status.deadline else { return nil }
            time = deadline
            let outlook = status.outlook.flatMap { $0.kind == .missed ? $0 : nil }
            missedBySeconds = outlook?.seconds.map { ($0 * 1_000).rounded() / 1_000 }
        }
    }

    private struct File: Encodable {
        let bytes: Int64
        let path: String
        let sha256: String
        let url: String
        /// True if it was compared with a digest that the list or the origin states.
        let verified: Bool

        init(_ file: FilePage.StoredFile) {
            (bytes, path, sha256) = (
                file.bytes, Redaction.key(file.path), file.sha256
            )
            url = redacted(url: file.url)
            verified = file.verified ?? false
        }
    }

    /// The result of ffprobe for an asset.
    private struct Media: Encodable {
        let failure: Failure?
        let reason: String?
        let result: String

        /// Creates the result; nil for an asset that was not checked.
        init?(_ asset: AssetStatus, _ findings: MediaCheck.Findings) {
            guard asset.state == .completed,
                MediaProbe.isMedia(asset.kind, path: asset.path ?? "")
            else { return nil }
            failure = findings.unplayable[asset.id]
            reason = findings.unchecked[asset.id]
            result = failure != nil ? "unplayable" : reason != nil ? "unchecked" : "playable"
        }
    }

    private struct Rest: Encodable {
        let kind: AssetKind
        /// Renditions that a title lacks; nil for none.
        let leftOut: [LeftOutRendition]?
        let media: Media?
        let missing: [AssetStatus.MissingSidecar]?
        let name: String
        /// The final key; for a title, that of its entry file.
        let path: String?
        /// Figures of a recorded live title; nil for others.
        let recording: AssetRecording?
        let refreshed: RefreshOutcome?
        let state: AssetState
        let url: String
        /// Rules that a title's manifests break; nil for none.
        let warnings: ManifestWarnings?

        init(_ secret: AssetStatus, _ findings: MediaCheck.Findings?) {
            let asset = secret.redacted
            (kind, name, state, url) = (asset.kind, asset.name, asset.state, asset.url)
            media = findings.flatMap { Media(asset, $0) }
            leftOut = asset.leftOut
            missing = asset.missing
            path = asset.path
            recording = asset.recording
            refreshed = asset.refreshed
            warnings = asset.warnings
        }
    }

    private struct Totals: Encodable {
        let assets: Int
        let bytes: Int64
        /// Number of cancelled assets; nil for none.
        let cancelled: Int?
        let completed: Int
        let failed: Int
        /// `bytes` without those already stored at the destination.
        let fetchedBytes: Int64
        let retries: Int
        let seconds: Double
        let segments: Int
        /// Settings of the pool; nil if no coordinator knows them.
        var settings: ReportSettings?
        /// Number of files without a digest to compare.
        let unverified: Int
        /// Waits of the files; nil without files.
        var waitSeconds: ReportWork.Waits?
        /// The workers' performance; nil if no coordinator knows it.
        var work: ReportWork?

        init(_ totals: CatalogTotals, unverified: Int) {
            self.unverified = unverified
            assets = totals.assets
            bytes = totals.bytes
            cancelled = totals.cancelled
            completed = totals.completed
            failed = totals.failed
            fetchedBytes = max(0, totals.bytes - totals.adoptedBytes)
            retries = totals.retries
            seconds = (totals.seconds * 1_000).rounded() / 1_000
            segments = totals.segments
        }
    }

    /// Reads the files of one asset after the other; both kinds of pages are in the order of
    /// assets.
    private struct FileCursor {
        let client: CoordinatorClient
        let catalog: CatalogID
        private var page: [FilePage.StoredFile] = []
        private var index = 0
        private var after: String?
        private var isLastPage = false

        init(client: CoordinatorClient, catalog: CatalogID) {
            self.client = client
            self.catalog = catalog
        }

        /// Returns the next file of `asset`; nil if it has no more.
        mutating func next(of asset: AssetID) async throws(Failure) -> FilePage.StoredFile? {
            while true {
                // Files of an earlier asset were added after its page was read.
                while index < page.count, page[index].asset < asset { index += 1 }
                if index < page.count {
                    guard page[index].asset == asset else { return nil }
                    defer { index += 1 }
                    return page[index]
                }
                if isLastPage { return nil }
                let next = try await client.files(of: catalog, after: after)
                (page, index, after) = (next.files, 0, next.next)
                isLastPage = next.next == nil
            }
        }
    }

    /// Combines small pieces into few writes.
    private struct BufferedOutput {
        private let file: OutputFile
        private var buffer: [UInt8] = []

        init(_ file: OutputFile) { self.file = file }

        mutating func append(_ text: some StringProtocol, _ path: String) throws(Failure) {
            buffer.append(contentsOf: text.utf8)
            if buffer.count >= 64 << 10 { try flush(path) }
        }

        mutating func flush(_ path: String) throws(Failure) {
            do throws(OutputFileError) {
                try file.write(buffer)
            } catch {
                throw Failure(.inputDestination, "\(printable(path)): \(error.reason)")
            }
            buffer.removeAll(keepingCapacity: true)
        }
    }
}
