internal import Dispatch
internal import Glibc
package import Model

/// Looks up the addresses of hosts, before anything is sent there.
package protocol HostLookup: Sendable {
    // Results instead of typed throws: an async function with typed throws called through a
    // protocol returns a wrong value (Swift 6.3, optimized).

    /// Returns a host's addresses as literals, in the resolver's order, at least one. Fails with
    /// `origin.dns`.
    func addresses(of host: String) async -> Result<[String], Failure>
}

/// The system's resolver; blocking calls run on their own threads.
package struct SystemHostLookup: HostLookup {
    private static let queue = DispatchQueue(label: "dray.lookup", attributes: .concurrent)

    package init() {}

    package func addresses(of host: String) async -> Result<[String], Failure> {
        await Self.blocking { () throws(Failure) in
            var hints = addrinfo()
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
            hints.ai_flags = AI_ADDRCONFIG
            var found: UnsafeMutablePointer<addrinfo>?
            let code = getaddrinfo(host, nil, &hints, &found)
            guard code == 0 else {
                throw Failure(.originDNS, "\(host): \(String(cString: gai_strerror(code)))")
            }
            defer { freeaddrinfo(found) }
            var addresses: [String] = []
            var next = found
            while let info = next {
                var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
                let isText = getnameinfo(
                    info.pointee.ai_addr, info.pointee.ai_addrlen, &text, socklen_t(text.count),
                    nil,
                    0, NI_NUMERICHOST)
                let literal = String(
                    decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                if isText == 0, !addresses.contains(literal) { addresses.append(literal) }
                next = info.pointee.ai_next
            }
            guard !addresses.isEmpty else { throw Failure(.originDNS, "\(host) has no address") }
            return addresses
        }
    }

    private static func blocking<Value: Sendable>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async -> Result<Value, Failure> {
        await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(returning: Result { () throws(Failure) in try body() })
            }
        }
    }
}
