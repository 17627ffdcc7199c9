internal import CCurl
package import EventLoop
internal import Glibc

/// A multi handle driven by an event loop: many transfers, one thread, no waiting.
///
/// Created, used and closed on its loop's thread; keeps connections open for later requests.
package final class CurlMulti {
    package let loop: EventLoop
    private let handle: UnsafeMutableRawPointer
    private var timer: LoopTimer?
    /// True if libcurl must be called although no socket is ready.
    private var isDue = false
    private var isClosed = false
    /// Running transfers, retained here.
    private var easies: [UnsafeMutableRawPointer: CurlEasy] = [:]
    /// Called inside libcurl before a connection's socket is closed; must not add or remove
    /// handles. Set before the first transfer.
    package var onClose: ((Int32) -> Void)?

    package struct Limits: Sendable {
        /// Maximum of open connections, including idle ones; more transfers wait inside libcurl.
        package var totalConnections = 32
        /// Maximum of these to one host and port; 0 for no separate limit.
        package var hostConnections = 0

        package init() {}
    }

    package init(loop: EventLoop, limits: Limits) throws(CurlError) {
        loop.preconditionInLoop()
        try CurlGlobal.initialize()
        guard let handle = curl_multi_init() else {
            throw CurlError(.outOfMemory, "curl_multi_init")
        }
        self.loop = loop
        self.handle = handle
        let user = Unmanaged.passUnretained(self).toOpaque()
        let codes = [
            dray_multi_set_socket(handle, socketCallback, user),
            dray_multi_set_timer(handle, timerCallback, user),
            dray_multi_set_max_total_connections(handle, limits.totalConnections),
            dray_multi_set_max_host_connections(handle, limits.hostConnections),
            dray_multi_set_connection_cache(handle, limits.totalConnections),
        ]
        guard codes.allSatisfy({ $0 == CURLM_OK }) else {
            curl_multi_cleanup(handle)
            throw CurlError(.failedInit, "curl_multi_setopt")
        }
        timer = loop.makeTimer { [weak self] in self?.isDue = true }
        // Timeouts and results are handled once for all of a tick's sockets.
        loop.runAtEndOfTick { [weak self] in self?.drive() }
    }

    deinit { precondition(isClosed, "a CurlMulti is closed on its loop before it is released") }

    /// Starts a transfer; its end is reported to its delegate on this loop, never before `add`
    /// returns.
    package func add(_ easy: CurlEasy) throws(CurlError) {
        loop.preconditionInLoop()
        precondition(!isClosed && easies[easy.handle] == nil)
        try easy.begin()
        if onClose != nil { try easy.reportClosing(to: self) }
        let code = curl_multi_add_handle(handle, easy.handle)
        guard code == CURLM_OK else {
            throw CurlError(.failedInit, String(cString: curl_multi_strerror(code)))
        }
        easies[easy.handle] = easy
        easy.multi = self
    }

    /// Ends a transfer at once and closes its connection; its delegate gets no more calls.
    package func remove(_ easy: CurlEasy) {
        loop.preconditionInLoop()
        guard easies.removeValue(forKey: easy.handle) != nil else { return }
        curl_multi_remove_handle(handle, easy.handle)
        easy.multi = nil
    }

    package var activeCount: Int { easies.count }

    /// Drops every transfer and connection. The handle must not be used afterwards.
    package func close() {
        loop.preconditionInLoop()
        guard !isClosed else { return }
        for easy in Array(easies.values) { remove(easy) }
        timer?.cancel()
        curl_multi_cleanup(handle)
        isClosed = true
    }

    /// Performs due work and delivers results, which may start transfers that are due at once.
    private func drive() {
        guard !isClosed else { return }
        // Bounded, so that sockets get their turn between transfers that end at once.
        for _ in 0..<64 {
            if isDue {
                isDue = false
                socketAction(dray_timeout_socket(), 0)
            }
            handOutResults()
            guard isDue, !isClosed else { return }
        }
        timer?.schedule(afterSeconds: 0)
    }

    private func handOutResults() {
        while !isClosed {
            var result = CURLE_OK
            guard let ended = dray_multi_ended(handle, &result) else { return }
            guard let easy = easies[ended] else { continue }
            remove(easy)
            easy.delegate?.curl(easy, finished: CurlCode(result))
        }
    }

    fileprivate func socketAction(_ socket: Int32, _ events: Int32) {
        guard !isClosed else { return }
        var running: Int32 = 0
        // A result other than OK means a broken handle; each transfer's own result is more
        // specific.
        _ = curl_multi_socket_action(handle, socket, events, &running)
    }

    fileprivate func watch(_ socket: Int32, _ what: Int32) {
        guard what != CURL_POLL_REMOVE else {
            loop.deregister(socket)
            return
        }
        var interest: Interest = []
        if what & CURL_POLL_IN != 0 { interest.insert(.readable) }
        if what & CURL_POLL_OUT != 0 { interest.insert(.writable) }
        do {
            if loop.isRegistered(socket) {
                try loop.modify(socket, for: interest)
            } else {
                try loop.register(socket, for: interest) { [weak self] socket, readiness in
                    self?.ready(socket, readiness)
                }
            }
        } catch {
            // Without events, the transfer ends by its timeout.
        }
    }

    private func ready(_ socket: Int32, _ readiness: Readiness) {
        var events: Int32 = 0
        if readiness.contains(.readable) { events |= CURL_CSELECT_IN }
        if readiness.contains(.writable) { events |= CURL_CSELECT_OUT }
        if !readiness.isDisjoint(with: [.error, .hangUp]) { events |= CURL_CSELECT_ERR }
        socketAction(socket, events)
    }

    fileprivate func wake(afterMilliseconds milliseconds: Int) {
        guard !isClosed else { return }
        if milliseconds < 0 {
            isDue = false
            timer?.cancel()
        } else if milliseconds == 0 {
            isDue = true
            timer?.cancel()
        } else {
            isDue = false
            timer?.schedule(afterSeconds: Double(milliseconds) / 1000)
        }
    }
}

private let socketCallback: dray_socket_callback = { _, socket, what, user, _ in
    guard let user else { return 0 }
    Unmanaged<CurlMulti>.fromOpaque(user).takeUnretainedValue().watch(socket, what)
    return 0
}

let closeSocketCallback: dray_close_socket_callback = { user, socket in
    if let user {
        let multi = Unmanaged<CurlMulti>.fromOpaque(user).takeUnretainedValue()
        multi.onClose?(socket)
    }
    return close(socket)
}

private let timerCallback: dray_timer_callback = { _, milliseconds, user in
    guard let user else { return 0 }
    Unmanaged<CurlMulti>.fromOpaque(user).takeUnretainedValue().wake(
        afterMilliseconds: milliseconds)
    return 0
}
