internal import Curl
package import LoadTest
internal import Transfer

extension LoadScenario {
    /// Hosts of its URLs that have an address of the public Internet as this machine sees them, by name, each
    /// with the first of them; and those that it cannot look up, which others may.
    package func publicHosts(
        with lookup: any HostLookup = SystemHostLookup()
    ) async -> [(host: String, address: String)] {
        var hosts: Set<String> = []
        for target in targets {
            guard case .url(let url, _) = target.source, let host = LoadAllowance.host(of: url)
            else { continue }
            hosts.insert(host)
        }
        let policy = AddressPolicy(allowsPrivate: false)
        var found: [(host: String, address: String)] = []
        for host in hosts.sorted() {
            switch await lookup.addresses(of: host) {
            case .success(let addresses):
                let address = addresses.first { PeerAddress($0).map(policy.admits) ?? false }
                if let address { found.append((host, address)) }
            case .failure: found.append((host, "not known here"))
            }
        }
        return found
    }
}
