package import Curl
internal import LoadModel
internal import Model
package import Transfer

/// Which addresses a test's requests may connect to, judged on the socket itself.
///
/// Of a host that was looked up before the test only the kind of address that it had then: one that was private is
/// not public later, and the other way round, and one that was admitted by a block does not leave it. A host that
/// was not looked up is not connected to.
package struct LoadAddresses: Sendable {
    /// What a host's name led to.
    struct Rule: Sendable, Hashable {
        var hasPublic = false
        var hasPrivate = false
        /// Those that admitted it; nil for one that was admitted by its name.
        var blocks: [AddressBlock]?

        func admits(_ address: PeerAddress) -> Bool {
            guard LoadAddresses.isPublic(address) ? hasPublic : hasPrivate else { return false }
            return blocks?.contains { $0.contains(address) } ?? true
        }
    }

    package let policy: AddressPolicy
    /// By host; nil for any.
    private let rules: [String: Rule]?
    /// That of all hosts, where they have the same.
    private let common: Rule?

    /// Any host, as the policy says.
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

    /// Whether a request for a URL may go to an address.
    package func admits(_ address: PeerAddress, for url: String) -> Bool {
        refusal(of: address, for: url) == nil
    }

    /// Why a request for a URL may not go to an address; nil where it may.
    func refusal(of address: PeerAddress, for url: String) -> FailureCode? {
        if let failure = policy.refusal(of: address) { return failure.code }
        guard let rules else { return nil }
        let rule = common ?? LoadAllowance.host(of: url).flatMap { rules[$0] }
        return rule?.admits(address) == true ? nil : "origin.addressNotOfTarget"
    }

    private static let publicOnly = AddressPolicy(allowsPrivate: false)

    /// Whether it is of the public Internet.
    static func isPublic(_ address: PeerAddress) -> Bool { publicOnly.admits(address) }
}
