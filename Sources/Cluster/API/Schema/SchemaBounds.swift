package import Model

extension Schema.Bound {
    /// Text without control characters.
    package static func text(_ count: ClosedRange<Int>) -> [Schema.Bound] {
        [.characters(count), .pattern("^[^\\u0000-\\u001F\\u007F]*$")]
    }

    static let url: [Schema.Bound] = [
        .characters(1...WireLimits.urlBytes), .pattern("^https?://[^\\u0000-\\u0020\\u007F]*$"),
    ]
    static let storageURL: [Schema.Bound] = [
        .characters(8...2_048), .pattern("^(file:///|s3://|cache:)[^\\u0000-\\u001F\\u007F]*$"),
    ]
    static let key: [Schema.Bound] = text(1...WireLimits.keyBytes)
    static let sha256: [Schema.Bound] = [.pattern("^[0-9a-f]{64}$")]
    /// Bytes of an object.
    static let bytes: [Schema.Bound] = [.range(0...16 << 40)]
    static let time: [Schema.Bound] = [.range(WireLimits.pointsInTime)]
    static let queues: [Schema.Bound] = [.items(0...1_000, each: .characters(1...200))]
    static let roots: [Schema.Bound] = [.items(1...WireLimits.rootsPerWorker)]
    static let count: [Schema.Bound] = [.range(0...1_000_000)]
}

// MARK: Submitting

extension CatalogSubmission: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        [
            "name": Schema.Bound.text(1...200), "storageURL": Schema.Bound.storageURL,
            "priority": [.range(0...9)], "notBefore": Schema.Bound.time,
            "deadline": Schema.Bound.time, "expiresAt": Schema.Bound.time,
            "keepSeconds": [.range(WireLimits.keepSeconds)],
            "refreshSeconds": [.range(WireLimits.refreshSeconds)],
            "maxSites": [.range(WireLimits.sitesPerTitle)],
            "neighbours": [
                .items(0...WireLimits.neighboursPerCatalog, each: .characters(8...2_048))
            ],
        ]
    }
}

extension FetchLimit: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        [
            "count": [.range(0...WireLimits.fetchesPerTitle.upperBound)],
            "periodSeconds": [.range(WireLimits.keepSeconds)],
        ]
    }
}

extension TrackSelection: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        let rate = [Schema.Bound.range(1...1_000_000_000_000)]
        return [
            "maximumHeight": rate, "maximumBitsPerSecond": rate, "preferredBitsPerSecond": rate,
            "codecs": [.items(1...50, each: .characters(1...100))],
            "audio": [.items(0...50, each: .characters(1...100))],
            "subtitles": [.items(0...50, each: .characters(1...100))],
        ]
    }
}

extension TitleOptions: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        [
            "keyQueries": [.items(1...KeyQueryRule.maximumRules)],
            "mayLack": [.items(1...RenditionKind.allCases.count)],
        ]
    }
}

extension KeyQueryRule: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        let names = [Schema.Bound.items(0...maximumNames, each: .pattern("^[!-~]{1,32}$"))]
        return ["origin": [.characters(1...WireLimits.urlBytes)], "keep": names, "leaveOut": names]
    }
}

extension AssetBatch: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        ["assets": [.items(1...WireLimits.assetsPerRequest)]]
    }
}

extension AssetSubmission: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        [
            "name": Schema.Bound.text(1...1_000), "url": Schema.Bound.url,
            "key": Schema.Bound.key, "bytes": Schema.Bound.bytes, "sha256": Schema.Bound.sha256,
            "mirrors": [.items(1...WireLimits.mirrorsPerAsset)],
            "sidecars": [.items(1...WireLimits.sidecarsPerAsset)],
            "notBefore": Schema.Bound.time, "expiresAt": Schema.Bound.time,
            "keepSeconds": [.range(WireLimits.keepSeconds)],
            "refreshSeconds": [.range(WireLimits.refreshSeconds)],
            "modified": Schema.Bound.time,
            "title": Schema.Bound.text(1...200), "maxSites": [.range(WireLimits.sitesPerTitle)],
        ]
    }
}

extension SidecarSubmission: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        [
            "url": Schema.Bound.url, "key": Schema.Bound.key, "bytes": Schema.Bound.bytes,
            "sha256": Schema.Bound.sha256,
        ]
    }
}

// MARK: Operating

extension CatalogReference: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        ["name": Schema.Bound.text(1...200), "storageURL": Schema.Bound.text(1...2_048)]
    }
}

extension SelectionAction: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        [
            "asset": Schema.Bound.text(1...1_000), "priority": [.range(0...9)],
            "notBefore": [.range(0...WireLimits.pointsInTime.upperBound)],
            "deadline": [.range(0...WireLimits.pointsInTime.upperBound)],
            "refreshSeconds": [.range(0...WireLimits.sourceSeconds.upperBound)],
            "generation": [.range(1...Int(Int32.max))],
        ]
    }
}

extension SourceSubmission: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        [
            "url": Schema.Bound.url, "everySeconds": [.range(WireLimits.sourceSeconds)],
            "maxDropPercent": [.range(0...100)],
        ]
    }
}

extension OriginLimits: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        [
            "connections": [.range(1...1_000_000)],
            "requestsPerSecond": [.range(0.001...1_000_000)],
            "bytesPerSecond": [
                .range(Int(Bandwidth.allowed.lowerBound)...Int(Bandwidth.allowed.upperBound))
            ],
        ]
    }
}

extension SiteSettings: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        [
            "site": Schema.Bound.text(1...2_048),
            "name": [.characters(WireLimits.siteName), .pattern("^[a-z0-9-]+$")],
            "floorBytes": [.range(0...1 << 60)], "quotaBytes": [.range(0...1 << 60)],
            "maxSites": [.range(0...WireLimits.sitesPerTitle.upperBound)],
            "notBefore": [.range(0...WireLimits.pointsInTime.upperBound)],
            "expiresAt": [.range(0...WireLimits.pointsInTime.upperBound)],
            "keepSeconds": [.range(0...WireLimits.keepSeconds.upperBound)],
            "maximumBytesPerSecond": [.range(0...Int(Bandwidth.allowed.upperBound))],
            "serves": [.characters(0...WireLimits.servesBytes)],
        ]
    }
}

extension SiteEviction: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        ["site": Schema.Bound.text(1...2_048), "bytes": [.range(1...1 << 60)]]
    }
}

extension SiteRequests: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        [
            "site": Schema.Bound.text(1...2_048), "time": Schema.Bound.time,
            "files": [.items(1...WireLimits.requestedFiles)],
        ]
    }
}

extension SiteRequests.File: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        [
            "key": Schema.Bound.key, "requests": [.range(0...WireLimits.requestsOfFile)],
            "bytes": [.range(0...WireLimits.requestsOfFile)],
        ]
    }
}

extension TokenSubmission: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        [
            "name": Schema.Bound.text(1...100),
            "queues": [.items(1...1_000, each: .characters(1...200))],
            "sites": [.items(1...1_000, each: .characters(1...2_048))],
            "expires": Schema.Bound.time,
        ]
    }
}

// MARK: Load tests

extension LoadTestSubmission: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        [
            "name": Schema.Bound.text(1...200), "queue": Schema.Bound.text(1...200),
            "scenario": [.characters(1...WireLimits.scenarioBytes)],
            "workers": [.range(1...WireLimits.loadWorkers)],
            "atLeast": [.range(1...WireLimits.loadWorkers)],
            "waitSeconds": [.range(WireLimits.loadWaitSeconds)],
            "durationSeconds": [.range(WireLimits.loadSeconds)],
            "parts": [.range(1...WireLimits.loadParts)],
            "urls": [
                .items(
                    1...WireLimits.loadURLBlocks, each: .characters(1...WireLimits.loadPageBytes))
            ],
        ]
    }
}

extension LoadTestData: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        ["parts": [.items(1...WireLimits.loadParts)]]
    }
}

extension LoadTestData.Part: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        [
            "number": [.range(0...WireLimits.loadParts - 1)],
            "data": [.characters(0...WireLimits.loadPartBytes)],
        ]
    }
}

extension LoadTestPartsRequest: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        ["from": [.range(0...WireLimits.loadParts)]]
    }
}

extension LoadTestFollow: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        [
            "after": [.items(0...WireLimits.loadWorkers, each: .range(0...608_401))],
            "waitMilliseconds": [.range(0...WireLimits.loadWaitMilliseconds)],
            "changes": [.range(0...WireLimits.loadChanges)],
        ]
    }
}

extension LoadRange: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        ["most": [.range(WireLimits.loadLevel)], "seconds": [.range(WireLimits.loadSeconds)]]
    }
}

extension LoadTestChangeRequest: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        ["level": [.range(WireLimits.loadLevel)]]
    }
}

extension LoadTestJoin: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] { ["name": Schema.Bound.text(1...200)] }
}

extension LoadTestReport: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        [
            "waitMilliseconds": [.range(0...WireLimits.loadWaitMilliseconds)],
            "cores": [.range(1...10_000)],
            "intervals": [.items(0...WireLimits.intervalsPerReport)],
            "breakdown": [.characters(1...WireLimits.breakdownBytes)],
            "changes": [.range(0...WireLimits.loadChanges)],
        ]
    }
}

extension LoadTestReport.Interval: SchemaBounded {
    package static var bounds: [String: [Schema.Bound]] {
        ["second": [.range(0...608_400)], "data": [.characters(1...WireLimits.intervalBytes)]]
    }
}
