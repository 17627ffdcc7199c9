import API
import Model
import Rendering
import Text

/// Formats daily figures for people.
enum ReportText {
    /// Failures with a hint at most.
    private static let maxHints = 5

    /// - Parameter failures: the same figures by code; nil if the report has them.
    static func text(_ report: DailyReport, failures: DailyReport?) -> String {
        let days =
            report.since == report.until
            ? report.since : "\(report.since) to \(report.until)"
        var sections = ["\(days) (UTC)\n"]
        sections.append(report.by == .code ? codes(report) : figures(report))
        if let failures, !failures.groups.isEmpty { sections.append(codes(failures)) }
        if let recovery = recovery(failures ?? report) { sections.append(recovery) }
        let advice = hints(failures ?? report)
        if !advice.isEmpty { sections.append(advice) }
        return sections.joined(separator: "\n")
    }

    private static func figures(_ report: DailyReport) -> String {
        let hasAssets = report.total.assets != nil
        let isOfCatalogs = report.by == .catalog
        func row(_ names: [String], _ figures: DailyReport.Figures) -> [String] {
            var cells = names
            cells += [
                HumanFormat.count(figures.done), HumanFormat.count(figures.failed),
                percent(figures.successRate), percent(figures.addressableSuccessRate),
                HumanFormat.count(figures.retries), HumanFormat.bytes(figures.bytes),
                HumanFormat.bytes(figures.reusedBytes),
                figures.bytesPerSecond.map { HumanFormat.rate(bytesPerSecond: $0) } ?? "–",
            ]
            if let assets = figures.assets {
                cells += [HumanFormat.count(assets.completed), HumanFormat.count(assets.failed)]
            }
            return cells
        }
        var rows = report.groups.map { group in
            row(
                [printable(group.name)] + (isOfCatalogs ? [printable(group.queue ?? "")] : []),
                group.figures)
        }
        if !rows.isEmpty {
            rows.append(row(["total"] + (isOfCatalogs ? [""] : []), report.total))
        }
        let names = [report.by.rawValue.capitalizedFirst] + (isOfCatalogs ? ["Queue"] : [])
        let numbers =
            ["Done", "Failed", "Success", "Addressable", "Retries", "Bytes", "Reused", "Speed"]
            + (hasAssets ? ["Assets", "Assets failed"] : [])
        return ClusterCall.section(
            "Figures", names + numbers,
            [TextLayout.Alignment](repeating: .left, count: names.count)
                + [TextLayout.Alignment](repeating: .right, count: numbers.count), rows)
            + leftOff(report)
    }

    private static func codes(_ report: DailyReport) -> String {
        ClusterCall.section(
            "Failures", ["Code", "Failed", "Retries", "Addressable"],
            [.left, .right, .right, .left],
            report.groups.map { group in
                [
                    printable(group.name), HumanFormat.count(group.figures.failed),
                    HumanFormat.count(group.figures.retries),
                    group.isAddressable == false ? "no" : "yes",
                ]
            }) + leftOff(report)
    }

    /// Formats what became of the assets that met each code: shares of those that have ended. Returns
    /// nil if none did.
    private static func recovery(_ report: DailyReport) -> String? {
        let rows = report.groups.compactMap { group -> [String]? in
            guard let recovery = group.recovery, recovery.assets > 0 else { return nil }
            func share(_ count: Int64) -> String {
                count == 0 ? "–" : percent(Double(count) / Double(recovery.assets))
            }
            let shares = [
                recovery.completed, recovery.byRetry, recovery.byMirror, recovery.byFreshURL,
                recovery.withoutOptional, recovery.withoutRendition, recovery.lost,
            ].map(share)
            let code = FailureCode(group.name)
            return [
                printable(group.name), HumanFormat.count(recovery.attempts),
                HumanFormat.count(recovery.assets),
            ] + shares + [code.isKnown ? code.remedy : ""]
        }
        guard !rows.isEmpty else { return nil }
        let numbers = [
            "Attempts", "Assets", "Completed", "Retry", "Mirror", "Fresh URL", "Optional",
            "Rendition",
            "Lost",
        ]
        return ClusterCall.section(
            "Recovery", ["Code"] + numbers + ["Automatic action"],
            [.left] + numbers.map { _ in .right } + [.left], rows)
    }

    private static func leftOff(_ report: DailyReport) -> String {
        report.leftOff > 0
            ? "\(HumanFormat.count(report.leftOff)) more; the total has them.\n" : ""
    }

    /// Advice for the codes that failed most often.
    private static func hints(_ report: DailyReport) -> String {
        report.groups.filter { $0.figures.failed > 0 && FailureCode($0.name).isKnown }
            .prefix(maxHints)
            .map { "\(printable($0.name)): \(FailureCode($0.name).row.hint)\n" }.joined()
    }

    /// Rounds down, so that only a rate without failures is 100 %.
    private static func percent(_ rate: Double?) -> String {
        rate.map { "\(HumanFormat.fixed(($0 * 1_000).rounded(.down) / 10, places: 1)) %" } ?? "–"
    }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
