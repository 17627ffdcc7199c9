import EventLoop
import JobQueue
import Postgres
package import TestSupport

extension DatabaseTemplate {
    /// The tables of a cluster.
    package static let cluster = DatabaseTemplate(
        "cluster_template", distinguish: "UPDATE dray.cluster SET id = gen_random_uuid()"
    ) { url in
        let loop = try EventLoop(name: "template")
        let pool = PostgresPool(.queue(url: url), maximumConnections: 1, on: loop)
        try await Migrations.migrate(pool)
        try await FixtureDatabase.remember(pool)
        await pool.shutdown()
        loop.shutdown()
    }
}
