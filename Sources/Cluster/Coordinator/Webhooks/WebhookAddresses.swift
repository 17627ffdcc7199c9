import Curl
import Model
import Services
import Transfer

/// Checks where a webhook's events would be sent, before it is created or changed.
///
/// Each coordinator sends with a policy of its own, and checks each connection again: a name may lead
/// elsewhere later.
struct WebhookAddresses: Sendable {
    let policy: AddressPolicy

    private static let lookupSeconds = 5.0

    /// Throws the policy's rejection if it admits none of the addresses of a URL's host. A host that
    /// cannot be resolved now is accepted, because it may be later.
    func check(_ url: String) async throws(Failure) {
        guard let host = Self.host(of: url) else { return }
        let addresses: [PeerAddress]
        if let literal = PeerAddress(host) {
            addresses = [literal]
        } else {
            let found = await result(atMost: .seconds(Self.lookupSeconds)) {
                await SystemHostLookup().addresses(of: host)
            }
            addresses = ((try? found?.get()) ?? []).compactMap { PeerAddress($0) }
        }
        var first: Failure?
        for address in addresses {
            guard let rejection = policy.rejection(of: address) else { return }
            first = first ?? rejection
        }
        guard let first else { return }
        throw first.with(message: "url: \(first.message)").with(hint: Self.hint(first.code))
    }

    private static func hint(_ code: FailureCode) -> String {
        switch code {
        case .originAddressDenied:
            "Start each `dray coordinator`, or `dray up`, with --allow-addresses of the block in the "
                + "message, or use a public address."
        case .originAddressBlocked:
            "Remove the block that the message names from --deny-addresses or DRAY_DENY_ADDRESSES of "
                + "each `dray coordinator`, or use another address."
        default: code.row.hint
        }
    }

    private static func host(of url: String) -> String? {
        guard let origin = originName(of: url, allowsUserInfo: false) else { return nil }
        let authority = origin.drop { $0 != "/" }.dropFirst(2)
        if authority.hasPrefix("[") { return String(authority.dropFirst().prefix { $0 != "]" }) }
        return String(authority.prefix { $0 != ":" })
    }
}
