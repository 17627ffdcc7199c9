/// The location of a database, and the limits of every connection to it.
package struct PostgresConfiguration: Sendable {
    /// A libpq connection URL or keyword string; its settings override the defaults here. May
    /// contain a password: never shown.
    package var url: String
    package var applicationName: String
    /// Timeout for each host of the URL.
    package var connectTimeoutSeconds: Int
    /// The server's timeout of a statement (`statement_timeout`); nil keeps the server's own
    /// setting. A connection without an answer 5 seconds later is closed.
    package var statementTimeoutSeconds: Double?
    /// Settings of the session, name to value; set before the first statement.
    package var sessionSettings: [String: String]
    package var searchPath: SearchPath
    /// Maximum of prepared statements per connection.
    package var maximumPreparedStatements: Int

    /// Schemas for names without a schema.
    package enum SearchPath: Sendable {
        /// The setting of the server, the role and the URL.
        case server
        /// One schema and pg_catalog, independent of the server and the role, so that other roles'
        /// objects in public are never found. The schema is `schema`, or the first one in the URL's
        /// or PGOPTIONS' `options=-c search_path=…`. The session's own temporary tables come last.
        case pinned(schema: String)
    }

    /// Returns the passwords in a URL or keyword string, as libpq reads them; nil if it cannot.
    package static func passwords(in url: String) -> [String]? {
        try? ConnectionHandle.passwords(in: url)
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
