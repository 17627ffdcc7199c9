package import Model

extension LeaseRequest: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        [
            "maxJobs": [.range(1...WireLimits.jobsPerLease)],
            "waitMilliseconds": [.range(0...WireLimits.waitMilliseconds)],
            "queues": Schema.Bound.queues, "roots": Schema.Bound.roots,
            "refusedSites": [.items(0...WireLimits.refusedSites)],
            "pastLoadTests": [.items(0...WireLimits.pastLoadTests)],
            "slowOrigins": [.items(1...WireLimits.slowOriginsPerLease)],
            "slowMaxJobs": [.range(0...WireLimits.jobsPerLease)],
        ]
    }
}

extension ReportRequest: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        ["results": [.items(1...WireLimits.resultsPerReport)]]
    }
}

extension Heartbeat: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        [
            "leases": [.items(0...WireLimits.leasesPerHeartbeat)],
            "name": Schema.Bound.text(1...200), "activeTransfers": Schema.Bound.count,
            "idleConnections": Schema.Bound.count, "surplusJobs": Schema.Bound.count,
            "runs": [.items(0...WireLimits.runsPerHeartbeat)],
            "origins": [.items(0...WireLimits.originsPerHeartbeat)],
            "originShares": [.items(0...WireLimits.originsPerHeartbeat)],
            "siteShares": [.items(0...WireLimits.sitesPerHeartbeat)],
            "sites": [.items(0...WireLimits.sitesPerHeartbeat)],
            "roots": Schema.Bound.roots, "queues": Schema.Bound.queues,
            "refusedSites": [.items(0...WireLimits.refusedSites)],
            "version": Schema.Bound.text(1...100),
        ]
    }
}

extension SiteVolumeRequest: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        ["marks": [.items(0...maximumMarks)]]
    }
}

extension OriginReport: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        [
            "concurrency": [.range(1...1_000_000)], "bytesPerSecond": Schema.Bound.bytes,
            "decision": [.values(["raised", "lowered", "held"])],
            "reason": Schema.Bound.text(0...WireLimits.reasonCharacters),
            "active": Schema.Bound.count, "waiting": Schema.Bound.count,
        ]
    }
}

extension SegmentBatch: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        [
            "segments": [.items(1...WireLimits.segmentsPerRequest)],
            "leftOut": [.items(0...WireLimits.leftOutRenditions)],
        ]
    }
}

extension LeftOutRendition: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        [
            "name": Schema.Bound.text(0...LeftOutRendition.nameCharacters),
            "attributes": Schema.Bound.text(0...LeftOutRendition.nameCharacters),
            "key": Schema.Bound.key, "code": Schema.Bound.text(1...100),
        ]
    }
}

extension RefreshBatch.Publication: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        ["leftOut": [.items(0...WireLimits.leftOutRenditions)]]
    }
}

extension ResolvedSegment: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        [
            "ordinal": [.range(0...WireLimits.segmentsPerAsset + WireLimits.sidecarsPerAsset - 1)],
            "url": Schema.Bound.url, "key": Schema.Bound.key, "bytes": Schema.Bound.bytes,
            "sha256": Schema.Bound.sha256, "servedSHA256": Schema.Bound.sha256,
            "mirrors": [.items(1...WireLimits.mirrorsPerSegment)],
            "objectOffset": [.range(0...Int(RecordingCursor.MPD.maxPosition))],
        ]
    }
}

extension RefreshBatch: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        ["files": [.items(1...WireLimits.segmentsPerRequest)]]
    }
}

extension ChecksumTurnRequest: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        ["jobs": [.items(1...WireLimits.jobsPerLease)]]
    }
}

extension PurgeRequest: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        [
            "results": [.items(0...WireLimits.filesPerPurge)],
            "freed": [.items(0...WireLimits.filesPerPurge)],
            "assets": [.items(0...WireLimits.filesPerPurge)],
        ]
    }
}

extension SplitRequest: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        [
            "totalBytes": Schema.Bound.bytes,
            "partBytes": [.range(Int(PartSize.minBytes)...16 << 40)],
            "validator": Schema.Bound.text(1...1_000),
        ]
    }
}
