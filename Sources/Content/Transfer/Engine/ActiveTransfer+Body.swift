internal import Curl
internal import Digest
internal import EventLoop
internal import Model
internal import Storage

// Another thread opens the destination of a long body. Finding and reserving space may take long,
// and a slow disk would block all transfers of the loop.
extension ActiveTransfer {
    /// Judges the header of a response and opens its destination.
    ///
    /// Called with the first byte of the body, or at the end of a response without one. Only in the
    /// first case can the body wait for its destination.
    func decide(mayWait: Bool) throws(Failure) {
        if origin.isLimited { loop.answered(self) }
        learnVersion()
        var judge = AnswerJudge(
            easy: easy, request: request, url: url, maximumBytes: maximumBytes, partial: partial,
            omissions: route.omissions)
        life.answers(isWanted: judge.isWantedStatus)
        guard life.isWanted else { return }
        defer { route.omissions = judge.omissions }
        switch try judge.verdict() {
        case .begin(let terms): try begin(terms, mayWait)
        case .resume(let partial, let terms):
            guard let digests = partial.takeDigests() else {
                judge.omissions.partial = true
                throw .askAgain
            }
            let body = BodyWriter(digests: digests, refusesPages: false)
            body.object = partial.object
            if body.object == nil { body.sink = request.delivery.resumption?.sink }
            transfer.begin(at: partial.record.bytes)
            receive(Receiving(body: body, terms: terms), resuming: partial)
        }
    }

    /// Begins a body at its start, with the digests to compare.
    private func begin(_ terms: BodyTerms, _ mayWait: Bool) throws(Failure) {
        transfer.begin(at: 0)
        // The old partial body is useless, but its name is needed.
        transfer.partial?.object?.discard()
        let body = BodyWriter(
            digests: DigestSet(terms.expected.map(\.algorithm)),
            refusesPages: PageRules(request).refusesPages)
        var receiving = Receiving(body: body, terms: terms)
        receiving.terms.announced = nil
        switch request.delivery.destination {
        case .object(let open):
            guard mayWait, isWorthAThread(terms.wantedBytes) else {
                body.object = try open(terms.wantedBytes)
                break
            }
            loop.openInBackground(transfer.id, bytes: terms.wantedBytes, open)
            life.open(receiving)
        case .sink(let open): body.sink = try open(terms.wantedBytes)
        case .memory: break
        }
        // Only now: opening a sink may empty it, and the receiver of this report starts the other
        // parts.
        if let large = terms.announced { _ = try request.delivery.split?.begin(large, nil) }
        if !life.isOpening { receive(receiving.restarted(now: MonotonicClock.nowSeconds)) }
    }

    /// Returns whether another thread opens the destination; for a short body on a local disk, that
    /// would take longer.
    private func isWorthAThread(_ bytes: Int64?) -> Bool {
        request.delivery.opensInBackground
            || bytes.map { $0 >= loop.options.backgroundOpenBytes } ?? true
    }

    /// Starts to receive the body at its open destination.
    private func receive(_ receiving: Receiving, resuming partial: PartialBody? = nil) {
        let resumed = partial?.record.bytes ?? 0
        var receiving = receiving
        watch.receive(from: resumed)
        if resumed == 0 { receiving.body.beginParts() }
        if let wanted = receiving.terms.wantedBytes, wanted - resumed >= Self.backgroundHashBytes {
            receiving.body.digests.hashInBackground()
        }
        setResumable(&receiving, resuming: partial)
        if isCollected(receiving, resumed) {
            receiving.body.digests.collect(in: loop.unhashed?.take())
        }
        life.receive(receiving, resuming: resumed)
        transfer.handle(.receive)
    }

    /// Returns true if a short body is hashed together with others once it is complete.
    private func isCollected(_ receiving: Receiving, _ resumed: Int64) -> Bool {
        guard let wanted = receiving.terms.wantedBytes, wanted <= ShortMessage.capacity,
            resumed == 0, receiving.leaving == nil, receiving.body.object != nil, !origin.isLimited
        else { return false }
        return receiving.terms.expected.allSatisfy { $0.algorithm == .sha256 }
    }

    /// Length from which a body is hashed in the background; hashing it takes some ten
    /// milliseconds.
    private static let backgroundHashBytes: Int64 = 16 << 20

    // MARK: Destinations opened by another thread

    /// Continues with the body, or ends.
    func opened(_ result: Result<PendingObject, Failure>) {
        guard case .opening(let opening) = life.phase else { return }
        switch result {
        case .success(let object) where opening.ending == nil:
            opening.receiving.body.object = object
            receive(opening.receiving.restarted(now: MonotonicClock.nowSeconds))
            resume()
        case .success(let object):
            object.discard()
            finish(opening.ending ?? .cancelled)
        case .failure(let failure):
            loop.remove(easy)
            finish(opening.ending ?? failure)
        }
    }

    /// Ends although its destination is not open yet; no other attempt opens it afterwards.
    func finishUnopened() {
        if case .opening(let opening) = life.phase, let ending = opening.ending { finish(ending) }
    }

    /// Continues in libcurl after a pause.
    func resume() {
        let code = easy.resume()
        guard code != .ok else { return }
        loop.remove(easy)
        curl(easy, finished: code)
    }

    // MARK: Blocks

    func accept(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
        try considerSplit(next: bytes.count)
        switch life.block(of: bytes.count, maximumBytes: maximumBytes) {
        case .drop: break
        // The status is known; the rest of a long page is useless.
        case .enough: throw .discardedEnough
        case .isMoreThanWanted(let wanted):
            throw problem(
                request.range == nil ? .contentLengthMismatch : .originRangeMismatch,
                "more than the \(wanted) bytes expected")
        case .isMoreThanAllowed:
            throw problem(.originTooLarge, "more than \(maximumBytes) bytes")
        case .write(let count, to: let body):
            try write(UnsafeRawBufferPointer(rebasing: bytes.prefix(count)), to: body)
        }
    }

    private func write(
        _ bytes: UnsafeRawBufferPointer, to body: BodyWriter
    ) throws(Failure) {
        guard body.admits(bytes) else { throw problem(.contentUnexpectedType, "an HTML page") }
        let start = request.range.map { $0.isAlone ? 0 : $0.offset } ?? 0
        let offset = start + life.receivedBytes
        // A pipe without a reader is no slow origin.
        watch.excuse(seconds: try body.write(bytes, at: offset))
        transfer.add(receivedBytes: bytes.count)
        origin.add(receivedBytes: bytes.count)
        if life.wrote(bytes.count) { note() }
    }

    private func considerSplit(next count: Int) throws(Failure) {
        guard let rule = request.delivery.split, case .receiving(let receiving) = life.phase,
            receiving.terms.split != nil
        else { return }
        let body = receiving.body
        let large = life.considerSplit(
            next: count, belowBytesPerSecond: rule.belowBytesPerSecond,
            now: MonotonicClock.nowSeconds)
        guard let large else { return }
        if let moved = try rule.begin(large, body.object) { body.object = moved }
    }

    // MARK: The body's end

    /// Checks a response with a complete body, and ends.
    func check(_ receiving: Receiving) {
        do throws(Failure) {
            try checkLength(receiving.terms)
            transfer.handle(.end)
            life.check(receiving)
            var fetched = makeFetched(receiving)
            if let body = receiving.body.digests.takeCollected() {
                return loop.finish(
                    self, unhashed: body, described(TransferResult(.success(fetched))))
            }
            let computed = receiving.body.digests.finish()
            try compare(&fetched, receiving.terms, computed.sha256, computed.others)
            finish(TransferResult(.success(fetched)))
        } catch {
            if error.code == .integrityDigestMismatch, receiving.terms.isMixed {
                askForWhole(receiving)
            } else {
                finish(error)
            }
        }
    }

    /// Ends a transfer that was hashed after it left its loop, once its digest is checked.
    func finish(hashed digest: SHA256Digest, _ result: TransferResult) {
        guard case .checking(let receiving) = life.phase else {
            preconditionFailure("its body is complete")
        }
        var result = result
        do throws(Failure) {
            var fetched = try result.outcome.get()
            try compare(&fetched, receiving.terms, digest)
            result.outcome = .success(fetched)
        } catch {
            transfer.handle(.fail)
            result.left = leave(after: error)
            result.outcome = .failure(error)
        }
        transfer.completion(transfer, result)
    }

    /// Restarts a body whose parts from several URLs do not form the whole.
    private func askForWhole(_ receiving: Receiving) {
        receiving.body.discard()
        route.omissions.partial = true
        end(with: .askAgain)
    }

    /// Checks the received length.
    private func checkLength(_ terms: BodyTerms) throws(Failure) {
        if let wanted = terms.wantedBytes, life.receivedBytes < wanted {
            throw problem(
                request.range == nil ? .contentLengthMismatch : .originTruncated,
                "\(life.receivedBytes) of \(wanted) bytes")
        }
    }

    /// Returns the received body without its digest, while the response's header is available.
    private func makeFetched(_ receiving: Receiving) -> Fetched {
        var fetched = Fetched(response: Fetched.Response(finalURL: url))
        fetched.received.bytes = life.receivedBytes
        if let range = request.range, !range.isAlone { fetched.stated = easy.statedDigests }
        fetched.object = receiving.body.object
        if case .memory = request.delivery.destination { fetched.body = receiving.body.memory }
        fetched.isFirstPart = receiving.terms.isFirstPart
        fetched.response.etag = easy.header("ETag")
        fetched.response.lastModified = easy.header("Last-Modified")
        fetched.response.validator = Validator.kept(
            etag: fetched.response.etag, lastModified: fetched.response.lastModified,
            date: easy.header("Date"))
        fetched.response.contentType = easy.header("Content-Type")
        if request.access.edge != nil {
            fetched.response.cache = CacheHeaders { [easy] in easy.headers($0) }.answer
        }
        fetched.response.answeredSeconds = AnswerTime.seconds(
            date: easy.header("Date"), age: easy.header("Age"))
        fetched.response.freshSeconds = freshSeconds
        return fetched
    }

    /// Compares the digests with the stated ones.
    private func compare(
        _ fetched: inout Fetched, _ terms: BodyTerms, _ sha256: SHA256Digest,
        _ others: [ExpectedDigest] = []
    ) throws(Failure) {
        let expected = terms.isFirstPart ? [] : terms.expected
        let computed = others + [ExpectedDigest(sha256)]
        for digest in expected {
            guard let given = computed.first(where: { $0.algorithm == digest.algorithm }) else {
                throw problem(.workerInternal, "no \(digest.algorithm.title) on this host")
            }
            guard given == digest else {
                throw problem(
                    .integrityDigestMismatch,
                    "\(given.algorithm.title) is \(given.hex), expected \(digest.hex)")
            }
        }
        transfer.handle(.agree)
        fetched.received.sha256 = sha256.description
        fetched.isVerified = !expected.isEmpty
    }
}
