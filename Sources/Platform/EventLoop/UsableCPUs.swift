internal import CLinux
internal import Glibc

/// The CPUs that this process may run on: those of its cpuset or `taskset`, which may be fewer than the
/// machine has.
package enum UsableCPUs {
    /// Their number when the process began, 1 or more.
    package static let count: Int = {
        let usable = Int(dray_usable_cpus())
        return usable > 0 ? usable : max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1)
    }()
}
