/// Bounds on the time of one transfer, in seconds.
package struct TransferTimeouts: Sendable, Hashable {
    /// Name lookup, connect and TLS handshake.
    package var connect = 10.0
    /// From the connection to the answer's header.
    package var firstByte = 30.0
    /// Slower than `lowSpeedBytesPerSecond` for this long.
    package var lowSpeed = 30.0
    package var lowSpeedBytesPerSecond = 1_024.0
    /// The whole transfer, redirects included; nil for no bound of its own.
    package var total: Double?

    package init() {}
}
