/// How the embedded server is configured.
enum PostgresSettings {
    static let role = "dray"
    static let database = "postgres"
    /// Part of the socket's name only; nothing listens on TCP.
    static let port = 5_432

    /// Options for `postgres`, each `-c name=value`.
    ///
    /// On the command line and not in `postgresql.conf`: the data directory belongs to the server's
    /// user, in which Dray, when it is root, writes nothing; and a new Dray's settings hold for an
    /// old database.
    static func arguments(socketDirectory: String) -> [String] {
        let quotedDirectory = socketDirectory.split(
            separator: "\"", omittingEmptySubsequences: false
        ).joined(separator: "\"\"")
        let settings: KeyValuePairs = [
            "listen_addresses": "",
            "unix_socket_directories": "\"\(quotedDirectory)\"",
            "unix_socket_permissions": "0700",
            "port": "\(port)",
            "cluster_name": "dray",
            "max_connections": "40",
            // An acknowledged report survives a power cut.
            "fsync": "on",
            "synchronous_commit": "on",
            "full_page_writes": "on",
            // Nothing replicates from here, so COPY into a new table may skip the WAL.
            "wal_level": "minimal",
            "max_wal_senders": "0",
            "max_wal_size": "1GB",
            "checkpoint_timeout": "15min",
            // A laptop's share; huge pages would have to be reserved by its owner.
            "shared_buffers": "128MB",
            "huge_pages": "off",
            // Every query is short: compiling one takes longer than running it.
            "jit": "off",
            "max_parallel_workers_per_gather": "0",
            // Parallel work needs more of /dev/shm than a container has.
            "max_parallel_maintenance_workers": "0",
            // The queue's rows live for seconds: vacuum often, a little at a time.
            "autovacuum": "on",
            "autovacuum_max_workers": "2",
            "autovacuum_naptime": "15s",
            "autovacuum_vacuum_cost_limit": "400",
            "log_destination": "stderr",
            "logging_collector": "off",
            "log_min_messages": "warning",
            "log_checkpoints": "off",
            "log_line_prefix": "%m [%p] ",
            // Statements carry URLs with signatures; no log keeps them.
            "log_min_error_statement": "panic",
            "log_parameter_max_length_on_error": "0",
            "log_timezone": "UTC",
            "timezone": "UTC",
        ]
        return settings.flatMap { ["-c", "\($0.key)=\($0.value)"] }
    }
}
