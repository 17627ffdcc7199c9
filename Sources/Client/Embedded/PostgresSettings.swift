/// Settings of the embedded server.
enum PostgresSettings {
    static let role = "dray"
    static let database = "postgres"
    /// Part of the socket's name only; the server does not listen on TCP.
    static let port = 5_432

    /// Returns the options for `postgres`, each `-c name=value`.
    ///
    /// They are on the command line instead of in `postgresql.conf`: the data directory belongs to
    /// the server's user, so a Dray under root writes nothing there. And a new Dray's settings
    /// apply to an old database.
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
            // An acknowledged report survives a power failure.
            "fsync": "on",
            "synchronous_commit": "on",
            "full_page_writes": "on",
            // Without replication, COPY into a new table may skip the WAL.
            "wal_level": "minimal",
            "max_wal_senders": "0",
            "max_wal_size": "1GB",
            "checkpoint_timeout": "15min",
            // Sized for a laptop; huge pages would have to be reserved by its owner.
            "shared_buffers": "128MB",
            "huge_pages": "off",
            // All queries are short: compiling one takes longer than running it.
            "jit": "off",
            // The planner uses them for large reads only, such as a page of a large catalog by size.
            "max_parallel_workers_per_gather": "2",
            // Parallel maintenance needs more /dev/shm than a container has.
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
            // Statements contain URLs with signatures, which must not be logged.
            "log_min_error_statement": "panic",
            "log_parameter_max_length_on_error": "0",
            "log_timezone": "UTC",
            "timezone": "UTC",
        ]
        return settings.flatMap { ["-c", "\($0.key)=\($0.value)"] }
    }
}
