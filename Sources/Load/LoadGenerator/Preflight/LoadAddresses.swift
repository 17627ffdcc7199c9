package import Curl
internal import LoadModel
internal import Model
package import Transfer

/// The addresses that a test's requests may connect to, checked on the socket.
///
/// A host that was looked up before the test keeps its kind of address: private ones may not become
/// public, nor public ones private. A host admitted by a block must stay in it. Hosts that were not
/// looked up are denied.
package struct LoadAddresses: Sendable {
    /// The addresses found for a host's name.
    struct Rule: Sendable, Hashable {
        var hasPublic = false
        var hasPrivate = false
        /// Blocks that admitted it; nil for a host admitted by its name.
        var blocks: [AddressBlock]?

        func admits(_ address: PeerAddress) -> Bool {
            guard LoadAddresses.isPublic(address) ? hasPublic : hasPrivate else { return false }
            return blocks?.contains { $0.contains(address) } ?? true
        }
    }

    package let policy: AddressPolicy
    /// By host; nil allows every host.
    private let rules: [String: Rule]?
    /// The rule of all hosts, if they have the same.
    private let common: Rule?

    /// Allows every host, subject to the policy.
    package init(_ policy: AddressPolicy = AddressPolicy()) {
        self.policy = policy
        rules = nil
        common = nil
    }

    init(_ policy: AddressPolicy, rules: [String: Rule]) {
        self.policy = policy
        self.rules = rules
        let kinds = Set(rules.values)
        common = kinds.count == 1 ? kinds.first : nil
    }

    /// Returns true if a request for a URL may connect to an address.
    package func admits(_ address: PeerAddress, for url: String) -> Bool {
        rejection(of: address, for: url) == nil
    }

    /// Returns the failure for which a request for a URL may not connect to an address; nil if it
    /// may.
    func rejection(of address: PeerAddress, for url: String) -> FailureCode? {
        if let failure = policy.rejection(of: address) { return failure.code }
        guard let rules else { return nil }
        let rule = common ?? LoadAllowance.host(of: url).flatMap { rules[$0] }
        return rule?.admits(address) == true ? nil : .originAddressNotOfTarget
    }

    /// Returns true if a URL's host was admitted before the test.
    func hasHost(of url: String) -> Bool {
        guard let rules else { return true }
        return LoadAllowance.host(of: url).map { rules[$0] != nil } ?? false
    }

    private static let publicOnly = AddressPolicy(allowsPrivate: false)

    /// Returns true for an address of the public Internet.
    static func isPublic(_ address: PeerAddress) -> Bool { publicOnly.admits(address) }
}
