/// What the holder of an access token may do.
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
}
