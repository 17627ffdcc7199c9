internal import Curl
internal import Digest
internal import EventLoop
internal import Model
internal import Storage

// The destination of a long body is opened by another thread than the loop's: to look for room and to
// reserve it may take long, and a slow disk would hold up all transfers of the loop.
extension ActiveTransfer {
    /// Judges the header of an answer: whether its body is wanted, and where it goes.
    ///
    /// Called with the first byte of the body, or at the end of an answer without one: only in the
    /// first case the body can wait for its destination.
    func decide(mayWait: Bool) throws(Failure) {
        if lane.isLimited { loop.answered(self) }
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
            if body.object == nil { body.sink = request.resumption?.sink }
            transfer.set(receivedBytes: partial.record.bytes)
            receive(Receiving(body: body, terms: terms), resuming: partial)
        }
    }

    /// Begins a body at its start, with the digests that are to be compared.
    private func begin(_ terms: BodyTerms, _ mayWait: Bool) throws(Failure) {
        transfer.set(receivedBytes: 0)
        // What lay there is of no use; its name is needed.
        transfer.partial?.object?.discard()
        let body = BodyWriter(
            digests: DigestSet(terms.expected.map(\.algorithm)),
            refusesPages: PageRules(request).refusesPages)
        var receiving = Receiving(body: body, terms: terms)
        receiving.terms.announced = nil
        switch request.destination {
        case .object(let open):
            guard mayWait, isWorthAThread(terms.wantedBytes) else {
                body.object = try open(terms.wantedBytes)
                break
            }
            loop.openAside(transfer.id, bytes: terms.wantedBytes, open)
            life.open(receiving)
        case .sink(let open): body.sink = try open(terms.wantedBytes)
        case .memory: break
        }
        // Only now: opening a sink may empty it, and who hears of this begins with the other parts.
        if let large = terms.announced { _ = try request.onLarge?(large, nil) }
        if !life.isOpening { receive(receiving.restarted(now: MonotonicClock.nowSeconds)) }
    }

    /// A short body's destination at a local disk is opened sooner than another thread has been asked
    /// to.
    private func isWorthAThread(_ bytes: Int64?) -> Bool {
        request.opensAside || bytes.map { $0 >= loop.options.openAsideBytes } ?? true
    }

    /// The body has its destination, and comes.
    private func receive(_ receiving: Receiving, resuming partial: PartialBody? = nil) {
        let resumed = partial?.record.bytes ?? 0
        var receiving = receiving
        watch.receive(from: resumed)
        if let wanted = receiving.terms.wantedBytes, wanted - resumed >= Self.hashedAsideBytes {
            receiving.body.digests.hashAside()
        }
        setResumable(&receiving, resuming: partial)
        if isCollected(receiving, resumed) {
            receiving.body.digests.collect(in: loop.unhashed?.take())
        }
        life.receive(receiving, resuming: resumed)
        transfer.handle(.receive)
    }

    /// Whether a short body is hashed with others when it is whole.
    private func isCollected(_ receiving: Receiving, _ resumed: Int64) -> Bool {
        guard let wanted = receiving.terms.wantedBytes, wanted <= ShortMessage.capacity,
            resumed == 0, receiving.leaving == nil, receiving.body.object != nil, !lane.isLimited
        else { return false }
        return receiving.terms.expected.allSatisfy { $0.algorithm == .sha256 }
    }

    /// From this length on a body is hashed beside receiving it: some ten milliseconds' worth.
    private static let hashedAsideBytes: Int64 = 16 << 20

    // MARK: A destination that another thread opens

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

    /// Ends although its destination is not open yet: nobody opens another one after that.
    func finishUnopened() {
        if case .opening(let opening) = life.phase, let ending = opening.ending { finish(ending) }
    }

    /// Has libcurl continue after a pause.
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
        // The status is known; the rest of a long page is of no use.
        case .enough: throw .discardedEnough
        case .isMoreThanWanted(let wanted):
            throw problem(
                request.range == nil ? "content.lengthMismatch" : "origin.rangeMismatch",
                "more than the \(wanted) bytes expected")
        case .isMoreThanAllowed:
            throw problem("origin.tooLarge", "more than \(maximumBytes) bytes")
        case .write(let count, to: let body):
            try write(UnsafeRawBufferPointer(rebasing: bytes.prefix(count)), to: body)
        }
    }

    private func write(
        _ bytes: UnsafeRawBufferPointer, to body: BodyWriter
    ) throws(Failure) {
        guard body.admits(bytes) else { throw problem("content.unexpectedType", "an HTML page") }
        let offset = (request.range?.offset ?? 0) + life.receivedBytes
        // A pipe that nobody reads from is no slow origin.
        watch.excuse(seconds: try body.write(bytes, at: offset))
        transfer.add(receivedBytes: bytes.count)
        lane.add(receivedBytes: bytes.count)
        if life.wrote(bytes.count) { note() }
    }

    private func considerSplit(next count: Int) throws(Failure) {
        guard case .receiving(let receiving) = life.phase, receiving.terms.split != nil else {
            return
        }
        let body = receiving.body
        let large = life.considerSplit(
            next: count, belowBytesPerSecond: request.splitBelowBytesPerSecond,
            now: MonotonicClock.nowSeconds)
        guard let large else { return }
        if let moved = try request.onLarge?(large, body.object) { body.object = moved }
    }

    // MARK: The end of the body

    /// Checks an answer whose body is complete, and ends.
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
            if error.code == "integrity.digestMismatch", receiving.terms.isMixed {
                askForWhole(receiving)
            } else {
                finish(error)
            }
        }
    }

    /// Ends a transfer that was hashed after it had left its loop, with its digest checked.
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

    /// Begins anew with a body whose parts came from several URLs and do not make the whole.
    private func askForWhole(_ receiving: Receiving) {
        receiving.body.discard()
        route.omissions.partial = true
        end(with: .askAgain)
    }

    /// Whether what was received is as long as was promised.
    private func checkLength(_ terms: BodyTerms) throws(Failure) {
        if let wanted = terms.wantedBytes, life.receivedBytes < wanted {
            throw problem(
                request.range == nil ? "content.lengthMismatch" : "origin.truncated",
                "\(life.receivedBytes) of \(wanted) bytes")
        }
    }

    /// What was received, without its digest, while the answer's header is at hand.
    private func makeFetched(_ receiving: Receiving) -> Fetched {
        var fetched = Fetched(bytes: life.receivedBytes, sha256: "", finalURL: url)
        if request.range != nil { fetched.stated = easy.statedDigests }
        fetched.object = receiving.body.object
        if case .memory = request.destination { fetched.body = receiving.body.memory }
        fetched.isFirstPart = receiving.terms.isFirstPart
        fetched.etag = easy.header("ETag")
        fetched.lastModified = easy.header("Last-Modified")
        fetched.validator = Validator.kept(
            etag: fetched.etag, lastModified: fetched.lastModified, date: easy.header("Date"))
        fetched.contentType = easy.header("Content-Type")
        fetched.answeredSeconds = AnswerTime.seconds(
            date: easy.header("Date"), age: easy.header("Age"))
        return fetched
    }

    /// Compares the digests with what was stated.
    private func compare(
        _ fetched: inout Fetched, _ terms: BodyTerms, _ sha256: SHA256Digest,
        _ others: [ExpectedDigest] = []
    ) throws(Failure) {
        let expected = terms.isFirstPart ? [] : terms.expected
        let computed = others + [ExpectedDigest(sha256)]
        for digest in expected {
            guard let given = computed.first(where: { $0.algorithm == digest.algorithm }) else {
                throw problem("worker.internal", "no \(digest.algorithm.title) on this host")
            }
            guard given == digest else {
                throw problem(
                    "integrity.digestMismatch",
                    "\(given.algorithm.title) is \(given.hex), expected \(digest.hex)")
            }
        }
        transfer.handle(.agree)
        fetched.sha256 = sha256.description
        fetched.isVerified = !expected.isEmpty
    }
}
