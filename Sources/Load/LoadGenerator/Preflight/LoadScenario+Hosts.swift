internal import Curl
package import LoadModel
package import Transfer

extension LoadScenario {
    /// Returns the hosts that its requests may go to, as seen from this machine: those of its URLs
    /// and those that `allow` admits. Hosts in manifests are not known here.
    ///
    /// - Returns: in `open` hosts with a public address, by name, each with the first, and hosts
    ///   that cannot be looked up here. In `closed` names that have none.
    package func hosts(
        with lookup: any HostLookup = SystemHostLookup()
    ) async -> (open: [(host: String, address: String)], closed: [String]) {
        var hosts: Set<String> = []
        var found: [(host: String, address: String)] = []
        var closed: [String] = []
        for target in targets {
            let url: String
            switch target.source {
            case .url(let one, _): url = one
            case .replay(let replay): url = replay.serverURL
            case .object(_, let signedURL):
                guard let signedURL else { continue }
                url = signedURL
            case .list: continue
            }
            if let host = LoadAllowance.host(of: url) { hosts.insert(host) }
        }
        for entry in allow.sorted() {
            if LoadAllowance.isAddress(entry) {
                let isPrivate = (try? AddressBlock(entry))?.isWholly { !LoadAddresses.isPublic($0) }
                if isPrivate != true { found.append((entry, "addresses")) }
            } else if entry.hasPrefix("*") {
                found.append((entry, "any of these names"))
            } else {
                hosts.insert(entry)
            }
        }
        for host in hosts.sorted() {
            switch await lookup.addresses(of: host) {
            case .success(let addresses):
                let address = addresses.first {
                    PeerAddress($0).map(LoadAddresses.isPublic) ?? false
                }
                if let address {
                    found.append((host, address))
                } else if PeerAddress(host) == nil {
                    closed.append(host)
                }
            case .failure: found.append((host, "not known here"))
            }
        }
        return (found.sorted { $0.host < $1.host }, closed)
    }
}
