package import CommandLine
package import Configuration
import Foundation
import Glibc
import Model
import Text

/// Finds and reads the configuration file of a command.
package enum ConfigurationSource {
    /// Returns the configuration of `--config`, of `DRAY_CONFIG`, or else of the first default file
    /// that exists.
    ///
    /// Throws if a file cannot be read, has an error, or can be written by every user.
    package static func configuration(
        _ arguments: Arguments, of tree: CommandTree
    ) throws(UsageError) -> ConfiguredSettings {
        ConfiguredSettings(
            file: try file(arguments, of: tree), environment: ProcessInfo.processInfo.environment,
            of: tree)
    }

    /// Returns the file; nil if none is named and no default one exists.
    package static func file(
        _ arguments: Arguments, of tree: CommandTree
    ) throws(UsageError) -> ConfigurationFile? {
        let environment = ProcessInfo.processInfo.environment
        let named = arguments.text("config") ?? environment["DRAY_CONFIG"] ?? ""
        if !named.isEmpty { return try read(named, of: tree) }
        let configuration =
            environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
            ?? environment["HOME"].map { "\($0)/.config" }
        let paths = [configuration, "/etc"].compactMap(\.self).map { "\($0)/dray/config.toml" }
        // An unreadable file of the system is for its services, not for this user.
        guard let path = paths.first(where: { access($0, R_OK) == 0 }) else { return nil }
        return try read(path, of: tree)
    }

    /// Reads and checks one file.
    package static func read(
        _ path: String, of tree: CommandTree
    ) throws(UsageError) -> ConfigurationFile {
        let (bytes, status): ([UInt8], stat)
        do throws(Failure) {
            (bytes, status) = try SmallFile.read(
                path, maximumBytes: ConfigurationFile.maximumBytes)
        } catch {
            throw UsageError(
                "configuration file: \(error.message)",
                hint: "Name a file with --config or DRAY_CONFIG.")
        }
        let isFile = status.st_mode & S_IFMT == S_IFREG
        guard !isFile || status.st_mode & S_IWOTH == 0 else {
            throw UsageError(
                "every user can write \(printable(path))", hint: "Run: chmod o-w on it.")
        }
        return try ConfigurationFile(
            bytes, path: path, isPrivate: isFile && status.st_mode & 0o077 == 0, of: tree)
    }
}
