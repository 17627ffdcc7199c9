import API
import Model

/// The objects that report results to coordinators and receive cooldowns.
struct Reporting: Sendable {
    let results: Mailbox<JobReport>
    let suspects: SuspectOrigins
    let cooldowns: CooldownRelay
    let reporter: Reporter
    let sender: ReportSender

    init(_ core: WorkerCore, _ sites: Sites) {
        results = Mailbox()
        suspects = SuspectOrigins()
        cooldowns = CooldownRelay(
            client: core.client, engine: core.engine, held: core.held, suspects: suspects,
            log: core.log)
        reporter = Reporter(
            held: core.held, sites: sites.failures, suspects: suspects, results: results,
            log: core.log)
        sender = ReportSender(
            worker: core.identity.id, connections: core.connections, client: core.client,
            results: results, held: core.held, pace: core.pace, cooldowns: cooldowns,
            metrics: core.metrics, log: core.log)
    }
}
