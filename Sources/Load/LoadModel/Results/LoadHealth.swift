/// Limits that show the generator as the bottleneck of a test.
package enum LoadHealth {
    /// A send is late if it is this much after its time although a slot was free.
    package static let lateSeconds = 0.010
    /// Utilization of the loops' cores above which the generator counts as the bottleneck.
    package static let maxCPUShare = 0.85
    /// Ratio of late sends to all sends above which a warning is shown.
    package static let maxLateShare = 0.001
    /// Fewer late sends occur with every generator and do not show its limit.
    package static let fewLateSends: Int64 = 10
}
