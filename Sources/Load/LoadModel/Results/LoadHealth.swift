/// Limits that show the generator as the bottleneck of a test.
package enum LoadHealth {
    /// A send is late when it is this long after its time, although a place was free.
    package static let lateSeconds = 0.010
    /// Of the cores that its loops have, from which on it is said to be the limit.
    package static let mostCPUShare = 0.85
    /// Of all sends, from which on late ones are worth a warning.
    package static let mostLateShare = 0.001
    /// So many late sends happen to every generator: fewer are no sign of its limit.
    package static let fewLateSends: Int64 = 10
}
