extension ScenarioInput {
    /// All inputs in the order of the cases; `docs/planning.md` has the same table.
    package static let table: [Row] =
        audience + viewing + media + catalog + edge + origin + pool + cluster

    private static func row(
        _ input: ScenarioInput, _ path: String, _ unit: String, _ allowed: ClosedRange<Double>,
        _ standard: Standard, whole: Bool = false, _ help: String, source: String = "assumption"
    ) -> Row {
        Row(
            input: input, path: path, unit: unit, allowed: allowed, isWhole: whole,
            standard: standard, source: source, help: help)
    }

    private static func range(_ low: Double, _ likely: Double, _ high: Double) -> Standard {
        .value(Estimate(low: low, likely: likely, high: high))
    }

    private static func exact(_ value: Double) -> Standard { .value(Estimate(value)) }

    private static let audience: [Row] = [
        row(
            .monthlyActiveUsers, "audience.monthlyActiveUsers", "users", 1...1e10,
            range(500, 1_000, 2_000), "Users who are active at least once a month.",
            source: "rule of thumb for the first months; range assumed"),
        row(
            .dailyActiveShare, "audience.dailyActiveShare", "", 0.0001...1,
            range(0.3, 0.5, 0.6), "Share of them who are active on a day (stickiness).",
            source: "Xu, System Design Interview (0.5); Steam 2020 (0.52); range assumed"),
        row(
            .dailyActiveUsers, "audience.dailyActiveUsers", "users", 1...1e10,
            .none("monthlyActiveUsers × dailyActiveShare"), "Users who are active on a day."),
        row(
            .peakShare, "audience.peakShare", "", 0.0001...1,
            .none("minutesPerDay / 1,440 × peakToMean"),
            "Share of a day's users who watch at the same time at the peak."),
        row(
            .peakConcurrentUsers, "audience.peakConcurrentUsers", "users", 1...1e10,
            .none("dailyActiveUsers × peakShare"), "Maximum number of concurrent users."),
        row(
            .audienceGrowth, "audience.growthPerMonth", "", -0.5...1, range(0, 0.05, 0.1),
            "Growth of the audience per month: 0.05 is 5 %."),
        row(
            .peakToMean, "audience.peakToMean", "", 1...100, range(2, 2.5, 3),
            "Peak load divided by the day's mean load. If peakShare or peakConcurrentUsers sets "
                + "the peak of viewers, it follows from that.",
            source: "Conviva, TV-Scale Peak Concurrent Plays: provision for 2 to 3 times the usual "
                + "concurrent viewers"),
        row(
            .rampMinutes, "audience.rampMinutes", "min", 1...1_440, range(15, 60, 180),
            "Time for the load to rise from the mean to the peak."),
        row(
            .userMegabits, "audience.megabitsPerSecond", "Mbit/s", 0.01...1e6,
            range(20, 100, 300),
            "Bandwidth of a user who downloads; determines concurrent users of services without playback."
        ),
    ]

    private static let viewing: [Row] = [
        row(
            .minutesPerDay, "viewing.minutesPerDay", "min", 0...1_440, range(42, 99, 190),
            "Minutes watched by a daily user.",
            source: "Techgaged, July 2025: 11 h 34 min online video a week, 4 h 57 min of it not "
                + "short; Prolific 2022: a little over 3 h a day"),
        row(
            .segmentSeconds, "viewing.segmentSeconds", "s", 0.1...3_600, range(4, 6, 10),
            "Length of a media segment.",
            source: "Apple, HLS authoring specification: 6 s; range assumed"),
        row(
            .tracks, "viewing.tracks", "", 1...10, range(1, 2, 2), whole: true,
            "Requests per segment: 2 with separate audio."),
    ]

    private static let media: [Row] = [
        row(
            .kilobitsPerSecond, "media.kilobitsPerSecond", "kbit/s", 0.001...1e8,
            .none("mean of the ladder's upper half; low: of all of it; high: the top"),
            "Average bit rate that viewers get; what is stored is the ladder."),
        row(
            .width, "media.width", "pixels", 16...16_384, .none("a ladder is used"), whole: true,
            "Picture width, instead of a ladder."),
        row(
            .height, "media.height", "pixels", 16...16_384, .none("a ladder is used"), whole: true,
            "Picture height."),
        row(
            .framesPerSecond, "media.framesPerSecond", "", 0.1...1_000, exact(25),
            "Frames per second of that picture."),
        row(
            .bitsPerPixel, "media.bitsPerPixel", "bit", 1...96, exact(24), whole: true,
            "Bits per pixel before coding."),
        row(
            .compression, "media.compression", "", 1...100_000, .none("by the codec"),
            "Uncompressed bit rate divided by coded bit rate."),
    ]

    private static let catalog: [Row] = [
        row(
            .titles, "catalog.titles", "", 1...1e9, range(200, 1_000, 5_000), whole: true,
            "Titles to store at the edge."),
        row(
            .minutesPerTitle, "catalog.minutesPerTitle", "min", 0.01...100_000,
            range(25, 60, 110), "Length of a title."),
        row(
            .catalogGigabytes, "catalog.gigabytes", "GB", 0.001...1e9,
            .none("titles × minutesPerTitle × the ladder's sum"),
            "Size of the catalog, all renditions."),
        row(
            .changePerDay, "catalog.changePerDay", "", 0...1, range(0.005, 0.02, 0.05),
            "Share of the catalog that is new or changed each day."),
        row(
            .newTitleFactor, "catalog.newTitleFactor", "", 0...1_000, range(1, 2, 5),
            "Requests for a new or changed title, divided by those for a title on average."),
        row(
            .zipfExponent, "catalog.zipfExponent", "", 0...3, range(0.6, 0.8, 1.2),
            "Exponent of Zipf's law for the popularity of titles.",
            source: "Breslau et al., INFOCOM 1999: 0.6 to 1; Cha et al., IMC 2007, video: 0.8 to "
                + "1.2"
        ),
        row(
            .catalogGrowth, "catalog.growthPerMonth", "", -0.5...1, range(0, 0.02, 0.05),
            "Growth of the catalog per month."),
        row(
            .deadlineHours, "fill.deadlineHours", "h", 0.01...168, exact(6),
            "Hours to bring the day's changes to the edge; more than 24 count as 24."),
        row(
            .fillSegmentBytes, "fill.bytesPerFetch", "B", 1_000...1e13,
            .none("from the ladder and viewing.segmentSeconds"), "Bytes of a fetch of the fill."),
    ]

    private static let edge: [Row] = [
        row(
            .sites, "edge.sites", "", 1...100_000, exact(1), whole: true,
            "Sites that each hold the catalog, or storedShare of it."),
        row(
            .storedShare, "edge.storedShare", "", 0.0001...1, exact(1),
            "Share of the catalog that each site stores, the most popular titles first."),
        row(
            .hitRatio, "edge.hitRatio", "", 0...1,
            .none("from storedShare, zipfExponent, changePerDay and newTitleFactor"),
            "Share of requests that the edge answers from its storage."),
        row(
            .storageFreeShare, "edge.storageFreeShare", "", 0...0.9, range(0.1, 0.2, 0.3),
            "Share of the edge's storage to keep free."),
        row(
            .storageGigabytes, "edge.storageGigabytes", "GB", 0.001...1e12,
            .none("what the plan needs"), "Storage of all sites together."),
        row(
            .edgeCores, "edge.cores", "", 1...4_096,
            .none("4, 16, 32 or 64 with 1, 10, 25 or 100 Gbit/s"), whole: true,
            "CPU cores of an edge server."),
        row(
            .edgeMegabits, "edge.nicMegabitsPerSecond", "Mbit/s", 1...1e7,
            .none("the lowest of 1, 10, 25 and 100 Gbit/s that needs at most 4 servers a site"),
            "Bandwidth of an edge server's network interface."),
        row(
            .edgeRequestsPerCore, "edge.requestsPerCoreSecond", "1/s", 1...1e7,
            range(5_000, 10_000, 20_000),
            "Requests per second that one core of an edge server answers.",
            source: "docs/performance.md: 42,000/s of 64 KiB by nginx with its client on 2 cores, "
                + "without TLS; half of a core's share taken"),
        row(
            .edgeCPUPerGigabyte, "edge.cpuSecondsPerGigabyte", "s", 0...1_000,
            range(0.3, 0.8, 2),
            "CPU time of an edge server to send a gigabyte with TLS.",
            source: "Netflix, EuroBSDCon 2021: 240 Gbit/s with TLS in software by 32 cores, at "
                + "most 1.07 s a GB; nginx without kernel TLS needs more; range assumed"),
        row(
            .diskGigabytes, "edge.diskGigabytes", "GB", 1...1e6, exact(3_840),
            "Capacity of one of an edge server's disks (NVMe)."),
        row(
            .diskMegabytes, "edge.diskMegabytesPerSecond", "MB/s", 1...1e6,
            range(1_000, 2_000, 3_000),
            "Bytes per second that one disk reads while others are written."),
        row(
            .meanRequests, "edge.meanRequestsPerSecond", "1/s", 0...1e9,
            .none("from the audience and its viewing"),
            "Measured requests per second, average of the day."),
        row(
            .peakRequests, "edge.peakRequestsPerSecond", "1/s", 0...1e9,
            .none("from the audience and its viewing"),
            "Measured requests per second at the peak."),
        row(
            .requestBytes, "edge.bytesPerRequest", "B", 0...1e12,
            .none("from the audience and its viewing"),
            "Measured average bytes of an answer."),
    ]

    private static let origin: [Row] = [
        row(
            .originConnections, "origin.connections", "", 1...1e7, .none("no limit"), whole: true,
            "Connections that the origin allows."),
        row(
            .originRequests, "origin.requestsPerSecond", "1/s", 0.001...1e9, .none("no limit"),
            "Requests per second that the origin allows."),
        row(
            .originMegabits, "origin.megabitsPerSecond", "Mbit/s", 0.001...1e9, .none("no limit"),
            "Bandwidth that the origin allows."),
        row(
            .originLatency, "origin.latencyMilliseconds", "ms", 0...60_000, range(20, 50, 150),
            "Time to the first byte from the origin.",
            source: "docs/performance.md, An origin with latency: measured with 50 ms; range "
                + "assumed"),
        row(
            .connectionMegabits, "origin.megabitsPerConnection", "Mbit/s", 0.001...1e6,
            range(20, 100, 500), "Bandwidth of one connection to the origin."),
    ]

    private static let pool: [Row] = [
        row(
            .machineCores, "machine.cores", "", 1...4_096, exact(4), whole: true,
            "CPU cores of a machine.", source: "the machines that the price files price"),
        row(
            .nicMegabits, "machine.nicMegabitsPerSecond", "Mbit/s", 1...1e7, exact(1_000),
            "Bandwidth of a machine's network interface, in each direction."),
        row(
            .memoryGigabytes, "machine.memoryGigabytes", "GB", 0.25...100_000, exact(16),
            "Memory of a machine.", source: "the machines that the price files price"),
        row(
            .workerCores, "worker.cores", "", 0.1...64,
            .none("all of the machine's: one event loop a core"),
            "CPU cores of a worker."),
        row(
            .connections, "worker.connections", "", 1...1_000, exact(32), whole: true,
            "Concurrent transfers of a worker.", source: "dray worker's default"),
        row(
            .cpuPerGigabyte, "worker.cpuSecondsPerGigabyte", "s", 0.001...10_000,
            range(2, 2.17, 2.55), "CPU time to receive, hash and store a gigabyte.",
            source: "docs/performance.md, engine: 2.17 s a GB of 64 KiB files, 2.0 and 2.55 s on "
                + "other days and sizes; without TLS"),
        row(
            .cpuPerSegment, "worker.cpuMicrosecondsPerSegment", "µs", 0...1e9, range(10, 31, 80),
            "CPU time per segment, in addition to the time for its bytes.",
            source: "docs/performance.md: prefetch less engine less PostgreSQL's third, a file; "
                + "range assumed"),
        row(
            .connectionEfficiency, "worker.connectionEfficiency", "", 0.01...1,
            range(0.931, 0.945, 0.976), "Achieved share of connections / latency.",
            source: "docs/performance.md, An origin with latency: measured"),
        row(
            .serviceSeconds, "worker.serviceSeconds", "s", 1e-6...86_400,
            .none("latency + bytes / megabitsPerConnection"),
            "Measured time of one transfer."),
        row(
            .segmentsPerSecond, "worker.segmentsPerSecond", "1/s", 1e-6...1e7,
            .none("from connections, CPU and network, whichever is the bottleneck"),
            "Measured segments per second of a single worker."),
        row(
            .measuredBytes, "worker.measuredBytes", "B", 0...1e12,
            .none("the plan's segment size"),
            "Segment size of these two measurements."),
        row(
            .secondsPerGigabyte, "worker.secondsPerGigabyte", "s", 0...1e6,
            .none("from connections, CPU and network, whichever is the bottleneck"),
            "Measured time per additional gigabyte of a worker."),
        row(
            .workerMegabits, "worker.megabitsPerSecond", "Mbit/s", 0.001...1e7,
            .none("its share of the machine's network"),
            "Measured bandwidth that a worker does not exceed."),
        row(
            .bootSeconds, "worker.bootSeconds", "s", 0...86_400, range(10, 30, 120),
            "Time from requesting a worker to its first transfer."),
        row(
            .serviceCV2, "worker.serviceCV2", "", 0...100, range(0.5, 1, 2),
            "Squared coefficient of variation of fetch times.",
            source: "exponential where nothing was measured; range assumed"),
        row(
            .arrivalCV2, "onDemand.arrivalCV2", "", 0...100, range(1, 1, 2),
            "Squared coefficient of variation of the times between arrivals.",
            source: "Poisson where nothing was measured; range assumed"),
        row(
            .contention, "worker.contention", "", 0...1, range(0, 0.000_5, 0.005),
            "α of the Universal Scalability Law, over workers.",
            source: "assumption: the plan calculates the database separately; --calibrate "
                + "measures it"),
        row(
            .coherency, "worker.coherency", "", 0...1, range(0, 0, 1e-7),
            "β of the Universal Scalability Law, over workers."),
        row(
            .attempts, "worker.attemptsPerSegment", "", 1...10, range(1, 1.01, 1.05),
            "Average attempts per segment."),
        row(
            .waitSeconds, "onDemand.waitSeconds", "s", 0.001...86_400, exact(1),
            "Maximum wait before an on-demand fetch starts."),
        row(
            .percentile, "onDemand.percentile", "", 0.5...0.999_999, exact(0.95),
            "Share of on-demand fetches that start within that wait."),
        row(
            .dispatchSeconds, "onDemand.dispatchSeconds", "s", 0...3_600,
            range(0.018_4, 0.019_6, 0.025_7),
            "99th percentile of the time from a job's submission to an idle worker.",
            source: "docs/queue.md: wake-up of an idle worker, p99, least and on a slow day"),
        row(
            .dispatchMedian, "onDemand.dispatchMedianSeconds", "s", 0...3_600, exact(0.007_2),
            "Median of the same time.", source: "docs/queue.md: wake-up of an idle worker, p50"),
        row(
            .headroom, "pool.headroom", "", 0...0.9, exact(0.3),
            "Share of capacity to keep unused at the peak."),
        row(
            .spareWorkers, "pool.spareWorkers", "", 0...10_000, exact(1), whole: true,
            "Workers that may fail at the same time: 1 for N+1."),
        row(
            .hoursBetweenFailures, "pool.hoursBetweenFailures", "h", 0.1...1e7,
            range(24, 720, 14_000), "Mean time from a worker's start to its failure.",
            source:
                "Barroso, Hölzle and Ranganathan, The Datacenter as a Computer (2018): over 95 % of "
                + "machines restart less often than once a month. Low: Google Cloud's preemptible "
                + "machines, a day. High: Amazon's Spot Instance Advisor, under 5 % a month"),
        row(
            .startSeconds, "pool.startSeconds", "s", 0...3_600, .none("0"),
            "With --check: time of a run before its first transfer and after its last."),
    ]

    private static let cluster: [Row] = [
        row(
            .databaseCores, "database.cores", "", 1...1_024, exact(4), whole: true,
            "CPU cores of the PostgreSQL server.", source: "the machines that the price files price"
        ),
        row(
            .databaseCPUPerSegment, "database.cpuMicrosecondsPerSegment", "µs", 0.1...1e6,
            range(11.6, 13.8, 22), "PostgreSQL's CPU time per segment, from job to result.",
            source: "docs/queue.md: 11.6 to 15.9 µs, on a slow day 1.6 times that"),
        row(
            .walPerSegment, "database.walBytesPerSegment", "B", 1...1e6, range(700, 900, 1_500),
            "Bytes of write-ahead log per segment."),
        row(
            .diskPerSegment, "database.diskBytesPerSegment", "B", 1...1e6, range(400, 500, 700),
            "Bytes of tables and indexes per segment."),
        row(
            .coordinatorCPUPerSegment, "coordinator.cpuMicrosecondsPerSegment", "µs", 0.1...1e6,
            range(3.8, 4.4, 7.8), "A coordinator's CPU time per segment.",
            source: "docs/queue.md: 3.8 to 4.9 µs, on a slow day 1.6 times that"),
        row(
            .coordinatorCores, "coordinator.cores", "", 0.1...64, exact(1),
            "CPU cores of a coordinator."),
        row(
            .loadTestHours, "money.loadTestHours", "h", 0...1_000, exact(1),
            "Duration of a test of the plan at peak load."),
    ]
}
