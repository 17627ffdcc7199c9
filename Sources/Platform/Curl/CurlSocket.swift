internal import CCurl
internal import Glibc

/// Operations on a socket of libcurl, on the loop that it belongs to.
package enum CurlSocket {
    /// Returns true if the peer has closed its end, or the connection is gone.
    package static func isClosedByPeer(_ socket: Int32) -> Bool {
        let state = dray_tcp_state(socket)
        return state == TCP_CLOSE_WAIT || state == TCP_LAST_ACK || state == TCP_CLOSE
    }

    /// Returns true if the peer has not answered yet.
    package static func isConnecting(_ socket: Int32) -> Bool {
        dray_tcp_state(socket) == TCP_SYN_SENT
    }

    /// Returns the local port; nil for none.
    package static func localPort(_ socket: Int32) -> Int32? {
        let port = dray_local_port(socket)
        return port > 0 ? port : nil
    }

    /// Ends the connection now. The descriptor stays open until libcurl tries to use the dead
    /// connection again and closes it.
    package static func shutdown(_ socket: Int32) { _ = dray_shutdown_socket(socket) }

    /// Limits the system's receive buffer; the kernel doubles the value for its own needs.
    package static func limitReceiveBuffer(_ socket: Int32, bytes: Int) {
        _ = dray_set_receive_buffer(socket, Int32(clamping: bytes))
    }
}
