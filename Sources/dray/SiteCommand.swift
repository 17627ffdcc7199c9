import CoordinatorClient
import Model
import Runtime

/// `dray site`: shows the sites, and sets when and how fast they are fed.
enum SiteCommand {
    static let command = Command(
        "site", summary: "Show the sites of a cluster; set when and how fast they are fed.",
        discussion: "Without a command, lists the sites. \(ClusterCall.place)",
        subcommands: [
            Command(
                "list", summary: "List the sites, their schedules and what is in force now.",
                options: [ClusterCall.json], action: list),
            Command(
                "set", summary: "Set a site's schedule or the most it may be fed with.",
                discussion: """
                    A schedule has windows of the week or the calendar, the first that holds decides, \
                    and what holds otherwise:

                      22:00-06:00 unlimited, else 200Mbit/s
                      Mon-Fri 08:00-18:00 50Mbit/s, Sat,Sun off, else unlimited in Europe/Berlin
                      Fri 20:00-Mon 06:00 1Gbit/s, *-12-24..*-12-26 off, else 100Mbit/s

                    The bandwidth is shared by all workers that write to the site. The time zone is \
                    UTC if none is named.
                    """,
                operands: [
                    CommandOperand("NAME", help: "The site's queue, or its storage URL.")
                ],
                options: [
                    CommandOption(
                        "schedule", .text(placeholder: "TEXT"),
                        help: "When and how fast; `unlimited` for no schedule."),
                    CommandOption(
                        "maximum", .text(placeholder: "RATE"),
                        help:
                            "The most, whatever the schedule says: 200Mbit/s; `unlimited` for none."
                    ),
                    ClusterCall.json,
                ], action: set),
        ], options: [ClusterCall.json], action: list)

    @Sendable private static func set(_ arguments: Arguments) async -> ExitCode {
        await ClusterCall.run { client in
            let settings = try settings(arguments)
            let status = try await client.configure(
                settings, retrySeconds: ClusterCall.retrySeconds)
            return try ClusterCall.show(status, arguments) {
                "Site \(printable(status.queue)): \(now(status)) now; "
                    + "schedule: \(status.schedule.isEmpty ? "none" : printable(status.schedule)).\n"
            }
        }
    }

    static func settings(_ arguments: Arguments) throws -> SiteSettings {
        var settings = SiteSettings(site: arguments.operands[0])
        if let text = arguments.text("schedule") {
            let schedule = try TransferSchedule(text)
            let isNone = schedule.entries.isEmpty && schedule.otherwise == .unlimited
            settings.schedule = isNone ? "" : schedule.description
        }
        if arguments.text("maximum") != nil {
            settings.maximumBytesPerSecond = try ClusterCall.rate("maximum", arguments) ?? 0
        }
        guard settings.schedule != nil || settings.maximumBytesPerSecond != nil else {
            throw UsageError("nothing to set", hint: "Give --schedule, --maximum or both.")
        }
        return settings
    }

    @Sendable private static func list(_ arguments: Arguments) async -> ExitCode {
        await ClusterCall.run { client in
            let list = try await client.sites(retrySeconds: ClusterCall.retrySeconds)
            return try ClusterCall.show(list, arguments) { table(list) }
        }
    }

    static func table(_ list: SiteList) -> String {
        ClusterCall.section(
            "Sites", ["Queue", "Now", "Workers", "Changes in", "Maximum", "Schedule", "Storage"],
            [.left, .left, .right, .right, .left, .left, .left],
            list.sites.map { site in
                [
                    printable(site.queue), now(site), shares(site),
                    site.nextChange.map { HumanFormat.duration(seconds: max(0, $0 - list.now)) }
                        ?? "–",
                    ClusterCall.rate(site.maximumBytesPerSecond),
                    site.schedule.isEmpty ? "none" : printable(site.schedule),
                    printable(redacted(url: site.storageURL)),
                ]
            })
    }

    /// How many workers share what is in force.
    private static func shares(_ site: SiteStatus) -> String {
        site.bytesPerSecond == nil ? "–" : HumanFormat.count(site.shares.count)
    }

    /// What is in force.
    private static func now(_ site: SiteStatus) -> String {
        site.isClosed ? "off" : ClusterCall.rate(site.bytesPerSecond)
    }
}
