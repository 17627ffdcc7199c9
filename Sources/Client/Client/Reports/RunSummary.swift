import API
import CoordinatorClient
import Model
import Rendering
import Text

/// Formats the summary of a run.
struct RunSummary {
    let status: CatalogStatus
    let destination: String
    /// Columns of the terminal; nil for other output.
    var columns: Int?
    /// Number of missing optional sidecars.
    var missingSidecars = 0
    /// Number of titles that lack renditions.
    var titlesWithoutRenditions = 0
    /// The first of these renditions, a line each.
    var leftOut = ""
    /// Number of titles whose manifests break rules.
    var titlesWithWarnings = 0
    /// The first of these warnings.
    var warnings = ManifestWarnings()
    /// The first gaps of recordings, a line each.
    var gaps = ""
    /// Times that the catalog waited, by reason, while this command followed it.
    var waited: [WaitHistory.Total] = []

    /// Maximum number of failed assets in the list.
    static let listedFailures = 20
    /// Maximum number of warnings in the list, of titles without renditions, and of gaps.
    static let listedWarnings = 5

    /// A heading and a table with one row.
    var text: String {
        let totals = status.totals
        let fetched = max(0, totals.bytes - totals.adoptedBytes)
        let rate = totals.seconds > 0 ? Double(fetched) / totals.seconds : 0
        var columns = [
            ("Assets", HumanFormat.count(totals.assets)),
            ("Completed", HumanFormat.count(totals.completed)),
            ("Failed", HumanFormat.count(totals.failed)),
        ]
        if let count = totals.cancelled { columns.append(("Cancelled", HumanFormat.count(count))) }
        columns += [
            ("Segments", HumanFormat.count(totals.segmentsDone)),
            ("Bytes", HumanFormat.bytes(totals.bytes)),
            ("Already there", HumanFormat.bytes(totals.adoptedBytes)),
            ("Time", HumanFormat.duration(seconds: totals.seconds)),
            ("Rate", HumanFormat.rate(bytesPerSecond: rate)),
            ("Retries", HumanFormat.count(totals.retries)),
        ]
        let table = TextLayout.table(
            headings: columns.map(\.0), alignments: columns.map { _ in .right },
            rows: [columns.map(\.1)], columns: self.columns)
        let name = printable(status.name)
        var text = "\(name): \(ending), in \(printable(destination))\n\n\(table)"
        if let files = totals.freedFiles, let bytes = totals.freedBytes {
            text += "\nRemoved \(HumanFormat.count(files, "file")), \(HumanFormat.bytes(bytes))\n"
        }
        if let line = WaitText.line(waited) { text += "\n\(line)\n" }
        if status.missedDeadline, let line = DeadlineText.line(status) { text += "\n\(line)\n" }
        if let recording = status.recording {
            text += "\n\(RecordingText.line(recording))\n" + gaps
        }
        if missingSidecars > 0 {
            text += "\n\(HumanFormat.count(missingSidecars, "sidecar")) missing, see --report\n"
        }
        if titlesWithoutRenditions > 0 {
            text += "\n" + LeftOutText.summary(titlesWithoutRenditions) + leftOut
        }
        if titlesWithWarnings > 0 {
            let titles = HumanFormat.count(titlesWithWarnings, "title")
            text += "\n\(titles) with manifests that break rules, see --report or dray assets\n"
            text += WarningText.lines(warnings.bounded(to: Self.listedWarnings))
        }
        return text
    }

    /// Adds what the status lacks: missing sidecars and renditions, warnings, and the names of gaps.
    mutating func complete(_ client: CoordinatorClient) async throws(Failure) {
        var after: String?
        repeat {
            let page = try await client.assets(of: status.id, after: after)
            for asset in page.assets {
                missingSidecars += asset.missing?.count ?? 0
                if asset.leftOut != nil {
                    if titlesWithoutRenditions < Self.listedWarnings {
                        leftOut += LeftOutText.lines([asset])
                    }
                    titlesWithoutRenditions += 1
                }
                guard let found = asset.warnings else { continue }
                titlesWithWarnings += 1
                warnings.add(found)
            }
            after = page.next
        } while after != nil
        if let recording = status.recording, recording.gaps > 0 {
            gaps = try await namedGaps(client)
        }
    }

    /// Reads the first events of gaps, which may be behind many of other catalogs.
    private func namedGaps(_ client: CoordinatorClient) async throws(Failure) -> String {
        var query = EventQuery()
        query.catalog = CatalogReference(status.id)
        query.kinds = ["asset.gap"]
        var events: [ClusterEvent] = []
        var after: String?
        var hasMore = true
        while hasMore, events.count <= Self.listedWarnings {
            let page = try await client.eventPage(
                query, after: after, limit: Self.listedWarnings + 1)
            events += page.events
            (after, hasMore) = (page.next, page.hasMore)
        }
        return Self.gaps(
            Array(events.prefix(Self.listedWarnings)),
            hasMore: events.count > Self.listedWarnings)
    }

    /// Formats the events of gaps, a line each, and one more if there are others.
    static func gaps(_ events: [ClusterEvent], hasMore: Bool) -> String {
        events.map { event in
            let code = event.code.map { " (\($0))" } ?? ""
            return "    \(printable(Redaction.message(event.message ?? "")))\(code)\n"
        }.joined() + (hasMore ? "    and more gaps\n" : "")
    }

    private var ending: String {
        let totals = status.totals
        switch status.state {
        case .completed: return "completed"
        case .failed:
            return "\(HumanFormat.count(totals.failed)) of "
                + "\(HumanFormat.count(totals.assets, "asset")) failed"
        case .cancelled:
            guard let count = totals.cancelled else { return "cancelled" }
            return "\(HumanFormat.count(count)) of "
                + "\(HumanFormat.count(totals.assets, "asset")) cancelled"
                + (totals.failed > 0 ? ", \(HumanFormat.count(totals.failed)) failed" : "")
        case .interrupted: return "interrupted"
        case .removed: return "removed"
        case .open, .running: return "running"
        }
    }

    /// Formats failed assets with code, message and hint; `total` is the number of all.
    ///
    /// - Parameter titles: options of their titles, if a title can complete without renditions; nil if it
    ///   cannot.
    static func failures(
        _ failed: [AssetStatus], total: Int, reportPath: String?, titles: TitleOptions? = nil
    ) -> String {
        var text = ""
        for asset in failed.prefix(listedFailures) {
            let failure = asset.failure ?? Failure(.internalUnknown, "no reason was recorded")
            text += "failed: \(asset.shownName)\n"
            text += "    \(failure.code): \(printable(failure.message))\n"
            text += "    \(failure.code.row.hint)\n"
        }
        let rest = total - min(failed.count, listedFailures)
        if rest > 0 {
            let report = reportPath.map(printable) ?? "a report: run again with --report FILE"
            text += "and \(HumanFormat.count(rest)) more, see \(report)\n"
        }
        guard let titles, titles.mayLack == nil, titles.records != true,
            failed.contains(where: mayBeARendition)
        else { return text }
        let kinds = RenditionKind.allCases.map(\.rawValue).joined(separator: ",")
        return text + "A title can complete without renditions whose files cannot be fetched: "
            + "add --may-lack \(kinds), or some of these.\n"
    }

    /// True for a title that may have failed by one of its renditions' files.
    private static func mayBeARendition(_ asset: AssetStatus) -> Bool {
        guard let failure = asset.failure, failure.code.mayBeOriginsAlone else { return false }
        // The title's own manifest lists all of them.
        let isOwnManifest = failure.message.hasPrefix("\(redacted(url: asset.url)):")
        // The only manifest of DASH does.
        return !isOwnManifest && (asset.kind == .hls || asset.kind == .dash && asset.segments > 0)
    }
}
