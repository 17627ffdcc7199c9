internal import Catalog
internal import Curl
internal import LoadTest
internal import Model
internal import Transfer

/// The hosts that a test's requests would go to, with their addresses.
struct LoadHosts: Sendable {
    private struct Host: Sendable {
        /// The first target that names it, and where.
        var label: String
        var url: String
        /// As literals; empty before it was looked up.
        var addresses: [String] = []
    }

    private let policy: AddressPolicy
    private let allowance: LoadAllowance
    private var hosts: [String: Host] = [:]
    private static let publicOnly = AddressPolicy(allowsPrivate: false)

    init(_ policy: AddressPolicy, _ allowance: LoadAllowance) {
        self.policy = policy
        self.allowance = allowance
    }

    mutating func add(_ url: String, _ label: String) {
        guard let host = LoadAllowance.host(of: url), hosts[host] == nil else { return }
        hosts[host] = Host(label: label, url: url)
    }

    /// Looks up those that were not yet.
    ///
    /// Fails with `input.target` for one that has no address, or one that may not be connected to.
    mutating func lookUp(with lookup: any HostLookup, atOnce: Int) async throws(Failure) {
        // What may not be asked is not looked up either, unless an address could admit it.
        let waiting = hosts.filter {
            $0.value.addresses.isEmpty
                && (allowance.admits($0.key) || !allowance.blocks.isEmpty)
        }.keys.sorted()
        for start in stride(from: 0, to: waiting.count, by: atOnce) {
            let some = waiting[start..<min(start + atOnce, waiting.count)]
            let results = await withTaskGroup(of: (String, Result<[String], Failure>).self) {
                group in
                for host in some {
                    group.addTask { (host, await lookup.addresses(of: host)) }
                }
                return await group.reduce(into: [String: Result<[String], Failure>]()) {
                    $0[$1.0] = $1.1
                }
            }
            for host in some { try take(results[host], of: host) }
        }
    }

    private mutating func take(
        _ result: Result<[String], Failure>?, of name: String
    ) throws(Failure) {
        guard let host = hosts[name], let result else { return }
        let addresses: [String]
        do throws(Failure) { addresses = try result.get() } catch {
            throw Failure("input.target", "\(host.label): \(error.code): \(error.message)")
        }
        let usable = addresses.filter { PeerAddress($0).map(policy.admits) ?? false }
        guard !usable.isEmpty else {
            throw Failure(
                "input.target",
                "\(host.label): \(name) is \(addresses.first ?? ""), which may not be connected to")
        }
        hosts[name]?.addresses = usable
    }

    func addresses(of host: String) -> [String] { hosts[host]?.addresses ?? [] }

    /// Refuses hosts that are no target's and that `allow` does not admit, by name or by all addresses.
    func checkAllowed() throws(Failure) {
        var blocks: [AddressBlock] = []
        for text in allowance.blocks {
            do throws(Failure) { blocks.append(try AddressBlock(text)) } catch {
                throw Failure("input.field", "field allow: \(error.message)")
            }
        }
        for (name, host) in hosts.sorted(by: { $0.key < $1.key }) where !allowance.admits(name) {
            let isInside =
                !host.addresses.isEmpty
                && host.addresses.allSatisfy { address in
                    guard let address = PeerAddress(address) else { return false }
                    return blocks.contains { $0.contains(address) }
                }
            if isInside { continue }
            throw Failure(
                "input.target",
                "\(host.label) names \(Redaction.shown(host.url)): the host is no target's; allow it "
                    + "with \"allow\": [\"\(name)\"]")
        }
    }

    // MARK: What they are

    /// Whether one of them has an address that is not of the public Internet.
    var hasPrivate: Bool {
        hosts.values.contains { $0.addresses.contains { !Self.isPublic($0) } }
    }

    /// By name, each with its first public address.
    var publicHosts: [(host: String, address: String)] {
        hosts.sorted { $0.key < $1.key }.compactMap { name, host in
            host.addresses.first(where: Self.isPublic).map { (name, $0) }
        }
    }

    private static func isPublic(_ address: String) -> Bool {
        PeerAddress(address).map(publicOnly.admits) ?? false
    }
}
