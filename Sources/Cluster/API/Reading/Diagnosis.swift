package import Model

/// `GET /v1/diagnosis`: what a coordinator knows of itself and its database, for `dray doctor`.
package struct CoordinatorDiagnosis: Codable, Sendable {
    /// Version of its binary.
    package var version: String
    /// Its clock, in seconds since 1970.
    package var now: Double
    /// Seconds that a lease holds without a heartbeat.
    package var leaseSeconds: Double
    /// Maximum number of its database connections.
    package var databaseConnections: Int
    /// Maximum number of its open descriptors; nil if unknown.
    package var openFiles: Int?
    /// Nil if `databaseFailure` has the reason.
    package var database: DatabaseDiagnosis?
    package var databaseFailure: Failure?

    package init(
        version: String, now: Double, leaseSeconds: Double, databaseConnections: Int
    ) {
        self.version = version
        self.now = now
        self.leaseSeconds = leaseSeconds
        self.databaseConnections = databaseConnections
    }
}

/// Facts of a PostgreSQL server and Dray's database on it.
package struct DatabaseDiagnosis: Codable, Sendable {
    /// `15.13 (Debian 15.13-0+deb12u1)`.
    package var version: String
    /// Major version times 10,000, and minor version.
    package var versionNumber: Int
    /// Its clock, in seconds since 1970.
    package var now: Double
    /// True for a standby, which accepts no writes.
    package var isInRecovery = false
    package var bytes: Int64 = 0
    package var maxConnections = 0
    /// Connections that only superusers get.
    package var reservedConnections = 0
    /// Client sessions of all databases.
    package var usedConnections = 0
    /// Those of Dray.
    package var ownConnections = 0
    /// 0 without a schema, or with a `schemaFailure`.
    package var schemaVersion = 0
    /// The version that this coordinator, or this binary, uses.
    package var neededSchemaVersion = 0
    /// The reason why the schema cannot be used.
    package var schemaFailure: Failure?
    /// Selected settings of the server, with their units.
    package var settings: [String: String] = [:]
    /// The oldest transactions.
    package var transactions: [Transaction] = []
    /// The tables with the most dead rows.
    package var tables: [Table] = []

    package struct Transaction: Codable, Hashable, Sendable {
        package var process: Int
        package var application: String
        /// `idle in transaction`, `active`, …; empty if this role may not see it.
        package var state: String
        package var seconds: Double

        package init(process: Int, application: String, state: String, seconds: Double) {
            self.process = process
            self.application = application
            self.state = state
            self.seconds = seconds
        }
    }

    package struct Table: Codable, Hashable, Sendable {
        package var name: String
        package var liveRows: Int64
        package var deadRows: Int64
        package var bytes: Int64
        /// Time since its last vacuum; nil for none.
        package var vacuumedSeconds: Double?

        package init(
            name: String, liveRows: Int64, deadRows: Int64, bytes: Int64, vacuumedSeconds: Double?
        ) {
            self.name = name
            self.liveRows = liveRows
            self.deadRows = deadRows
            self.bytes = bytes
            self.vacuumedSeconds = vacuumedSeconds
        }
    }

    package init(version: String, versionNumber: Int, now: Double) {
        self.version = version
        self.versionNumber = versionNumber
        self.now = now
    }
}
