import API
import Model
import TestSupport

/// What results do to segments, assets, directories and catalogs.
extension QueueModel {
    /// Records fetches that ended, all at once.
    mutating func settle(_ ended: [Plan.Ended]) {
        var codes: [AssetKey: Set<FailureCode>] = [:]
        for one in ended {
            jobs[one.work] = nil
            guard let key = one.work.asset else { continue }
            codes[key, default: []].formUnion([])
            var piece = Piece(result: one.result, tally: Tally(isDone: false))
            switch one.result {
            case .stored(let stored):
                piece.tally = Tally(isDone: true, bytes: stored.bytes)
                if one.isReused { self[key]?.adoptedBytes += stored.bytes }
            case .failed(let code):
                codes[key]?.insert(code)
                // The manifest is outdated: the next start reads it again.
                if code == "manifest.changed" { self[key]?.isResolved = false }
            }
            if let offset = one.work.offset {
                self[key]?.segments[one.work.ordinal]?.multipart?.parts[offset] = piece
            } else {
                self[key]?.segments[one.work.ordinal]?.whole = piece
            }
        }
        for (key, failures) in codes {
            self[key]?.note(failures)
            recount(key)
        }
    }

    mutating func recount(_ key: AssetKey) {
        if let state = self[key]?.stateByCounts { self[key]?.state = state }
    }

    /// A manifest was read: its segments become jobs. False when some of them never came.
    mutating func resolve(_ work: Work, _ count: Int) -> Bool {
        guard let key = work.asset, var asset = self[key] else { return true }
        asset.segments = asset.segments.filter { $0.key < count }
        guard asset.segments.count == count else { return false }
        jobs[work] = nil
        for ordinal in asset.segments.keys {
            asset.segments[ordinal]?.multipart = nil
            asset.segments[ordinal]?.whole.tally = nil
            jobs[.fetch(key, ordinal)] = newJob(of: key)
        }
        asset.state = .ready
        asset.isResolved = true
        asset.isTallied = true
        asset.adoptedBytes = 0
        asset.forgetRenewals()
        self[key] = asset
        return true
    }

    /// After the last part the whole is verified.
    mutating func partStored(_ work: Work) {
        guard let key = work.asset, let segment = self[key]?.segments[work.ordinal],
            let multipart = segment.multipart, multipart.parts.values.allSatisfy(\.isStored)
        else { return }
        let verify = Work.verify(key, work.ordinal)
        if jobs[verify] == nil { jobs[verify] = newJob(of: key) }
    }

    /// The first part that failed for good fails the whole.
    mutating func partFailed(_ work: Work, _ code: FailureCode) {
        guard let key = work.asset,
            let multipart = self[key]?.segments[work.ordinal]?.multipart, !multipart.isFailed
        else { return }
        self[key]?.segments[work.ordinal]?.multipart?.isFailed = true
        self[key]?.note([code])
        recount(key)
    }

    /// Parts of different versions: they go, and the file is fetched from its start again.
    mutating func reset(_ key: AssetKey, _ ordinal: Int, _ isDelayed: Bool) {
        guard var asset = self[key], let multipart = asset.segments[ordinal]?.multipart else {
            return
        }
        for work in jobs(of: key) where work.ordinal == ordinal && work.kind != .resolve {
            jobs[work] = nil
        }
        asset.segments[ordinal]?.multipart = nil
        asset.segments[ordinal]?.whole.tally = nil
        asset.adoptedBytes = min(asset.adoptedBytes, asset.bytes)
        // What a part of it failed with is not the end of it any more.
        if asset.failedCount == 0 && asset.verifyFailedCount == 0 { asset.failures = [] }
        asset.retries += 1
        asset.state = .inProgress
        self[key] = asset
        jobs[.fetch(key, ordinal)] = newJob(
            of: key, attempt: multipart.attempt, isDelayed: isDelayed && !asset.isRenewing)
        // Or the manifest would still be read when the title has ended.
        if asset.isRenewing { jobs[.fetch(key, ordinal)]?.awaitsURL = "content.changed" }
    }

    mutating func verified(_ work: Work, _ result: Result) {
        jobs[work] = nil
        guard let key = work.asset else { return }
        self[key]?.segments[work.ordinal]?.whole.result = result
        if case .failed(let code) = result {
            self[key]?.segments[work.ordinal]?.multipart?.isFailed = true
            self[key]?.note([code])
        } else {
            self[key]?.segments[work.ordinal]?.multipart?.isVerified = true
        }
        recount(key)
    }

    /// Files in parts that were cancelled: their parts go, and each file counts as one that failed.
    mutating func abandonMultipartFiles() {
        for (number, catalog) in catalogs {
            for (name, asset) in catalog.assets
            where [.failed, .cancelled].contains(asset.state)
                && asset.failures == ["worker.cancelled"]
                && (asset.spec.kind == .file || asset.isResolved)
                && asset.segments.values.contains(where: { $0.multipart != nil })
            {
                fold(number)
                let key = AssetKey(catalog: number, name: name)
                for (ordinal, segment) in asset.segments where segment.multipart != nil {
                    self[key]?.segments[ordinal]?.multipart = nil
                    self[key]?.segments[ordinal]?.whole = Piece(
                        result: .failed("worker.cancelled"), tally: Tally(isDone: false))
                }
                let bytes = self[key]?.bytes ?? 0
                self[key]?.adoptedBytes = min(asset.adoptedBytes, bytes)
            }
        }
    }

    mutating func checksumsEnded(_ work: Work, _ isFailed: Bool) {
        jobs[work] = nil
        catalogs[work.catalog]?.checksumsOwed.remove(work.name)
        if isFailed { catalogs[work.catalog]?.checksumsFailed += 1 }
    }

    /// What reports leave to be done soon: a directory's list is written when the last of its assets
    /// has ended, and after the last list the catalog has ended.
    mutating func fold() {
        for number in catalogs.keys { fold(number) }
    }

    mutating func fold(_ number: Int) {
        guard let catalog = catalogs[number] else { return }
        for directory in catalog.endedDirectories {
            catalogs[number]?.busy.remove(directory)
            jobs[.checksums(number, directory)] = Job()
        }
        guard catalog.state == .running, catalog.checksumsOwed.isEmpty else { return }
        _ = catalogs[number]?.endIfAllEnded()
    }
}

extension QueueModel.Catalog {
    /// Ends a catalog whose assets have all ended; returns false for another.
    mutating func endIfAllEnded() -> Bool {
        let counted = assets.values.filter(\.isCounted)
        guard counted.allSatisfy(\.hasEnded) else { return false }
        let isWhole = checksumsFailed == 0 && counted.allSatisfy { $0.state == .completed }
        let isFailed = checksumsFailed > 0 || counted.contains { $0.state == .failed }
        state = isWhole ? .completed : isFailed ? .failed : .cancelled
        return true
    }

    /// Directories that count as busy, and in which no job runs any more.
    var endedDirectories: Set<String> {
        busy.filter { directory in
            !assets.values.contains {
                $0.isCounted && !$0.state.isSettled && $0.directory == directory
            }
        }
    }
}
