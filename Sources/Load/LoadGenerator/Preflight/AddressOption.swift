package import Model

/// An option of the address policy that keeps a preflight from an address.
package enum AddressOption: String, Sendable {
    /// No block of it admits the address.
    case allow = "--allow-addresses"
    /// A block of it denies the address.
    case deny = "--deny-addresses"

    /// Returns nil for the code of another failure.
    package init?(rejection code: FailureCode) {
        switch code {
        case .originAddressDenied: self = .allow
        case .originAddressBlocked: self = .deny
        default: return nil
        }
    }
}
