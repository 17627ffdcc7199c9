internal import Foundation
internal import Glibc
internal import Synchronization

/// A loopback TCP port that forwards to a server and simulates network failures.
package final class TCPProxy: Sendable {
    package enum Target: Sendable {
        /// A loopback port.
        case port(UInt16)
        /// A unix socket, such as PostgreSQL's.
        case path(String)
    }

    package let port: UInt16
    private let core: ProxyCore

    package init(to target: Target) throws {
        let (descriptor, port) = try Socket.listen()
        self.port = port
        core = ProxyCore(target: target)
        core.listen(on: descriptor)
    }

    deinit {
        core.setPaused(false)
        core.thaw()
        core.stopListening()
        core.cut()
    }

    /// Open forwarded connections.
    package var connections: Int { core.state.withLock { $0.pairs.count } }

    /// Resets every open connection; new ones are accepted.
    package func cut() { core.cut() }

    /// Stops forwarding while the connections stay open, as in a partition.
    package func pause() { core.setPaused(true) }

    package func resume() { core.setPaused(false) }

    /// Stops forwarding on the open connections permanently, as when a middlebox loses its state
    /// silently; new ones work.
    package func freeze() { core.freeze() }

    /// Rejects new connections until `accept`; open ones stay.
    package func refuse() { core.stopListening() }

    /// Listens again on the same port.
    package func accept() throws {
        guard core.state.withLock({ $0.listener == nil }) else { return }
        core.listen(on: try Socket.listen(port: port).descriptor)
    }
}

private final class ProxyCore: Sendable {
    struct Pair: Hashable {
        let client: Int32
        let server: Int32
    }

    struct State {
        var listener: Int32?
        /// Connections with the number of directions that are still open.
        var pairs: [Pair: Int] = [:]
        /// Closed while the proxy forwards; a new one at each pause.
        var gate: Gate?
        var frozen: Set<Pair> = []
    }

    let target: TCPProxy.Target
    let state = Mutex(State())
    /// Gate at which frozen connections wait until the proxy ends.
    private let ice = Gate()

    init(target: TCPProxy.Target) { self.target = target }

    func listen(on listener: Int32) {
        state.withLock { $0.listener = listener }
        Thread.detachNewThread {
            while let client = Socket.accept(listener) { self.forward(client) }
            close(listener)
        }
    }

    func stopListening() {
        guard let listener = state.withLock({ $0.listener.take() }) else { return }
        shutdown(listener, Int32(SHUT_RDWR))
    }

    func setPaused(_ isPaused: Bool) {
        let opened = state.withLock { state in
            let gate = state.gate
            if isPaused {
                if gate == nil { state.gate = Gate() }
                return nil as Gate?
            }
            state.gate = nil
            return gate
        }
        opened?.open()
    }

    func freeze() {
        state.withLock { state in state.frozen.formUnion(state.pairs.keys) }
    }

    func thaw() { ice.open() }

    func cut() {
        state.withLock { state in
            for pair in state.pairs.keys {
                for descriptor in [pair.client, pair.server] {
                    Socket.resetOnClose(descriptor)
                    shutdown(descriptor, Int32(SHUT_RDWR))
                }
            }
        }
    }

    private func forward(_ client: Int32) {
        let connected: Int32?
        switch target {
        case .port(let port): connected = try? Socket.connect(port: port)
        case .path(let path): connected = try? Socket.connect(path: path)
        }
        guard let server = connected else {
            Socket.resetOnClose(client)
            close(client)
            return
        }
        let pair = Pair(client: client, server: server)
        state.withLock { $0.pairs[pair] = 2 }
        Thread.detachNewThread { self.pump(pair, from: client, to: server) }
        Thread.detachNewThread { self.pump(pair, from: server, to: client) }
    }

    private func pump(_ pair: Pair, from source: Int32, to destination: Int32) {
        while true {
            let bytes = Socket.receive(from: source)
            state.withLock { $0.frozen.contains(pair) ? self.ice : $0.gate }?.pass()
            if bytes.isEmpty { break }
            guard bytes.withUnsafeBytes({ Socket.send($0, to: destination) }) else { break }
        }
        shutdown(destination, Int32(SHUT_WR))
        state.withLock { state in
            state.pairs[pair, default: 1] -= 1
            guard state.pairs[pair] == 0 else { return }
            state.pairs[pair] = nil
            state.frozen.remove(pair)
            close(pair.client)
            close(pair.server)
        }
    }
}
