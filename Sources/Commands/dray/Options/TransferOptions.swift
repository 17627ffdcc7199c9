import Client
import CommandLine
import Glibc
import Lists
import Model
import Services
import Text
import Transfer

/// Options of transfers: allowed addresses and settings of origins.
enum TransferOptions {
    static let originSettings = CommandOption(
        "origin-settings", .file(placeholder: "FILE"), setting: Settings.originSettings,
        help: "JSON file with headers, credentials, proxies and limits for each origin. "
            + "Default: $\(settingsVariable).")
    static let allowAddresses = CommandOption(
        "allow-addresses", .text(placeholder: "BLOCKS"), repeatable: true,
        setting: Settings.allowAddresses,
        help: "Address blocks to allow: 10.0.0.0/8, several separated by commas. Workers "
            + "and webhooks of a cluster need it for private and loopback addresses, other commands do "
            + "not. Default: $\(allowVariable).")
    static let denyAddresses = CommandOption(
        "deny-addresses", .text(placeholder: "BLOCKS"), repeatable: true,
        setting: Settings.denyAddresses,
        help: "Addresses to deny. Default: $\(denyVariable).")

    static let all = [originSettings, allowAddresses, denyAddresses]

    private static let settingsVariable = "DRAY_ORIGIN_SETTINGS"
    private static let allowVariable = "DRAY_ALLOW_ADDRESSES"
    private static let denyVariable = "DRAY_DENY_ADDRESSES"

    /// Returns the policy of `--allow-addresses` and `--deny-addresses`, or else of the
    /// environment.
    ///
    /// - Parameter allowsPrivate: true if the command's user alone chooses the URLs.
    static func addressPolicy(
        _ arguments: Arguments, allowsPrivate: Bool
    ) throws(UsageError) -> AddressPolicy {
        AddressPolicy(
            allowsPrivate: allowsPrivate,
            allowed: try blocks("allow-addresses", allowVariable, arguments),
            denied: try blocks("deny-addresses", denyVariable, arguments))
    }

    private static func blocks(
        _ option: String, _ variable: String, _ arguments: Arguments
    ) throws(UsageError) -> [AddressBlock] {
        let given = arguments.texts(option)
        let source = given.isEmpty ? ClientSettings.source(of: variable) : "--\(option)"
        let texts = given.isEmpty ? [ClientSettings.environment[variable] ?? ""] : given
        var blocks: [AddressBlock] = []
        for text in texts.joined(separator: ",").split(separator: ",") {
            let word = text.split(separator: " ").joined(separator: " ")
            if word.isEmpty { continue }
            do throws(Failure) {
                blocks.append(try AddressBlock(word))
            } catch {
                throw UsageError(
                    "\(source): \(printable(error.message))",
                    hint: "Separate several by commas.")
            }
        }
        return blocks
    }

    // MARK: Settings of origins

    /// Returns the settings of `--origin-settings`, or else of the environment; empty without
    /// either.
    static func origins(_ arguments: Arguments) throws(Failure) -> OriginSettingsTable {
        let variable = ClientSettings.environment[settingsVariable] ?? ""
        guard let path = arguments.text("origin-settings") ?? (variable.isEmpty ? nil : variable)
        else { return OriginSettingsTable() }
        let (bytes, status) = try SmallFile.read(path)
        var table: OriginSettingsTable
        do throws(Failure) {
            table = try OriginSettingsReader.read(bytes)
        } catch {
            throw Failure(error.code, "\(printable(path)): \(error.message)")
        }
        if table.hasSecrets, status.st_mode & (S_IRGRP | S_IROTH) != 0 {
            Console.note(
                "\(printable(path)) contains secrets, and other users can read it; run: "
                    + "chmod 600")
        }
        try table.resolveFiles { (file) throws(Failure) in
            let whole = file.hasPrefix("/") ? file : directory(of: path) + file
            guard access(whole, R_OK) == 0 else {
                throw Failure(
                    .inputUnreadable,
                    "\(printable(path)) names \(printable(file)): \(systemErrorText(errno))")
            }
            return whole
        }
        return table
    }

    private static func directory(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
    }
}
