/// Erlang's formulas for servers with one queue, Poisson arrivals and exponential service.
///
/// Both take time proportional to the square root of the load, not to the number of servers. The
/// relative error is below 1e-10 up to a million servers.
package enum Erlang {
    /// Returns the probability that all servers are busy if blocked arrivals leave (Erlang B).
    ///
    /// `load` in erlangs, 0 or more; `servers` 0 or more. Returns 0 below about 1e-308.
    ///
    /// Its reciprocal is the sum over k of c/a · (c−1)/a · … · (c−k+1)/a. All terms are positive,
    /// so nothing cancels, and they decrease as soon as c−k is below the load (Jagerman, "Some
    /// properties of the Erlang loss function", 1974).
    package static func blocking(servers: Int, load: Double) -> Double {
        precondition(servers >= 0 && load >= 0)
        guard servers > 0 else { return 1 }
        guard load > 0 else { return 0 }
        var sum = 1.0
        var term = 1.0
        var left = Double(servers)
        while left > 0 {
            term *= left / load
            sum += term
            // From here on terms fall faster than those of a geometric series with this ratio.
            if left < load, term * load < sum * 1e-18 * (load - left) { break }
            if sum == .infinity { return 0 }
            left -= 1
        }
        return 1 / sum
    }

    /// Returns the probability that an arrival waits if all wait (Erlang C); 1 if the load is at
    /// least the number of servers.
    package static func waiting(servers: Int, load: Double) -> Double {
        let spare = Double(servers) - load
        guard spare > 0 else { return 1 }
        let blocked = blocking(servers: servers, load: load)
        return Double(servers) * blocked / (spare + load * blocked)
    }
}
