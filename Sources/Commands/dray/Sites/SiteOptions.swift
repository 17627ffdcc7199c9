import API
import CommandLine
import Model
import Schedule
import Text

/// The settings of a site on the command line.
enum SiteOptions {
    static let all = [
        CommandOption(
            "schedule", .text(placeholder: "TEXT"),
            help: "When Dray may write to the site, and how fast; `unlimited` for "
                + "no schedule."),
        CommandOption(
            "maximum", .text(placeholder: "RATE"),
            help:
                "Maximum bandwidth, whatever the schedule allows: 200Mbit/s; "
                + "`unlimited` for none."
        ),
        CommandOption(
            "floor", .text(placeholder: "SIZE"),
            help: "Space to keep free on the file system; `none` for no floor."),
        CommandOption(
            "quota", .text(placeholder: "SIZE"),
            help: "Maximum size of the site's catalogs together; `none` for no quota."),
        CommandOption(
            TimeOptions.notBefore.name, .text(placeholder: "TIME"),
            help: "Fetch nothing of an asset before this time; for assets that are submitted from "
                + "now on. `none` for no time."),
        CommandOption(
            TimeOptions.expires.name, .text(placeholder: "TIME"),
            help: "Delete the files of an asset at this time, at the latest; for assets that are "
                + "submitted from now on. `none` for no time."),
        CommandOption(
            TimeOptions.keepFor.name, .text(placeholder: "DURATION"),
            help: "Delete the files of an asset this long after it was complete, at the latest; "
                + "for assets that are submitted from now on. `none` for no limit."),
        EvictionCommands.order, TitleLimitOptions.maxFetches, TitleLimitOptions.maxSites,
        CommandOption(
            "audit-every", .text(placeholder: "TIME"),
            help: "Audit the site at this interval: 24h, 7d; `never` for no schedule."),
        CommandOption(
            "audit-deep", .choice(placeholder: "yes|no", of: ["yes", "no"]),
            help: "Whether these audits read every file and compare its SHA-256."),
        CommandOption(
            "audit-repair", .choice(placeholder: "yes|no", of: ["yes", "no"]),
            help: "Whether these audits fetch damaged files again, and remove "
                + "leftovers."),
        CommandOption(
            "serves", .text(placeholder: "URL"),
            help: "URL under which a web server serves the site's files, for sites "
                + "that are filled from it; `none` for none."),
        CommandOption(
            "accept-volume", .flag,
            help: "Accept the file system that the site's directory is on now."),
    ]

    /// Reads the options that are given, as settings of `site`.
    static func settings(of site: String, _ arguments: Arguments) throws -> SiteSettings {
        var settings = SiteSettings(site: site)
        if let text = arguments.text("schedule") {
            let schedule = try TransferSchedule(text)
            let isNone = schedule.entries.isEmpty && schedule.otherwise == .unlimited
            settings.schedule = isNone ? "" : schedule.description
        }
        if arguments.text("maximum") != nil {
            settings.maximumBytesPerSecond = try ClusterCall.rate("maximum", arguments) ?? 0
        }
        settings.floorBytes = try size("floor", arguments)
        settings.quotaBytes = try size("quota", arguments)
        (settings.notBefore, settings.expiresAt) = try TimeOptions.window(arguments, none: 0)
        settings.keepSeconds = try TimeOptions.keepSeconds(arguments, none: 0)
        settings.evict = EvictionCommands.order(arguments)
        settings.maxFetches = try TitleLimitOptions.fetches(arguments, none: true)
        settings.maxSites = try TitleLimitOptions.sites(arguments, none: true)
        settings.auditSeconds = try AuditSchedule.seconds(arguments)
        settings.auditIsDeep = arguments.text("audit-deep").map { $0 == "yes" }
        settings.auditRepairs = arguments.text("audit-repair").map { $0 == "yes" }
        settings.serves = arguments.text("serves").map { $0 == "none" ? "" : $0 }
        if arguments.flag("accept-volume") { settings.acceptsVolume = true }
        return settings
    }

    /// Reads `--name SIZE` in bytes; 0 for `none`, nil without the option.
    private static func size(_ name: String, _ arguments: Arguments) throws(UsageError) -> Int64? {
        guard let text = arguments.text(name) else { return nil }
        if text == "none" { return 0 }
        guard let bytes = ByteCount.parse(text), (1...1 << 60).contains(bytes) else {
            throw UsageError(
                "--\(name) is '\(printable(String(text.prefix(40))))'",
                hint: "Write 500GB, 1.5TiB, a number of bytes, or none.")
        }
        return bytes
    }
}
