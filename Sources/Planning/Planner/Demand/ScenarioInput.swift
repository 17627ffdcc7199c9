/// A number of a plan's scenario; `ScenarioInput.table` describes each one.
package enum ScenarioInput: Int, CaseIterable, Sendable {
    case monthlyActiveUsers, dailyActiveShare, dailyActiveUsers, peakShare, peakConcurrentUsers
    case audienceGrowth, peakToMean, rampMinutes, userMegabits
    case minutesPerDay, segmentSeconds, tracks
    case kilobitsPerSecond, width, height, framesPerSecond, bitsPerPixel, compression
    case titles, minutesPerTitle, catalogGigabytes, changePerDay, newTitleFactor, zipfExponent
    case catalogGrowth
    case deadlineHours, fillSegmentBytes
    case sites, storedShare, hitRatio, storageFreeShare, storageGigabytes
    case edgeCores, edgeMegabits, edgeRequestsPerCore, edgeCPUPerGigabyte
    case diskGigabytes, diskMegabytes
    case meanRequests, peakRequests, requestBytes
    case originConnections, originRequests, originMegabits, originLatency, connectionMegabits
    case machineCores, nicMegabits, memoryGigabytes
    case workerCores, connections, cpuPerGigabyte, cpuPerSegment, connectionEfficiency
    case serviceSeconds, segmentsPerSecond, measuredBytes, secondsPerGigabyte
    case workerMegabits
    case bootSeconds, serviceCV2, arrivalCV2, contention, coherency, attempts
    case waitSeconds, percentile, dispatchSeconds, dispatchMedian
    case headroom, spareWorkers, hoursBetweenFailures, startSeconds
    case databaseCores, databaseCPUPerSegment, walPerSegment, diskPerSegment
    case coordinatorCPUPerSegment, coordinatorCores
    case loadTestHours

    package var row: Row { Self.table[rawValue] }

    /// The default of an input.
    package enum Standard: Hashable, Sendable {
        case value(Estimate)
        /// No value; the text describes it: `no limit`, or its derivation.
        case none(String)
    }

    /// Describes an input.
    package struct Row: Sendable {
        package let input: ScenarioInput
        /// Path in a scenario: `audience.monthlyActiveUsers`.
        package let path: String
        /// Unit; empty for a share or a count.
        package let unit: String
        package let allowed: ClosedRange<Double>
        package let isWhole: Bool
        package let standard: Standard
        /// Source of the default.
        package let source: String
        /// Its meaning, one line.
        package let help: String
    }

    package static func named(_ path: String) -> ScenarioInput? { byPath[path] }

    private static let byPath = Dictionary(
        uniqueKeysWithValues: table.map { ($0.path, $0.input) })
}
