import API
import Model
import TestSupport

/// What operators do to work and to queues.
extension QueueModel {
    mutating func control(_ site: Int, _ state: QueueState) -> Expected {
        guard queues[site] != nil else { return .exactly(.refused("input.notFound")) }
        queues[site] = state
        let leased = jobs.count { $0.value.hold != nil && self.site(of: $0.key) == site }
        return .queue(state, leased: leased)
    }

    /// Of several workers the first one's stands, on the file system of the last that found it; one without a job of
    /// the site records nothing.
    mutating func record(
        _ volume: Int, on fileSystem: Int?, of site: Int, under lease: Int, by worker: Int
    ) -> Answer {
        // Catalogs are never forgotten, so that each site keeps its volume.
        let isOther = volumes.contains { $0.key != site && $0.value == volume }
        if queues[site] != nil, volumes[site] == nil, isOther {
            return .refused("storage.sharedDirectory")
        }
        let isHeld = jobs.contains {
            $0.value.hold?.lease == lease && self.site(of: $0.key) == site
        }
        guard isHeld, leases[lease]?.worker == worker else { return .refused("worker.leaseLost") }
        volumes[site] = volumes[site] ?? volume
        if volumes[site] == volume { fileSystems[site] = fileSystem }
        return .volume(volumes[site], fileSystem: fileSystems[site])
    }

    /// The site's failure ends too, and jobs that wait for space are tried.
    mutating func acceptVolume(of site: Int) -> Answer {
        guard queues[site] != nil else { return .refused("input.notFound") }
        (volumes[site], fileSystems[site]) = (nil, nil)
        faultySites.remove(site)
        for work in jobs.keys where self.site(of: work) == site {
            if jobs[work]?.waitsForSpace == true { jobs[work]?.isDelayed = false }
        }
        return .volume(nil, fileSystem: nil)
    }

    mutating func operate(_ operation: Operation) -> Expected {
        if let number = operation.catalog,
            [.cancel, .retry, .refresh, .resume].contains(operation.action)
        {
            fold(number)
        }
        guard let number = operation.catalog, let catalog = catalogs[number] else {
            return .exactly(.refused("input.notFound"))
        }
        let isWhole = operation.asset == nil && operation.code == nil
        if operation.action == .reschedule {
            // It would begin after its deadline.
            let isOpened = catalog.opened > catalog.generation
            if operation.isHeldBack, isOpened ? catalog.isOpenedOverdue : catalog.isOverdue {
                return .exactly(.refused("input.field"))
            }
            catalogs[number]?.isHeldBack = operation.isHeldBack
            return left(of: catalog)
        }
        if operation.action == .reprioritise && isWhole { return left(of: catalog) }
        if operation.action == .refresh && isWhole { return refresh(nil, of: number) }
        let names = selected(operation, in: catalog)
        if operation.asset != nil && operation.code == nil && names.isEmpty {
            return .exactly(.refused("input.notFound"))
        }
        switch operation.action {
        case .cancel:
            let answer = cancel(names, of: number)
            let endsInterrupted = catalog.state == .interrupted && (isWhole || answer.assets > 0)
            if isWhole && catalog.state == .running || endsInterrupted { end(number) }
            return .selected(answer, isWritten: true)
        case .retry: return retry(names, of: number, isWhole: isWhole)
        case .refresh: return refresh(names, of: number)
        case .reprioritise, .reschedule:
            let changed = reprioritise(names, of: number, to: operation.priority)
            return .selected(changed, isWritten: true)
        case .pause: return .selected(pause(names, of: number), isWritten: true)
        case .resume: return resume(names, of: number)
        case .remove, .forget, .pin, .unpin: return .exactly(.refused("input.field"))
        }
    }

    /// The catalogs that have a failure of this code.
    func catalogs(with code: FailureCode?) -> Set<Int> {
        let operation = Operation(action: .retry, code: code)
        return Set(
            catalogs.keys.filter { number in
                catalogs[number].map { !selected(operation, in: $0).isEmpty } ?? false
            })
    }

    /// This, with each choice of failures that makes a difference to the operation: of those that
    /// came together, any may be the one that is kept.
    func withFailuresDecided(of operation: Operation) -> [QueueModel] {
        guard let code = operation.code else { return [self] }
        var decided = [self]
        for (number, catalog) in catalogs {
            for (name, asset) in catalog.assets
            where asset.failures.count > 1 && asset.failures.contains(code) {
                decided = decided.flatMap { model in
                    [[code], asset.failures.subtracting([code])].map { failures in
                        var other = model
                        other.catalogs[number]?.assets[name]?.failures = failures
                        return other
                    }
                }
            }
        }
        return decided
    }

    /// Assets of the present generation, and those that have not ended although they were named again
    /// since.
    private func selected(_ operation: Operation, in catalog: Catalog) -> [String] {
        catalog.assets.filter { name, asset in
            (asset.generation == catalog.generation || !asset.state.isSettled)
                && (operation.asset ?? name) == name
                && operation.code.map { asset.failures == [$0] } ?? true
        }.keys.sorted()
    }

    // MARK: Cancel

    private mutating func cancel(_ names: [String], of number: Int) -> SelectionAnswer {
        var answer = SelectionAnswer(assets: 0, jobs: 0)
        for name in names {
            let key = AssetKey(catalog: number, name: name)
            guard let asset = self[key], asset.isUnderWay || asset.state == .interrupted,
                asset.state != .publishing
            else { continue }
            for work in jobs(of: key) {
                if let lease = jobs[work]?.hold?.lease {
                    leases[lease]?.cancelled.append(work.wholeFile)
                }
                jobs[work] = nil
                answer.jobs += 1
            }
            answer.assets += 1
            if asset.state == .refreshing {
                self[key]?.note(["worker.cancelled"])
                self[key]?.state = .completed
            } else {
                self[key]?.cancel()
            }
        }
        return answer
    }

    /// Nothing of it is waited for, lists of digests neither: they count as failed.
    private mutating func end(_ number: Int) {
        fold(number)
        guard let catalog = catalogs[number], [.running, .interrupted].contains(catalog.state),
            !catalog.assets.values.contains(where: {
                $0.state == .interrupted
                    ? $0.generation == catalog.generation
                    : $0.isCounted && !$0.state.isSettled && $0.state != .publishing
            })
        else { return }
        for work in jobs.keys where work.kind == .checksums && work.catalog == number {
            cancelList(work)
            catalogs[number]?.checksumsFailed += 1
        }
        catalogs[number]?.checksumsOwed = []
        catalogs[number]?.state = .cancelled
    }

    // MARK: Retry

    /// A start of what failed, and of what was interrupted.
    private mutating func retry(
        _ names: [String], of number: Int, isWhole: Bool
    ) -> Expected {
        let nothing = Expected.selected(SelectionAnswer(assets: 0, jobs: 0), isWritten: true)
        guard let catalog = catalogs[number], catalog.state != .open else { return nothing }
        let failed = names.filter { name in
            catalog.assets[name].map { [.failed, .cancelled].contains($0.state) } ?? false
        }
        let lacksChecksums = catalog.checksumsFailed > 0
        let isLacking =
            catalog.state == .interrupted
            || ([.failed, .cancelled].contains(catalog.state) && lacksChecksums)
        guard !failed.isEmpty || (isWhole && isLacking) else { return nothing }
        return start(failed, of: number)
    }

    /// Starts these assets, and those that were interrupted.
    private mutating func start(_ failed: [String], of number: Int) -> Expected {
        guard let catalog = catalogs[number] else { return .exactly(.refused("input.notFound")) }
        let lacksChecksums = catalog.checksumsFailed > 0
        guard catalog.opened == catalog.generation else {
            return .exactly(.refused("input.field"))
        }
        guard !isPublishing(number, before: catalog.generation) else {
            return .exactly(.refused("cluster.busy"))
        }
        let ended = catalog.endedDirectories
        var answer = SelectionAnswer(assets: 0, jobs: 0)
        for name in catalog.assets.keys.sorted() {
            let key = AssetKey(catalog: number, name: name)
            endOutlivedRenewal(of: key)
            forget(key, before: catalog.generation)
            guard let asset = self[key] else { continue }
            let isNamed = asset.generation == catalog.generation
            self[key]?.isCounted = isNamed
            if isNamed { renewURL(key) }
            guard isNamed, failed.contains(name) || [.new, .interrupted].contains(asset.state)
            else { continue }
            startAsset(key)
            answer.assets += 1
            answer.jobs += jobs(of: key).count
        }
        beginTotals(number, catalog.generation, ended)
        if lacksChecksums { answer.jobs += retryChecksums(of: number) }
        return .selected(answer, isWritten: true)
    }

    /// Which lists could not be written is not known: all are, of directories that nothing is under
    /// way in.
    private mutating func retryChecksums(of number: Int) -> Int {
        guard let catalog = catalogs[number] else { return 0 }
        let directories = Set(catalog.assets.values.filter(\.isCounted).map(\.directory))
        let lacking = directories.subtracting(catalog.checksumsOwed)
        for directory in lacking {
            jobs[.checksums(number, directory)] = Job()
            catalogs[number]?.checksumsOwed.insert(directory)
            catalogs[number]?.state = .running
        }
        return lacking.count
    }

    // MARK: Reprioritise

    /// Running jobs of a catalog; only its row is written.
    private func left(of catalog: Catalog) -> Expected {
        guard catalog.state == .running else {
            return .selected(SelectionAnswer(assets: 0, jobs: 0), isWritten: false)
        }
        let totals = catalog.totals
        let left = SelectionAnswer(
            assets: totals.assets - totals.completed - totals.failed - totals.cancelled,
            jobs: totals.segments - totals.segmentsDone - totals.segmentsFailed)
        return .selected(left, isWritten: false)
    }

    /// What waits goes to lanes of that priority; what is held stays where it is.
    private mutating func reprioritise(
        _ names: [String], of number: Int, to priority: Int?
    ) -> SelectionAnswer {
        var answer = SelectionAnswer(assets: 0, jobs: 0)
        for name in names {
            let key = AssetKey(catalog: number, name: name)
            guard self[key]?.priority != priority else { continue }
            answer.assets += 1
            self[key]?.priority = priority
            answer.jobs += move(key)
        }
        return answer
    }

    /// What waits of it goes to the lanes where it belongs.
    private mutating func move(_ key: AssetKey) -> Int {
        var count = 0
        let priority = self[key]?.lanePriority
        for work in jobs(of: key)
        where jobs[work]?.hold == nil && jobs[work]?.priority != priority {
            jobs[work]?.priority = priority
            count += 1
        }
        return count
    }

    // MARK: Pause

    private mutating func pause(_ names: [String], of number: Int) -> SelectionAnswer {
        var answer = SelectionAnswer(assets: 0, jobs: 0)
        for name in names {
            let key = AssetKey(catalog: number, name: name)
            guard let asset = self[key], !asset.state.isSettled, asset.state != .publishing,
                !asset.isPaused
            else { continue }
            self[key]?.isPaused = true
            answer.assets += 1
            answer.jobs += move(key)
        }
        return answer
    }

    /// What was interrupted of them starts again, with all that was interrupted.
    private mutating func resume(_ names: [String], of number: Int) -> Expected {
        let before = self
        var answer = SelectionAnswer(assets: 0, jobs: 0)
        var interrupted: [String] = []
        for name in names {
            let key = AssetKey(catalog: number, name: name)
            guard let asset = self[key] else { continue }
            let isInterrupted = asset.state == .interrupted
            if isInterrupted { interrupted.append(name) }
            guard asset.isPaused else { continue }
            self[key]?.isPaused = false
            if !isInterrupted { answer.assets += 1 }
            answer.jobs += move(key)
        }
        guard !interrupted.isEmpty, catalogs[number]?.state != .open else {
            return .selected(answer, isWritten: true)
        }
        switch start(interrupted, of: number) {
        case .selected(let started, let isWritten):
            answer.assets += started.assets
            answer.jobs += started.jobs
            return .selected(answer, isWritten: isWritten)
        case let refused:
            self = before
            return refused
        }
    }
}

extension QueueModel.Asset {
    /// Started, and not ended.
    var isUnderWay: Bool { !state.isSettled && state != .new }

    /// What it lacks counts as failed, for one failure more that is kept if it is the first.
    fileprivate mutating func cancel() {
        for ordinal in segments.keys {
            if segments[ordinal]?.multipart == nil {
                segments[ordinal]?.whole.end()
                continue
            }
            for offset in segments[ordinal]?.multipart?.parts.keys.sorted() ?? [] {
                segments[ordinal]?.multipart?.parts[offset]?.end()
            }
            if segments[ordinal]?.awaitsVerification == true {
                segments[ordinal]?.multipart?.isFailed = true
            }
        }
        note(["worker.cancelled"])
        state = .cancelled
    }
}

extension QueueModel.Piece {
    fileprivate mutating func end() {
        if tally == nil { tally = QueueModel.Tally(isDone: false) }
    }
}
