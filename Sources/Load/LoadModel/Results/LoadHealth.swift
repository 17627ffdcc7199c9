/// Limits that show the generator as the bottleneck of a test.
package enum LoadHealth {
    /// A send is late if it is this much after its time although a slot was free.
    package static let lateSeconds = 0.010
    /// Utilization of the loops' cores above which the generator counts as the bottleneck.
    package static let maxCPUShare = 0.85
    /// Utilization of the loops' cores below which late sends are not the generator's own doing:
    /// other work on its machine took the CPU.
    package static let minLateCPUShare = 0.5
    /// Ratio of late sends to all sends above which a warning is shown.
    package static let maxLateShare = 0.001
    /// Fewer late sends occur with every generator and do not show its limit.
    package static let fewLateSends: Int64 = 10
    /// Fewer failures in the warm-up, or a smaller share of it, are not worth a warning.
    package static let (fewWarmUpFailures, maxWarmUpFailureShare) = (Int64(10), 0.001)
}
