/// Limits of the wire format; a request that exceeds one is answered 413 or 400 with its code.
package enum WireLimits {
    package static let assetsPerRequest = 5_000
    package static let mirrorsPerAsset = 7
    package static let neighboursPerCatalog = 63
    /// Bytes of the URL under which a site's files are served.
    package static let servesBytes = 2_048
    /// Lower for a segment of a title, which may have a million of them.
    package static let mirrorsPerSegment = 3
    /// Attempts at publishing a refresh.
    package static let publicationAttempts = 5
    package static let sidecarsPerAsset = 50
    /// Time for which a completed asset is kept, in seconds: up to a hundred years.
    package static let keepSeconds = 1.0...3_153_600_000
    /// Time after which an asset is refreshed, in seconds: a minute to a year.
    package static let refreshSeconds = 60.0...31_536_000
    /// Time after which an asset is refreshed whose origin says when, in seconds: five minutes to 30
    /// days.
    package static let originRefreshSeconds = 300.0...2_592_000
    /// That time if the origin states none: a day.
    package static let unstatedRefreshSeconds = 86_400.0
    /// Freshness of a response in seconds: up to the largest value of RFC 9111, 1.2.2.
    package static let freshSeconds = 0...2_147_483_648
    /// Maximum fetches of a title within a period, and maximum sites that it is at.
    package static let fetchesPerTitle = 1...1_000_000
    package static let sitesPerTitle = 1...1_000_000
    /// Bytes to evict, from 1.
    package static let evictedBytes: ClosedRange<Int64> = 1...1 << 60
    /// Assets that the answer to an eviction names; the others are counted.
    package static let evictedAssets = 1_000
    /// Files whose requests one message has.
    package static let requestedFiles = 5_000
    /// Maximum requests of one of these, and maximum bytes.
    package static let requestsOfFile = 1e18
    /// Files in a request and an answer of `POST /v1/purges`.
    package static let filesPerPurge = 1_000
    package static let jobsPerLease = 1_000
    package static let resultsPerReport = 1_000
    package static let segmentsPerRequest = 5_000
    package static let leasesPerHeartbeat = 1_000
    package static let runsPerHeartbeat = 100
    package static let originsPerHeartbeat = 200
    package static let originsPerResult = 20
    /// Maximum origins of `LeaseRequest.slow`.
    package static let slowOriginsPerLease = 256
    package static let sitesPerHeartbeat = 1_000
    /// Maximum names of directories that a worker may write to, as given and without symlinks.
    package static let rootsPerWorker = 64
    /// Maximum sites whose jobs a worker no longer leases, because they lie outside of its roots.
    package static let refusedSites = 1_000
    /// Longest reason of a decision about an origin in characters.
    package static let reasonCharacters = 400
    /// Lengths of names of sites' queues: lower-case letters, digits and inner dashes.
    package static let siteName = 1...60
    /// Longest validator of a result; a longer one is ignored.
    package static let validatorCharacters = 256
    package static let pageRows = 5_000
    /// Assets that one statement changes, up to which each has an event of its own.
    package static let eventsPerChange = 1_000
    /// Largest request body in bytes.
    package static let bodyBytes = 16 << 20
    /// Longest long poll in milliseconds; shorter than the minute after which proxies time out.
    package static let waitMilliseconds = 50_000
    /// Interval of an idle worker's heartbeats, in seconds; half of the time for which it counts as
    /// live.
    package static let idleHeartbeatSeconds = 30
    /// Times in seconds since 1970: up to the end of the year 9999.
    package static let pointsInTime = 1.0...253_402_300_799
    /// Longest name of an asset in bytes, for 1,000 multi-byte characters.
    package static let nameBytes = 2_000
    /// Longest URL in bytes.
    package static let urlBytes = 8_192
    /// Longest final key in bytes.
    package static let keyBytes = 2_048
    /// Longest rewritten manifest of `ResolvedSegment.content` in bytes, and maximum of all in one
    /// request.
    package static let rewrittenManifestBytes = 6 << 20
    /// Maximum warnings about the manifests of one asset, the first ones.
    package static let warningsPerAsset = 5
    /// Maximum renditions that one asset may lack, and the first ones that clients see.
    package static let leftOutRenditions = 200
    package static let shownLeftOutRenditions = 20
    /// Maximum lost files of an asset that one reading of its manifest gets to know more than the one before.
    package static let lostFilesPerReading = 50
    /// Maximum segments of one asset.
    package static let segmentsPerAsset = 1_000_000 / fuzzingDivisor
    /// Maximum bytes of the URLs of these segments together, including mirrors.
    package static let urlBytesPerAsset = (64 << 20) / fuzzingDivisor

    // An allowed title of a million segments keeps a fuzzing build busy for as long as a hang
    // would. So the limits are lower there.
    #if FUZZING
        private static let fuzzingDivisor = 50
    #else
        private static let fuzzingDivisor = 1
    #endif

    /// Maximum time of a transfer in a report, in milliseconds.
    package static let transferMilliseconds = 604_800_000
    /// Maximum groups of a daily report, and its maximum days: figures are kept that long.
    package static let reportRows = 1_000
    package static let reportDays = 400

    // MARK: Audits

    /// Records in one page of an audit, and paths that one check names.
    package static let recordsPerAuditPage = 5_000
    /// Findings in one report of an audit.
    package static let findingsPerAuditReport = 2_000
    /// Findings of one audit that are kept; the others are counted.
    package static let findingsPerAudit = 10_000
    /// Audits of a site that are kept.
    package static let auditsPerSite = 20
    /// Maximum number of audits that a worker reports as rejected before.
    package static let pastAudits = 16
    /// Files per second that an audit may be limited to.
    package static let auditFilesPerSecond = 1...10_000_000
    /// Bytes per second that a deep audit reads without another limit.
    package static let auditReadBytesPerSecond: Int64 = 200_000_000
    /// Allowed time between audits of a schedule, in seconds.
    package static let auditSeconds = 3_600...31_536_000

    // MARK: Sources

    /// Allowed time between two readings of a source, and two refreshes of a catalog, in seconds.
    package static let sourceSeconds = 60.0...31_536_000.0
    /// Percentage of a catalog's assets that a list may drop, without another limit.
    package static let sourceMaxDropPercent = 50
    /// Names that a worker looks up at once.
    package static let namesPerSourceCheck = 5_000

    // MARK: Load tests

    /// Maximum workers of one load test.
    package static let loadWorkers = 200
    /// Maximum number of load tests that a worker reports as joined before.
    package static let pastLoadTests = 16
    /// Largest scenario of a load test in bytes.
    package static let scenarioBytes = 4 << 20
    /// Maximum parts of a load test's data, each with its largest size in bytes, and the size of all.
    package static let loadParts = 5_040
    package static let loadPartBytes = 4 << 20
    package static let loadDataBytes = 128 << 20
    /// Bytes of parts in one answer, which may have one longer part; largest block of URLs.
    package static let loadPageBytes = 1 << 20
    /// Maximum blocks of the URLs of a replay, and the size of all in bytes.
    package static let loadURLBlocks = 32
    package static let loadURLBytes = 8 << 20
    /// Bytes of data per second for which the start of a load test waits, so that workers fetch theirs.
    package static let loadDataBytesPerSecond = 8 << 20
    /// Allowed time to wait for workers, in seconds.
    package static let loadWaitSeconds = 1.0...3_600.0
    /// Allowed duration of a load test, in seconds.
    package static let loadSeconds = 0.001...604_800.0
    /// Allowed load of a load test: arrivals per second, or users.
    package static let loadLevel = 0.0...1_000_000.0
    /// Maximum changes of the load of one test.
    package static let loadChanges = 1_000
    /// Largest text of one second of one shard in bytes.
    package static let intervalBytes = 512 << 10
    /// Maximum seconds in one report of a shard.
    package static let intervalsPerReport = 40
    /// Maximum seconds of shards in one answer.
    package static let intervalsPerAnswer = 100
    /// Largest text of measurements by URL, target and rendition in bytes.
    package static let breakdownBytes = 8 << 20
    /// Time without reports, in seconds, after which a shard is lost; its worker then stops by
    /// itself.
    package static let loadSilentSeconds = 10.0
    /// Maximum delay of the answer to a worker's report or a follower's request without changes.
    package static let loadWaitMilliseconds = 5_000
}
