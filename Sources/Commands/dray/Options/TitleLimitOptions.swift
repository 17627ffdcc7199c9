import CommandLine
import Model
import Rendering
import Schedule
import Text

/// Options that limit the fetches and the sites of titles.
enum TitleLimitOptions {
    static let maxFetches = CommandOption(
        "max-fetches", .text(placeholder: "N/PERIOD"),
        help: "Maximum number of fetches of each title to a site within a period: 3/30d. "
            + "`none` sets no limit.")
    static let maxSites = CommandOption(
        "max-sites", .text(placeholder: "N"),
        help: "Keep each title at no more than N sites at a time. `none` sets no limit.")

    /// Reads `--max-fetches`; nil without it. `none` is a count of 0 if it is to be sent, else nil.
    static func fetches(
        _ arguments: Arguments, none: Bool = false
    ) throws(UsageError) -> FetchLimit? {
        guard let text = arguments.text(maxFetches.name) else { return nil }
        if text == "none" { return none ? FetchLimit(count: 0, periodSeconds: 1) : nil }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let count = Int(parts[0]),
            WireLimits.fetchesPerTitle.contains(count),
            let seconds = lengthOfTime(String(parts[1])), WireLimits.keepSeconds.contains(seconds)
        else {
            throw UsageError(
                "--\(maxFetches.name) is '\(printable(String(text.prefix(100))))'",
                hint:
                    "Write a number from 1 to \(WireLimits.fetchesPerTitle.upperBound) and a period "
                    + "from 1s to 36500d, such as 3/30d, or none.")
        }
        return FetchLimit(count: count, periodSeconds: seconds)
    }

    /// Reads `--max-sites`; nil without it. `none` is 0 if it is to be sent, else nil.
    static func sites(_ arguments: Arguments, none: Bool = false) throws(UsageError) -> Int? {
        guard let text = arguments.text(maxSites.name) else { return nil }
        if text == "none" { return none ? 0 : nil }
        guard let count = Int(text), WireLimits.sitesPerTitle.contains(count) else {
            throw UsageError(
                "--\(maxSites.name) is '\(printable(String(text.prefix(100))))'",
                hint: "Write a number from 1 to \(WireLimits.sitesPerTitle.upperBound), or none.")
        }
        return count
    }

    /// Formats limits for a list of settings; empty without any.
    static func text(_ fetches: FetchLimit?, _ sites: Int?) -> [String] {
        var texts: [String] = []
        if let fetches {
            texts.append(
                "fetches of a title: \(fetches.count) in "
                    + HumanFormat.duration(seconds: fetches.periodSeconds))
        }
        if let sites { texts.append("sites of a title: \(sites)") }
        return texts
    }
}
