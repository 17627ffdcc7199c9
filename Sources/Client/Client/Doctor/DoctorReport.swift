package import CommandLine
import Model
import Rendering
import Text

/// The results of `dray doctor`.
package struct DoctorReport: Codable, Sendable {
    /// Version of this binary.
    package var version: String
    /// Time that all checks took together.
    package var seconds: Double
    package var ok: Int
    package var warnings: Int
    package var failed: Int
    package var skipped: Int
    /// By area, in the order in which a cluster is built up.
    package var checks: [DoctorCheck]

    package init(_ checks: [DoctorCheck], seconds: Double) {
        version = drayVersion
        self.seconds = seconds
        self.checks = DoctorCheck.Area.allCases.flatMap { area in
            checks.filter { $0.area == area }
        }
        ok = checks.count { $0.result == .ok }
        warnings = checks.count { $0.result == .warning }
        failed = checks.count { $0.result == .failed }
        skipped = checks.count { $0.result == .skipped }
    }

    /// 1 if a check failed; warnings and skipped checks count as success.
    package var exitCode: ExitCode { failed > 0 ? .someFailed : .success }

    /// Maximum columns of a check's name.
    private static let maxNameColumns = 44

    /// Formats a line for each check, with the advice below it, and a last line with the counts.
    package var text: String {
        let names = checks.map { TextLayout.width(printable($0.name)) }
        let columns = min(names.max() ?? 0, Self.maxNameColumns)
        var lines: [String] = []
        for area in DoctorCheck.Area.allCases {
            let checks = checks.filter { $0.area == area }
            guard !checks.isEmpty else { continue }
            lines.append(area.rawValue.prefix(1).uppercased() + area.rawValue.dropFirst())
            for check in checks { lines += Self.lines(check, nameColumns: columns) }
        }
        return (lines + ["", summary]).joined(separator: "\n") + "\n"
    }

    private static func lines(_ check: DoctorCheck, nameColumns: Int) -> [String] {
        let name = TextLayout.middleTruncated(printable(check.name), to: nameColumns)
        let start =
            "  \(TextLayout.padded(check.result.rawValue, to: 7))  "
            + TextLayout.padded(name, to: nameColumns) + "  "
        let code = check.code.map { " (\($0))" } ?? ""
        let first = start + printable(check.finding) + code
        guard let advice = check.advice else { return [first] }
        return [first, String(repeating: " ", count: TextLayout.width(start)) + printable(advice)]
    }

    private var summary: String {
        var parts = ["\(HumanFormat.count(checks.count, "check")): \(ok) ok"]
        if warnings > 0 { parts.append(HumanFormat.count(warnings, "warning")) }
        if failed > 0 { parts.append("\(failed) failed") }
        if skipped > 0 { parts.append("\(skipped) skipped") }
        return parts.joined(separator: ", ")
    }
}
