import Client
import CommandLine
import Model
import Services
import Text

/// `dray adopt`: makes a mirror of another tool a catalog of Dray's.
enum AdoptCommand {
    static let command = Command(
        "adopt", summary: "Take over a mirror that wget, aria2, rclone or another tool made.",
        discussion: """
            Submits LIST as `dray prefetch` does, and downloads no file that is correct already. \
            Files are searched for in DIR as HOST/PATH (wget -x) and as PATH. Where the list has a \
            digest, the file is compared with it. Otherwise the origin is asked for the object's \
            length and date, without its body: the file is adopted if the length agrees and the \
            object is not newer than the file. All others are fetched. The SHA-256 of every file is \
            recorded. Manifests of titles (HLS, DASH) are read from the origin; their segments are \
            searched for under their keys, HOST/PATH, and adopted in the same way.

            DIR may be a bucket, s3://BUCKET/PREFIX?endpoint=URL: it becomes the site, and its objects \
            are searched for under their keys, HOST/PATH. They are read there if nothing else shows \
            their SHA-256.

            DIR becomes the site, or DEST of --to. A file that lies elsewhere than at its key is \
            copied there if the list has its SHA-256 and it agrees, and fetched otherwise. Symlinks are \
            not followed. DIR must be readable on this machine.
            """,
        operands: [CommandOperand("DIR", .directories, help: "Directory of the mirror.")],
        options: [
            CommandOption(
                "catalog", .file(placeholder: "LIST"), required: true,
                help: "List of the files: a list file, or one URL."),
            CommandOption(
                "to", .directory(placeholder: "DEST"),
                help: "Directory or file:// URL of the site. Default: DIR."),
            CommandOption(
                "name", .text(placeholder: "NAME"),
                help: "Name of the catalog. Default: from the JSON list, else from LIST's file "
                    + "name or URL."),
            ListOptions.format, CommonOptions.state, CommonOptions.workers,
            CommonOptions.connections, CommonOptions.durability,
            CommandOption(
                "report", .file(placeholder: "FILE"),
                help: "Write a JSON report with each asset, file, length and SHA-256."),
            OnInterrupt.option,
            CommandOption("quiet", .flag, help: "Show errors only."),
        ] + HeaderOptions.all + TransferOptions.all + TLSOptions.client
    ) { arguments in
        do {
            try LogOutput.configure(
                environment: ClientSettings.environment, defaultLevel: .warning)
            let operand = arguments.operands[0]
            if operand.hasPrefix("s3:") { return try await adopt(bucket: operand, arguments) }
            let directory = Destination.absolute(operand)
            // Without its files, everything would be fetched.
            try Adoption.check(directory)
            return try await PrefetchCommand.run(
                arguments, list: arguments.text("catalog") ?? "",
                to: .path(arguments.text("to") ?? directory)
            ) { Adoption(directory: directory, site: $0.path) }
        } catch {
            return Console.fail(error)
        }
    }

    private static func adopt(bucket: String, _ arguments: Arguments) async throws -> ExitCode {
        guard arguments.origin(of: "to") != .commandLine else {
            throw UsageError(
                "--to does not go with a bucket", hint: "Objects are adopted where they are.")
        }
        let adoption = try Adoption(bucket: bucket)
        try await adoption.check()
        return try await PrefetchCommand.run(
            arguments, list: arguments.text("catalog") ?? "", to: .path(bucket)
        ) { _ in adoption }
    }
}
