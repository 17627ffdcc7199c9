import API
import CommandLine
import Model
import Rendering
import Text

/// The schedule of a site's audits on the command line.
enum AuditSchedule {
    /// Reads `--audit-every TIME` in seconds; 0 for `never`, nil without the option.
    static func seconds(_ arguments: Arguments) throws(UsageError) -> Int? {
        guard let text = arguments.text("audit-every") else { return nil }
        if text == "never" { return 0 }
        let units: [Character: Int] = ["h": 3_600, "d": 86_400, "w": 604_800]
        let allowed = WireLimits.auditSeconds
        guard let unit = text.last.flatMap({ units[$0] }),
            let count = Int(text.dropLast()), count > 0, count <= allowed.upperBound,
            allowed.contains(count * unit)
        else {
            throw UsageError(
                "--audit-every is '\(printable(String(text.prefix(40))))'",
                hint: "Write 24h, 7d or 2w, from 1h to 365d, or never.")
        }
        return count * unit
    }

    static func text(_ site: SiteStatus) -> String {
        let how = (site.auditIsDeep ? ", deep" : "") + (site.auditRepairs ? ", with repairs" : "")
        guard let seconds = site.auditSeconds else {
            return how.isEmpty ? "none" : "none without --audit-every" + how
        }
        return "every \(HumanFormat.duration(seconds: Double(seconds)))" + how
    }
}
