import Glibc

/// The limit on this process's open descriptors.
package enum OpenFiles {
    /// The soft and the hard limit; the largest number for none.
    package static var limits: (soft: UInt64, hard: UInt64) {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return (0, 0)
        }
        return (UInt64(limit.rlim_cur), UInt64(limit.rlim_max))
    }

    /// Raises the soft limit to the hard one, 65,536 at most, and returns it.
    ///
    /// A worker has a descriptor open for each object that waits for its batch, and many systems
    /// start processes with a soft limit of 1,024.
    @discardableResult
    package static func raiseLimit() -> UInt64 {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 0 }
        let wanted = min(limit.rlim_max, 65_536)
        guard limit.rlim_cur < wanted else { return UInt64(limit.rlim_cur) }
        let before = limit.rlim_cur
        limit.rlim_cur = wanted
        return UInt64(setrlimit(resource, &limit) == 0 ? wanted : before)
    }
}
