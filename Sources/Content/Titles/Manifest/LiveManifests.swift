/// The handling of a live manifest.
package enum LiveManifests: Hashable, Sendable {
    /// Fails with `manifest.live`.
    case refused
    /// Captures its entries at this time, in seconds since 1970.
    case snapshot(atSeconds: Double)
}
