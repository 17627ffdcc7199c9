import API
import CoordinatorClient
import Model
import Rendering
import Text

/// Judges a database.
enum DatabaseChecks {
    /// Oldest supported version, times 10,000.
    static let minVersion = 140_000
    /// Age from which a transaction gets a warning, in seconds.
    static let oldTransactionSeconds = 300.0
    /// A table gets a warning with more dead rows than this, and more than live ones.
    static let maxDeadRows: Int64 = 100_000
    /// Connections of one more coordinator.
    static let sparedConnections = 10

    static func all(_ diagnosis: DatabaseDiagnosis) -> [DoctorCheck] {
        [
            server(diagnosis), schema(diagnosis), connections(diagnosis), durability(diagnosis),
            autovacuum(diagnosis), transactions(diagnosis), deadRows(diagnosis),
            .ok(.database, "size", HumanFormat.bytes(diagnosis.bytes)),
        ]
    }

    static func server(_ diagnosis: DatabaseDiagnosis) -> DoctorCheck {
        let finding = "PostgreSQL \(printable(diagnosis.version))"
        guard diagnosis.versionNumber >= minVersion else {
            return .failed(
                .database, "server", finding, advice: "Use PostgreSQL 14 or later.")
        }
        guard !diagnosis.isInRecovery else {
            return .failed(
                .database, "server", "\(finding), a standby that accepts no writes",
                advice: "Add target_session_attrs=read-write to the URL, with all hosts.")
        }
        return .ok(.database, "server", finding)
    }

    static func schema(_ diagnosis: DatabaseDiagnosis) -> DoctorCheck {
        if let failure = diagnosis.schemaFailure { return .failed(.database, "schema", failure) }
        let (found, needed) = (diagnosis.schemaVersion, diagnosis.neededSchemaVersion)
        guard found > 0 else {
            return .failed(
                .database, "schema", "there is none",
                advice: "Start a coordinator, or run dray database migrate.")
        }
        guard found == needed else {
            return .failed(
                .database, "schema", "version \(found); this release needs \(needed)",
                advice: "Start a coordinator of this release, or run dray database migrate.")
        }
        return .ok(.database, "schema", "version \(found)")
    }

    static func connections(_ diagnosis: DatabaseDiagnosis) -> DoctorCheck {
        let most = diagnosis.maxConnections - diagnosis.reservedConnections
        let free = most - diagnosis.usedConnections
        let finding =
            "\(diagnosis.usedConnections) of \(most) in use, \(diagnosis.ownConnections) by Dray"
        guard free >= sparedConnections else {
            return .warning(
                .database, "connections", finding,
                advice: "Raise max_connections: each coordinator uses up to nine.")
        }
        return .ok(.database, "connections", finding)
    }

    /// Warns about settings with which a crash loses what was acknowledged.
    static func durability(_ diagnosis: DatabaseDiagnosis) -> DoctorCheck {
        let names = ["fsync", "full_page_writes", "synchronous_commit"]
        let off = names.filter { diagnosis.settings[$0] == "off" }
        guard off.isEmpty else {
            return .warning(
                .database, "durability", "\(off.joined(separator: ", ")) off",
                advice: "Set \(off.joined(separator: ", ")) to on: a crash of the server loses "
                    + "acknowledged work without.")
        }
        let values = names.map { "\($0) is \(printable(diagnosis.settings[$0] ?? "unknown"))" }
        return .ok(.database, "durability", values.joined(separator: ", "))
    }

    static func autovacuum(_ diagnosis: DatabaseDiagnosis) -> DoctorCheck {
        let off = ["autovacuum", "track_counts"].filter { diagnosis.settings[$0] == "off" }
        guard off.isEmpty else {
            return .warning(
                .database, "autovacuum", "\(off.joined(separator: ", ")) off",
                advice: "Set autovacuum and track_counts to on: the tables of jobs and leases "
                    + "grow without.")
        }
        return .ok(.database, "autovacuum", "on")
    }

    static func transactions(_ diagnosis: DatabaseDiagnosis) -> DoctorCheck {
        let old = diagnosis.transactions.filter { $0.seconds >= oldTransactionSeconds }
        guard let oldest = old.first else {
            return .ok(.database, "transactions", "none is older than 5 minutes")
        }
        let state = oldest.state.isEmpty ? "" : ", \(printable(oldest.state))"
        return .warning(
            .database, "transactions",
            "\(HumanFormat.count(old.count)) older than 5 minutes; the oldest, of process "
                + "\(oldest.process) (\(printable(oldest.application))\(state)), is "
                + "\(HumanFormat.duration(seconds: oldest.seconds)) old",
            advice: "End it: SELECT pg_terminate_backend(\(oldest.process)). Vacuum removes no "
                + "row that died since it began.")
    }

    static func deadRows(_ diagnosis: DatabaseDiagnosis) -> DoctorCheck {
        let bloated = diagnosis.tables.filter {
            $0.deadRows > maxDeadRows && $0.deadRows > $0.liveRows
        }
        guard let worst = bloated.first else {
            let dead = diagnosis.tables.reduce(0) { $0 + $1.deadRows }
            return .ok(.database, "dead rows", HumanFormat.count(dead))
        }
        return .warning(
            .database, "dead rows",
            "\(printable(worst.name)) has \(HumanFormat.count(worst.deadRows)), and "
                + "\(HumanFormat.count(worst.liveRows)) live ones",
            advice: "Look for old transactions, then run VACUUM \(printable(worst.name)).")
    }
}
