/// Timeouts of one transfer, in seconds.
package struct TransferTimeouts: Sendable, Hashable {
    /// Name lookup, connect and TLS handshake.
    package var connect = 10.0
    /// From the connection to the response's header.
    package var firstByte = 30.0
    /// Time below `lowSpeedBytesPerSecond`.
    package var lowSpeed = 30.0
    package var lowSpeedBytesPerSecond = 1_024.0
    /// The whole transfer, including redirects; nil for no limit.
    package var total: Double?

    package init() {}
}
