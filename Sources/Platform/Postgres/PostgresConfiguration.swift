/// How to reach a database, and the limits on every connection to it.
package struct PostgresConfiguration: Sendable {
    /// A libpq connection URL or keyword string; what it says goes before the defaults here.
    /// May hold a password: never shown.
    package var url: String
    package var applicationName: String
    /// For each host of the URL.
    package var connectTimeoutSeconds: Int
    /// The server ends a statement after this long (`statement_timeout`); nil leaves the server's
    /// own setting. A connection that has not answered 5 seconds later is given up.
    package var statementTimeoutSeconds: Double?
    /// Settings of the session, name to value; set before the first statement.
    package var sessionSettings: [String: String]
    package var searchPath: SearchPath
    /// Prepared statements kept per connection.
    package var maximumPreparedStatements: Int

    /// Where names without a schema are looked up.
    package enum SearchPath: Sendable {
        /// As the server, the role and the URL set it.
        case server
        /// In one schema and in pg_catalog, whatever the server and the role set, so that nothing that another role
        /// makes in public is found. The schema is `schema`, or the first that the URL or PGOPTIONS name in
        /// `options=-c search_path=…`. The session's own temporary tables come last.
        case pinned(schema: String)
    }

    package init(
        url: String, applicationName: String = "dray", connectTimeoutSeconds: Int = 10,
        statementTimeoutSeconds: Double? = 30, sessionSettings: [String: String] = [:],
        searchPath: SearchPath = .server, maximumPreparedStatements: Int = 256
    ) {
        self.searchPath = searchPath
        self.sessionSettings = sessionSettings
        self.url = url
        self.applicationName = applicationName
        self.connectTimeoutSeconds = connectTimeoutSeconds
        self.statementTimeoutSeconds = statementTimeoutSeconds
        self.maximumPreparedStatements = maximumPreparedStatements
    }
}
