/// The two ends of a TCP connection.
package struct ConnectionEnds: Hashable, Sendable {
    package var local: PeerAddress
    package var localPort: UInt16
    package var peer: PeerAddress
    package var peerPort: UInt16

    package init(local: PeerAddress, localPort: UInt16, peer: PeerAddress, peerPort: UInt16) {
        self.local = local
        self.localPort = localPort
        self.peer = peer
        self.peerPort = peerPort
    }
}
