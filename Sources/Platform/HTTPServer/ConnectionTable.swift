/// Decides which connection gives way when another comes.
///
/// A connection is a stranger's until a request on it has shown a token; strangers are bounded in
/// all and for each address, and the oldest of them gives way. So there is always room for who has
/// a token, whatever others do. Does nothing else: the owner closes what gives way.
struct ConnectionTable {
    struct Bounds: Sendable, Equatable {
        var connections: Int
        /// Of connections, those that strangers may have.
        var strangers: Int
        /// Those that strangers of one address may have; those of this machine share one address,
        /// and are bounded in all only.
        var strangersOfAddress: Int
    }

    enum Admission: Equatable {
        case admitted
        /// Admitted, and this one is to be closed now.
        case inPlace(of: Int)
        /// All connections are of known clients, and each has a request under way.
        case refused
    }

    private enum Standing {
        case stranger
        /// With a request under way.
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

    /// Takes a connection in, as a stranger's.
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

    /// The one that gives way when there is no room at all: a stranger's, else an idle one.
    var oldest: Int? { strangers.oldest ?? idle.oldest }

    /// A request has shown that its sender is known; it is so for as long as the connection lasts.
    mutating func know(_ id: Int) {
        guard let entry = entries[id], entry.standing == .stranger else { return }
        dropStranger(id, entry.network)
        entries[id]?.standing = .busy
    }

    /// A known client's connection waits for its next request, or is about to be closed.
    mutating func rest(_ id: Int) {
        guard entries[id]?.standing == .busy else { return }
        entries[id]?.standing = .idle
        idle.append(id)
    }

    /// The next request of a known client has come.
    mutating func wake(_ id: Int) {
        guard entries[id]?.standing == .idle else { return }
        entries[id]?.standing = .busy
        idle.remove(id)
    }

    /// The connection is closed. Harmless for one that has left already.
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

/// Numbers in the order in which they were added; each step takes the same time however many there
/// are.
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
