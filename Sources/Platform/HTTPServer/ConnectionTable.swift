/// Decides which connection is closed in favor of a new one. (An idle one ends by its deadline,
/// `Connection.expire`.)
///
/// A connection belongs to a stranger until one of its requests has a valid token. Strangers are
/// limited in total and per address, and the oldest of them is closed. So there is always a slot
/// for clients with a token. The owner performs the closing.
struct ConnectionTable {
    struct Bounds: Sendable, Equatable {
        var connections: Int
        /// Maximum of strangers' connections.
        var strangers: Int
        /// Maximum of strangers' connections per address. All clients on this machine have one
        /// address and are limited in total only.
        var strangersOfAddress: Int
    }

    enum Admission: Equatable {
        case admitted
        /// Admitted; this one must be closed now.
        case inPlace(of: Int)
        /// All connections belong to known clients and have a request in progress.
        case refused
    }

    private enum Standing {
        case stranger
        /// With a request in progress.
        case busy
        case idle
    }

    private struct Entry {
        var network: Peer.Network
        var standing = Standing.stranger
    }

    let bounds: Bounds
    private var entries: [Int: Entry] = [:]
    private var strangers = AgeList()
    private var strangersOf: [Peer.Network: AgeList] = [:]
    private var idle = AgeList()

    init(_ bounds: Bounds) { self.bounds = bounds }

    var count: Int { entries.count }
    var strangerCount: Int { strangers.count }

    /// Adds a connection as a stranger's.
    mutating func admit(_ id: Int, from network: Peer.Network) -> Admission {
        var leaving: Int?
        let sameAddress = network == .loopback ? nil : strangersOf[network]
        if let sameAddress, sameAddress.count >= bounds.strangersOfAddress {
            leaving = sameAddress.oldest
        } else if strangers.count >= bounds.strangers {
            leaving = strangers.oldest
        } else if entries.count >= bounds.connections {
            leaving = oldest
            guard leaving != nil else { return .refused }
        }
        if let leaving { remove(leaving) }
        entries[id] = Entry(network: network)
        strangers.append(id)
        strangersOf[network, default: AgeList()].append(id)
        return leaving.map(Admission.inPlace) ?? .admitted
    }

    /// The connection to close if no slot is left: a stranger's, else an idle one.
    var oldest: Int? { strangers.oldest ?? idle.oldest }

    /// Marks a connection's client as known for the rest of the connection.
    mutating func know(_ id: Int) {
        guard let entry = entries[id], entry.standing == .stranger else { return }
        dropStranger(id, entry.network)
        entries[id]?.standing = .busy
    }

    /// Marks a known client's connection as idle or about to be closed.
    mutating func rest(_ id: Int) {
        guard entries[id]?.standing == .busy else { return }
        entries[id]?.standing = .idle
        idle.append(id)
    }

    /// Marks a known client's connection as busy with its next request.
    mutating func wake(_ id: Int) {
        guard entries[id]?.standing == .idle else { return }
        entries[id]?.standing = .busy
        idle.remove(id)
    }

    /// Removes a closed connection. Harmless for one that was removed before.
    mutating func remove(_ id: Int) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        switch entry.standing {
        case .stranger: dropStranger(id, entry.network)
        case .idle: idle.remove(id)
        case .busy: break
        }
    }

    private mutating func dropStranger(_ id: Int, _ network: Peer.Network) {
        strangers.remove(id)
        strangersOf[network]?.remove(id)
        if strangersOf[network]?.count == 0 { strangersOf[network] = nil }
    }
}

/// Numbers in the order of insertion; each operation takes constant time.
struct AgeList {
    private struct Link {
        var before: Int?
        var after: Int?
    }

    private var links: [Int: Link] = [:]
    private(set) var oldest: Int?
    private var youngest: Int?

    var count: Int { links.count }

    /// - Precondition: `number` is not in the list.
    mutating func append(_ number: Int) {
        links[number] = Link(before: youngest)
        if let youngest { links[youngest]?.after = number } else { oldest = number }
        youngest = number
    }

    mutating func remove(_ number: Int) {
        guard let link = links.removeValue(forKey: number) else { return }
        if let before = link.before {
            links[before]?.after = link.after
        } else {
            oldest = link.after
        }
        if let after = link.after {
            links[after]?.before = link.before
        } else {
            youngest = link.before
        }
    }
}
