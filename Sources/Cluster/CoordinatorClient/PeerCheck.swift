internal import Curl
internal import Glibc
internal import Model
internal import Services

/// Rejects coordinators on this machine that run as a user who must not get the token.
///
/// A loopback port belongs to the process that bound it first. So each new connection is checked
/// before anything is sent on it. Over https, the certificate identifies the server. Confined to
/// one loop.
struct PeerCheck {
    /// Users who may answer: this process's, root, the owner of the token's file and those that an
    /// operator named. Nil for any.
    let trusted: Set<UInt32>?
    private var admitted: Set<ConnectionEnds> = []

    /// Maximum number of remembered connections; a client has few.
    private static let maximumRemembered = 1_024

    /// - Parameter token: nil if there is nothing to protect.
    init(token: AccessToken?) {
        trusted =
            switch token?.coordinatorUsers {
            case .these(let users):
                users.union([geteuid(), 0]).union([token?.owner].compactMap(\.self))
            case .anyone, nil: nil
            }
    }

    /// Returns the reason not to send a request on `easy`'s connection; nil if it may be sent.
    mutating func rejection(of easy: CurlEasy, url: String) -> Failure? {
        guard let trusted, !url.lowercased().hasPrefix("https:") else { return nil }
        guard let ends = easy.ends else { return Self.failure(url, "has no address") }
        guard easy.openedConnection || !admitted.contains(ends) else { return nil }
        switch PeerOwner.find(ends) {
        case .user(let user) where trusted.contains(user): break
        // Another machine, or an address of this one that leads into a container.
        case .unlisted where !ends.peer.isLoopback: break
        case .user(let user):
            let names = trusted.sorted().map { accountName(of: $0) }.joined(separator: " or ")
            return Self.failure(
                url,
                "is a process of the user \(accountName(of: user)), not of \(names)")
        case .unlisted:
            return Self.failure(
                url,
                "is in another network namespace, so that its user is not known; name the coordinator by "
                    + "an address that is not loopback, or by https, or set DRAY_COORDINATOR_USER=any"
            )
        case .closed:
            return Failure(
                .clusterCoordinatorUnreachable,
                "\(Redaction.shown(url, limit: 2_000)): the connection was closed")
        }
        if admitted.count >= Self.maximumRemembered { admitted.removeAll() }
        admitted.insert(ends)
        return nil
    }

    private static func failure(_ url: String, _ reason: String) -> Failure {
        Failure(
            .clusterForeignCoordinator,
            "\(Redaction.shown(url, limit: 2_000)): what answers there \(reason). No token was sent"
        )
    }
}
