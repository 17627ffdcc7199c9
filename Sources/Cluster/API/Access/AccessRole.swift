/// Role of an access token: what its holder may do.
package enum AccessRole: String, Codable, CaseIterable, Sendable {
    /// Everything, also creating and revoking tokens.
    case admin
    /// Everything but what administrators and workers do.
    case `operator`
    /// Submits catalogs and changes those of its sites; reads.
    case submitter
    /// Reads.
    case reader
    /// Leases jobs of its queues, reports them and sends heartbeats.
    case worker

    /// Rights of the role, for people.
    package var allowance: String {
        switch self {
        case .admin: "everything"
        case .operator: "everything but tokens and the work of workers"
        case .submitter: "submitting, starting and changing catalogs, and reading"
        case .reader: "reading, also metrics"
        case .worker: "leasing and reporting jobs, and heartbeats"
        }
    }
}
