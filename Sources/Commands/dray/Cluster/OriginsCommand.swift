import API
import CommandLine
import CoordinatorClient
import Model
import Text

/// `dray origins`: shows the use of origins and the decisions on them, and sets their limits.
enum OriginsCommand {
    static let command = Command(
        "origins",
        summary: "Show origins, their limits, cooldowns and recent decisions; set limits.",
        discussion: """
            Without a command, lists the origins: limits, current use, cooldowns, and recent \
            decisions with their reasons. \(ClusterCall.privateClusterHelp)

            ORIGIN is scheme://host[:port]; the rest of a longer URL is ignored. Limits apply to \
            all workers together.
            """,
        subcommands: [
            Command(
                "list", summary: "List origins, limits, cooldowns and decisions.",
                options: ClusterCall.listOptions, action: list),
            Command(
                "set", summary: "Set the limits of one origin.",
                discussion: "Replaces all default limits: a limit that is not given is unlimited.",
                operands: [operand],
                options: limitOptions + [CommonOptions.state] + TLSOptions.client, action: set),
            Command(
                "clear", summary: "Remove an origin's own limits; the default applies again.",
                operands: [operand], options: [CommonOptions.state] + TLSOptions.client,
                action: clear),
            Command(
                "default", summary: "Set the limits of all origins without their own.",
                discussion:
                    "Replaces all previous default limits: a limit that is not given is "
                    + "unlimited.",
                options: limitOptions + [CommonOptions.state] + TLSOptions.client,
                action: setDefault),
        ], options: ClusterCall.listOptions, action: list)

    private static let operand = CommandOperand("ORIGIN", help: "For example https://cdn.example.")

    private static let limitOptions = [
        CommandOption(
            "connections", .integer(placeholder: "N", range: 1...1_000_000),
            help: "Maximum number of open connections."),
        CommandOption(
            "requests", .text(placeholder: "N"),
            help: "Maximum requests per second, 0.001 to 1000000; 0.5 is one in two seconds."),
        CommandOption(
            "bandwidth", .text(placeholder: "RATE"),
            help: "Maximum bandwidth: 200Mbit/s, 25MB/s, 8MiB/s."),
        CommandOption("unlimited", .flag, help: "Set no limits."),
    ]

    // MARK: Changing

    @Sendable private static func set(_ arguments: Arguments) async -> ExitCode {
        await ClusterCall.run(
            arguments, asking: { (try origin(arguments), try limits(arguments)) }
        ) { asked, client in
            let (origin, limits) = asked
            try await client.setLimits(
                OriginLimitsChange(origin: origin, limits: limits),
                retrySeconds: ClusterCall.retrySeconds)
            return "\(printable(origin)): \(OriginsText.text(limits)).\n"
        }
    }

    @Sendable private static func clear(_ arguments: Arguments) async -> ExitCode {
        await ClusterCall.run(arguments, asking: { try origin(arguments) }) { origin, client in
            try await client.setLimits(
                OriginLimitsChange(origin: origin, limits: nil),
                retrySeconds: ClusterCall.retrySeconds)
            return "\(printable(origin)): the default.\n"
        }
    }

    @Sendable private static func setDefault(_ arguments: Arguments) async -> ExitCode {
        await ClusterCall.run(arguments, asking: { try limits(arguments) }) { limits, client in
            try await client.setLimits(
                OriginLimitsChange(origin: nil, limits: limits),
                retrySeconds: ClusterCall.retrySeconds)
            return "Default: \(OriginsText.text(limits)).\n"
        }
    }

    private static func origin(_ arguments: Arguments) throws(UsageError) -> String {
        guard let origin = originName(of: arguments.operands[0], allowsUserInfo: false) else {
            throw UsageError(
                "ORIGIN is '\(printable(redacted(url: arguments.operands[0])))'",
                hint: "Use scheme://host[:port], for example https://cdn.example.")
        }
        return origin
    }

    static func limits(_ arguments: Arguments) throws(UsageError) -> OriginLimits {
        let limits = OriginLimits(
            connections: arguments.integer("connections"),
            requestsPerSecond: try requests(arguments),
            bytesPerSecond: try ClusterCall.rate("bandwidth", arguments))
        let isNamed = ["connections", "requests", "bandwidth"].contains {
            arguments.text($0) != nil
        }
        guard isNamed != arguments.flag("unlimited") else {
            throw UsageError(
                isNamed ? "--unlimited cannot be used with a limit" : "no limit was given",
                hint: "Use --connections, --requests or --bandwidth; or --unlimited alone.")
        }
        return limits
    }

    private static func requests(_ arguments: Arguments) throws(UsageError) -> Double? {
        guard let text = arguments.text("requests") else { return nil }
        let isDecimal = text.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E }
        guard isDecimal, let rate = Double(text), (0.001...1_000_000).contains(rate) else {
            throw UsageError(
                "--requests is '\(printable(text))'", hint: "Use a number from 0.001 to 1000000.")
        }
        return rate
    }

    // MARK: List

    @Sendable private static func list(_ arguments: Arguments) async -> ExitCode {
        await ClusterCall.run(arguments) { client in
            var page = try await client.origins(retrySeconds: ClusterCall.retrySeconds)
            while let next = page.next {
                let more = try await client.origins(
                    after: next, retrySeconds: ClusterCall.retrySeconds)
                page.origins += more.origins
                page.next = more.next
            }
            let found = page
            return try ClusterCall.show(
                found, arguments, csv: { ListCSV.origins(found) },
                as: { OriginsText.text(found) })
        }
    }
}
