import API
import Client
import CommandLine
import CoordinatorClient
import Model
import Rendering
import Schedule
import Text

/// `dray site`: shows sites, and sets their schedules, bandwidth and space limits.
enum SiteCommand {
    static let command = Command(
        "site",
        summary: "Show the sites of a cluster; set schedules, bandwidth and space limits.",
        discussion: "Without a command, lists the sites. \(ClusterCall.privateClusterHelp)",
        subcommands: [
            Command(
                "list", summary: "List the sites, their schedules and the limits in force.",
                options: ClusterCall.listOptions, action: list),
            Command(
                "add", summary: "Add a site before its first catalog, with settings.",
                discussion: "The first catalog of a site adds it as well. The settings are those "
                    + "of `dray site set`. A site that is there is changed.",
                operands: [
                    CommandOperand(
                        "DEST", .directories,
                        help:
                            "Directory as the cluster's workers see it, file://, s3:// or cache: URL."
                    )
                ],
                options: [name] + SiteOptions.all + ClusterCall.options, action: add),
            Command(
                "set", summary: "Set a site's schedule, bandwidth and space limits.",
                discussion: """
                    A schedule is a list of windows of the week or the calendar. The first \
                    window that matches decides; `else` applies at all other times:

                      22:00-06:00 unlimited, else 200Mbit/s
                      Mon-Fri 08:00-18:00 50Mbit/s, Sat,Sun off, else unlimited in Europe/Berlin
                      Fri 20:00-Mon 06:00 1Gbit/s, *-12-24..*-12-26 off, else 100Mbit/s

                    All workers that write to the site share the bandwidth. The default time \
                    zone is UTC.

                    \(TimeOptions.discussion)

                    SIZE is 500GB, 1.5TiB or a number of bytes. A site that is full, over its \
                    quota or not writable is paused, and resumes automatically.

                    A site belongs to one volume, which a mark in its directory identifies. \
                    Workers that find another volume, or none, write nothing \
                    (storage.otherVolume) until --accept-volume.
                    """,
                operands: [
                    CommandOperand("NAME", help: SiteNames.help)
                ],
                options: SiteOptions.all + ClusterCall.options, action: set),
            Command(
                "resume", summary: "Retry a paused site now.",
                discussion: "Without this command, Dray retries within a minute after the storage "
                    + "works again.",
                operands: [
                    CommandOperand("NAME", help: SiteNames.help)
                ], options: ClusterCall.options, action: resume),
            EvictionCommands.evict, EvictionCommands.popularity,
        ], options: ClusterCall.listOptions, action: list)

    private static let name = CommandOption(
        "name", .text(placeholder: "NAME"),
        help: "Name of the site's queue, as --site takes it: 1 to 60 lower-case letters, digits "
            + "and inner dashes, such as edge-1. Default: from the end of DEST.")

    @Sendable private static func resume(_ arguments: Arguments) async -> ExitCode {
        await ClusterCall.run(arguments) { client in
            var settings = SiteSettings(site: SiteNames.site(arguments.operands[0]))
            settings.resumes = true
            let status = try await client.configure(
                settings, retrySeconds: ClusterCall.retrySeconds)
            return try ClusterCall.show(status, arguments) {
                "Site \(printable(status.queue)) resumes.\n"
            }
        }
    }

    @Sendable private static func add(_ arguments: Arguments) async -> ExitCode {
        await configure(arguments) {
            var settings = try SiteOptions.settings(
                of: Destination(remote: arguments.operands[0]).storageURL, arguments)
            settings.adds = true
            settings.name = arguments.text(name.name)
            return settings
        }
    }

    @Sendable private static func set(_ arguments: Arguments) async -> ExitCode {
        await configure(arguments) { try settings(arguments) }
    }

    private static func configure(
        _ arguments: Arguments, _ settings: () throws -> SiteSettings
    ) async -> ExitCode {
        await ClusterCall.run(arguments, asking: settings) { settings, client in
            let status = try await client.configure(
                settings, retrySeconds: ClusterCall.retrySeconds)
            return try ClusterCall.show(status, arguments) {
                settingsText(status)
            }
        }
    }

    /// Formats all present settings.
    static func settingsText(_ status: SiteStatus) -> String {
        let settings =
            [
                "schedule: \(status.schedule.isEmpty ? "none" : printable(status.schedule))",
                "maximum: \(ClusterCall.rate(status.maximumBytesPerSecond))",
                "floor: \(status.floorBytes.map(HumanFormat.bytes) ?? "none")",
                "quota: \(status.quotaBytes.map(HumanFormat.bytes) ?? "none")",
                "not before: \(time(status.notBefore, none: "any time"))",
                "expires: \(time(status.expiresAt, none: "never"))",
                "keep for: \(status.keepSeconds.map { HumanFormat.duration(seconds: $0) } ?? "ever")",
                "evicts: \(EvictionCommands.text(status.evict))",
            ] + TitleLimitOptions.text(status.maxFetches, status.maxSites) + [
                "audits: \(AuditSchedule.text(status))",
                "serves: \(status.serves.map { printable(redacted(url: $0)) } ?? "none")",
                "volume: \(status.volume?.description ?? "set by the next worker")",
            ]
        return "Site \(printable(status.queue)): \(now(status)) now; "
            + settings.joined(separator: "; ") + ".\n"
    }

    private static func time(_ seconds: Double?, none: String) -> String {
        seconds.map { TimeText.minute(ofSeconds: $0) } ?? none
    }

    static func settings(_ arguments: Arguments) throws -> SiteSettings {
        let settings = try SiteOptions.settings(
            of: SiteNames.site(arguments.operands[0]), arguments)
        guard settings != SiteSettings(site: settings.site) else {
            throw UsageError(
                "nothing to set",
                hint: "Use --schedule, --maximum, --floor, --quota, --not-before, --expires, "
                    + "--keep-for, --evict, --max-fetches, --max-sites, --audit-every, --serves "
                    + "or --accept-volume.")
        }
        return settings
    }

    @Sendable private static func list(_ arguments: Arguments) async -> ExitCode {
        await ClusterCall.run(arguments) { client in
            let list = try await client.sites(retrySeconds: ClusterCall.retrySeconds)
            return try ClusterCall.show(
                list, arguments, csv: { ListCSV.sites(list.sites) }, as: { table(list) })
        }
    }

    static func table(_ list: SiteList) -> String {
        // Rare columns are shown only if one has a value.
        let isBounded = list.sites.contains { $0.floorBytes != nil || $0.quotaBytes != nil }
        let isFaulty = list.sites.contains { $0.fault != nil }
        return ClusterCall.section(
            "Sites",
            ["Queue", "Now", "Workers", "Changes in", "Maximum", "Catalogs", "Free", "Used"]
                + (isBounded ? ["Floor", "Quota"] : []) + ["Schedule", "Storage"]
                + (isFaulty ? ["Not writable"] : []),
            [.left, .left, .right, .right, .left, .right, .right, .right]
                + (isBounded ? [.right, .right] : []) + [.left, .left]
                + (isFaulty ? [.left] : []),
            list.sites.map { row($0, now: list.now, isBounded: isBounded, isFaulty: isFaulty) }
        ) + QueueCommand.hints(list.sites.map { ($0.queue, $0.fault) })
    }

    private static func row(
        _ site: SiteStatus, now time: Double, isBounded: Bool, isFaulty: Bool
    ) -> [String] {
        var row = [printable(site.queue), now(site), shares(site)]
        row.append(
            site.nextChange.map { HumanFormat.duration(seconds: max(0, $0 - time)) } ?? "–")
        row.append(ClusterCall.rate(site.maximumBytesPerSecond))
        row.append(site.catalogs.map { HumanFormat.count($0) } ?? "–")
        let bounds = isBounded ? [site.floorBytes, site.quotaBytes] : []
        row += ([site.availableBytes, site.usedBytes] + bounds).map(bytes)
        row.append(site.schedule.isEmpty ? "none" : printable(site.schedule))
        row.append(printable(shown(storageURL: site.storageURL)))
        if isFaulty {
            row.append(site.fault.map { SiteFailureText.text(ofFault: $0) } ?? "–")
        }
        return row
    }

    /// Returns the number of workers that share the bandwidth.
    private static func shares(_ site: SiteStatus) -> String {
        site.bytesPerSecond == nil ? "–" : HumanFormat.count(site.shares.count)
    }

    private static func bytes(_ count: Int64?) -> String { count.map(HumanFormat.bytes) ?? "–" }

    /// Returns the limits in force.
    private static func now(_ site: SiteStatus) -> String {
        site.fault != nil ? "paused" : site.isClosed ? "off" : ClusterCall.rate(site.bytesPerSecond)
    }
}
