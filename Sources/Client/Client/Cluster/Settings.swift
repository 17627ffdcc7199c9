package import CommandLine

/// Settings of all commands: variables of the environment, and keys of the configuration file.
package enum Settings {
    package static let coordinator = CommandSetting(
        "coordinator", "DRAY_COORDINATOR", separator: ",",
        help: "URL of the coordinator, several separated by commas.")
    package static let coordinatorUser = CommandSetting(
        "coordinator-user", "DRAY_COORDINATOR_USER", separator: ",",
        help: "Users whose coordinator on this machine is trusted, or any.")
    package static let caFile = CommandSetting(
        "ca-file", "DRAY_CA_FILE", help: "Certificate authorities of https coordinators.")
    package static let clientCertificate = CommandSetting(
        "client-certificate", "DRAY_CLIENT_CERTIFICATE",
        help: "The client's certificate for https coordinators.")
    package static let clientKey = CommandSetting(
        "client-key", "DRAY_CLIENT_KEY", help: "The certificate's key.")
    package static let tokenFile = CommandSetting(
        "token-file", "DRAY_TOKEN_FILE", group: "token", help: "File with the cluster's token.")
    package static let token = CommandSetting(
        "token", "DRAY_TOKEN", secret: true, help: "The token.")
    package static let databaseFile = CommandSetting(
        "database-file", "DRAY_DATABASE_FILE", group: "database",
        help: "File with the database URL, for coordinators.")
    package static let database = CommandSetting(
        "database", "DRAY_DATABASE_URL", secret: true, help: "The database URL.")
    package static let roots = CommandSetting(
        "roots", "DRAY_ROOTS", separator: ":",
        help: "Directories for workers, separated by colons.")
    package static let originSettings = CommandSetting(
        "origin-settings", "DRAY_ORIGIN_SETTINGS", help: "JSON file with the settings of origins.")
    package static let allowAddresses = CommandSetting(
        "allow-addresses", "DRAY_ALLOW_ADDRESSES", separator: ",",
        help: "Address blocks to allow, such as private ones.")
    package static let denyAddresses = CommandSetting(
        "deny-addresses", "DRAY_DENY_ADDRESSES", separator: ",", help: "Addresses to deny.")
    package static let leaseSeconds = CommandSetting(
        "lease-seconds", "DRAY_LEASE_SECONDS", help: "How long a lease lasts without a heartbeat.")
    package static let retentionDays = CommandSetting(
        "retention-days", "DRAY_RETENTION_DAYS",
        help: "Days to keep the records of ended catalogs.")
    package static let auditDays = CommandSetting(
        "audit-days", "DRAY_AUDIT_DAYS", help: "Days to keep the audit log.")
    package static let onInterrupt = CommandSetting(
        "on-interrupt", "DRAY_ON_INTERRUPT",
        help: "What Ctrl-C does with a catalog: ask, detach, interrupt.")
    package static let logLevel = CommandSetting(
        "log-level", "DRAY_LOG", help: "debug, info, warning or error; info,queue=debug.")
    package static let logFormat = CommandSetting(
        "log-format", "DRAY_LOG_FORMAT", help: "text or json.")

    package static let all = [
        coordinator, coordinatorUser, caFile, clientCertificate, clientKey, tokenFile, token,
        databaseFile, database, roots, originSettings, allowAddresses, denyAddresses, leaseSeconds,
        retentionDays, auditDays, onInterrupt, logLevel, logFormat,
    ]

    /// Options of all commands.
    package static let options = [
        CommandOption(
            "config", .file(placeholder: "FILE"),
            help: "Configuration file, TOML or JSON. Default: $DRAY_CONFIG, or else the first of "
                + "~/.config/dray/config.toml and /etc/dray/config.toml."),
        CommandOption(
            "token-file", .file(placeholder: "FILE"), setting: tokenFile,
            help: "File with the cluster's token. Default: $DRAY_TOKEN_FILE, or the token in "
                + "$DRAY_TOKEN."),
        CommandOption(
            "log-level", .text(placeholder: "LEVELS"), setting: logLevel,
            help: "Least severe log lines to write: debug, info, warning or error; or with a "
                + "component's, info,queue=debug. Default: $DRAY_LOG."),
        CommandOption(
            "log-format", .choice(placeholder: "FORMAT", of: ["text", "json"]),
            setting: logFormat,
            help: "Format of log lines: text or json. Default: $DRAY_LOG_FORMAT."),
    ]
}
