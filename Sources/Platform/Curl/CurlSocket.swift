internal import CCurl
internal import Glibc

/// What can be done to a socket that libcurl has, on the loop that it belongs to.
package enum CurlSocket {
    /// The other side has closed its end, or the connection is gone.
    package static func isClosedByPeer(_ socket: Int32) -> Bool {
        let state = dray_tcp_state(socket)
        return state == TCP_CLOSE_WAIT || state == TCP_LAST_ACK || state == TCP_CLOSE
    }

    /// The other side has not answered yet.
    package static func isConnecting(_ socket: Int32) -> Bool {
        dray_tcp_state(socket) == TCP_SYN_SENT
    }

    /// The port at this end; nil for none.
    package static func localPort(_ socket: Int32) -> Int32? {
        let port = dray_local_port(socket)
        return port > 0 ? port : nil
    }

    /// Ends the connection now. The descriptor stays open until libcurl, which finds the connection
    /// dead when it would use it again, closes it.
    package static func shutdown(_ socket: Int32) { _ = dray_shutdown_socket(socket) }

    /// Bounds what the system receives ahead of libcurl; the kernel doubles it for its own needs.
    package static func limitReceiveBuffer(_ socket: Int32, bytes: Int) {
        _ = dray_set_receive_buffer(socket, Int32(clamping: bytes))
    }
}
