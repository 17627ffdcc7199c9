internal import Curl
internal import LoadModel
internal import Model
internal import Synchronization
internal import Titles
internal import Transfer

/// The hosts of a test's requests and their addresses. A host must be admitted here before it gets
/// a request.
///
/// Safe to use from any thread.
final class LoadHosts: Sendable {
    private struct Host {
        /// Allowed addresses as literals, at least one.
        var addresses: [String]
        /// True if it was admitted by its name, not by its addresses.
        var isNamed: Bool

        func has(_ isWanted: (PeerAddress) -> Bool) -> Bool {
            addresses.contains { PeerAddress($0).map(isWanted) ?? false }
        }

        /// The first one.
        var publicAddress: String? {
            addresses.first { PeerAddress($0).map(LoadAddresses.isPublic) ?? false }
        }
    }

    private static let lookupsAtOnce = 16

    private let policy: AddressPolicy
    private let allowance: LoadAllowance
    private let blocks: [AddressBlock]
    /// Hosts that must not have a public address.
    private let privateHosts: Set<String>
    private let lookup: any HostLookup
    private let hosts = Mutex<[String: Host]>([:])

    /// Throws `input.field` for an invalid address block.
    init(
        _ policy: AddressPolicy, _ allowance: LoadAllowance, _ lookup: any HostLookup,
        privateHosts: [String] = []
    ) throws(Failure) {
        self.policy = policy
        self.privateHosts = Set(privateHosts)
        self.allowance = allowance
        self.lookup = lookup
        var blocks: [AddressBlock] = []
        for text in allowance.blocks {
            do throws(Failure) { blocks.append(try AddressBlock(text)) } catch {
                throw error.at(.field("allow"))
            }
        }
        self.blocks = blocks
    }

    /// Looks up the hosts of URLs concurrently. Throws for the first that is not allowed, with its
    /// label.
    func admit(_ urls: some Sequence<(url: String, label: String)>) async throws(Failure) {
        var known: Set<String> = []
        var waiting: [(url: String, label: String)] = []
        for (url, label) in urls {
            guard let host = LoadAllowance.host(of: url), known.insert(host).inserted else {
                continue
            }
            waiting.append((url, label))
        }
        for start in stride(from: 0, to: waiting.count, by: Self.lookupsAtOnce) {
            // A resolver may take long for each.
            if Task.isCancelled { throw Failure.preflightCancelled }
            let range = start..<min(start + Self.lookupsAtOnce, waiting.count)
            let failures = await withTaskGroup(of: (Int, Failure?).self) { group in
                for index in range {
                    let url = waiting[index].url
                    group.addTask { (index, await self.rejection(of: url)) }
                }
                return await group.reduce(into: [Int: Failure]()) { $0[$1.0] = $1.1 }
            }
            for index in range {
                guard let failure = failures[index] else { continue }
                throw LoadPreflight.rejection(waiting[index].label, failure)
            }
        }
    }

    /// Returns the reason for which a URL's host is not allowed; nil if it is. A host is looked up
    /// once.
    func rejection(of url: String) async -> Failure? {
        guard let name = LoadAllowance.host(of: url) else { return nil }
        if hosts.withLock({ $0[name] != nil }) { return nil }
        let isNamed = allowance.admits(name)
        let stranger = Failure(
            .inputTarget,
            "names \(Redaction.shown(url)): the host is not that of a target; allow it with "
                + "\"allow\": [\"\(name)\"]")
        // A host that is not allowed is not looked up, unless an address block could admit it.
        guard isNamed || !blocks.isEmpty else { return stranger }
        let found: [String]
        switch await lookup.addresses(of: name) {
        case .success(let addresses): found = addresses
        case .failure(let failure): return failure
        }
        let host = Host(
            addresses: found.filter { PeerAddress($0).map(policy.admits) ?? false },
            isNamed: isNamed)
        guard !host.addresses.isEmpty else {
            return denial(name, found.first ?? "")
        }
        guard isNamed || !host.has({ address in !blocks.contains { $0.contains(address) } }) else {
            return stranger
        }
        if privateHosts.contains(name), let address = host.publicAddress {
            return Failure(
                .inputTarget,
                "\(name) is \(address) here, a public address, but must be private "
                    + "(privateHosts): no public notice names it")
        }
        hosts.withLock { $0[name] = host }
        return nil
    }

    /// Returns clocks without those whose hosts are not allowed.
    func admitted(_ clocks: [DASHClock]) async -> [DASHClock] {
        var admitted: [DASHClock] = []
        for clock in clocks {
            if case .url(let url) = clock, await rejection(of: url) != nil { continue }
            admitted.append(clock)
        }
        return admitted
    }

    /// Looks up the host names and single addresses of an `allow` list, where a load may be led
    /// while it runs. Ones that are rejected or unknown are left out.
    func find(_ allow: [String]) async {
        let names = allow.filter { !$0.hasPrefix("*") && !$0.contains("/") }
        for start in stride(from: 0, to: names.count, by: Self.lookupsAtOnce) {
            await withTaskGroup(of: Void.self) { group in
                for name in names[start..<min(start + Self.lookupsAtOnce, names.count)] {
                    let host = name.contains(":") ? "[\(name)]" : name
                    group.addTask { _ = await self.rejection(of: "http://\(host)/") }
                }
            }
        }
    }

    private func denial(_ host: String, _ address: String) -> Failure {
        let what = host == address ? host : "\(host) is \(address), which"
        switch PeerAddress(address).map({ policy.decision(on: $0) }) {
        case .forbidden:
            return Failure(
                .inputTarget,
                "\(what) is link-local, multicast, unspecified or a metadata service, which no "
                    + "option allows")
        case .blocked(let block):
            return Failure(
                .originAddressBlocked, "\(what) is in --deny-addresses as \(block.text)")
        default:
            return Failure(
                .originAddressDenied,
                "\(what) may not be connected to (--allow-addresses, --deny-addresses)")
        }
    }

    // MARK: Results

    /// The rules by which sockets are checked.
    var addresses: LoadAddresses {
        LoadAddresses(policy, rules: hosts.withLock { $0.mapValues(rule) })
    }

    /// Returns the rule for a URL beside the policy; nil for a host that was not admitted.
    func rule(of url: String) -> LoadAddresses.Rule? {
        LoadAllowance.host(of: url).flatMap { name in hosts.withLock { $0[name] } }.map(rule)
    }

    private func rule(_ host: Host) -> LoadAddresses.Rule {
        LoadAddresses.Rule(
            hasPublic: host.has(LoadAddresses.isPublic),
            hasPrivate: host.has { !LoadAddresses.isPublic($0) },
            blocks: host.isNamed ? nil : blocks)
    }

    /// Hosts with a public address, by name, each with the first.
    var publicHosts: [(host: String, address: String)] {
        hosts.withLock { $0 }.sorted { $0.key < $1.key }.compactMap { name, host in
            host.publicAddress.map { (name, $0) }
        }
    }
}
