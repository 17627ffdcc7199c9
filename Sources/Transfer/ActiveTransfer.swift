internal import Curl
internal import Digest
internal import EventLoop
internal import Model
internal import Storage

/// A transfer that has a slot: one request after another until there is an answer to keep.
///
/// Confined to its loop. The body goes from libcurl's buffer through the digest to its place without
/// being copied or queued.
final class ActiveTransfer {
    static let maximumRedirects = 5
    /// An error page up to this size is read, to keep the connection; a longer one is cut off.
    static let discardedBytesLimit: Int64 = 64 << 10

    /// What becomes of the body under way.
    enum Body {
        case undecided
        /// It is what was asked for.
        case wanted
        /// It belongs to a redirect or an error.
        case discarded
    }

    let transfer: Transfer
    private(set) var easy: CurlEasy
    unowned let loop: TransferLoop
    /// Where the transfer counts: the origin of `url`.
    private(set) var lane: OriginLane
    /// The settings of that origin.
    private(set) var profile: OriginProfile
    var request: TransferRequest { transfer.request }

    var url: String
    var redirects = 0
    /// False once a redirect has led to another origin: the request's own headers stay behind.
    var isAtOrigin = true
    private var postponements = 0
    /// A limit left no place for the connection or the request after all.
    private var isPostponed = false
    /// Paused for bytes a second, and first in line for them.
    var isPaused = false
    var hasTurn = false

    var body = Body.undecided
    /// Why the transfer was ended from inside a callback.
    var failure: Failure?
    /// Why the last address that was tried may not be connected to.
    var addressRefusal: Failure?
    var received: Int64 = 0
    /// Where the body must end: the range, the first part, the expected length; nil when unknown.
    var wantedBytes: Int64?
    var isFirstPart = false
    /// A large object that may still be split: where its first part would end, and since when it
    /// comes.
    var splitCandidate: (part: Int64, large: LargeObject, startedAt: Double)?
    /// To be split in any case: told of once its place is there.
    var announced: LargeObject?
    var object: PendingObject?
    /// While another thread opens it.
    var opening: Opening?
    var sink: (any TransferSink)?
    var memory: [UInt8] = []
    var start: [UInt8] = []
    var digests = DigestSet()
    /// A short body that is hashed when it is whole, in place of `digests`.
    var collected: CollectedBody?
    /// What the list and the answer say of the whole body.
    var expected: [ExpectedDigest] = []
    /// Bytes of the body that lay there before.
    var resumedBytes: Int64 = 0
    var omissions = Omissions()
    /// What the body under way can be gone on with by; nil when it cannot.
    var leaving: PartialRecord?
    /// What lay there came from another URL than its rest.
    var isMixed = false
    /// How many bytes there will be when their number is written down.
    var nextNote = Int64.max

    /// On the monotonic clock, in seconds.
    let startedAt: Double
    var requestedAt = MonotonicClock.nowSeconds
    var windowStartedAt: Double?
    var windowBytes: Int64 = 0
    /// What there was when it was last asked whether anything had come.
    var seen = Seen()
    /// What has come since its pace was last judged.
    var pace = PaceWindow(startedAt: 0)
    /// How often in a row it was stopped with nothing kept.
    let losses: Int
    /// For how long it was below the floor since it has its slot.
    var slowSeconds = 0.0

    init(_ waiting: Waiting, easy: CurlEasy, loop: TransferLoop) throws(Failure) {
        transfer = waiting.transfer
        lane = waiting.lane
        self.easy = easy
        self.loop = loop
        url = transfer.request.url
        profile = loop.profiles.profile(of: lane.origin, url: url)
        startedAt = waiting.hop?.resumedAt(MonotonicClock.nowSeconds) ?? MonotonicClock.nowSeconds
        losses = waiting.hop?.losses ?? 0
        try Self.check(transfer.request)
        if let hop = waiting.hop { go(on: hop, waiting.lane) }
    }

    /// Goes on at another place, or at the same one again.
    func go(on hop: Hop, _ lane: OriginLane) {
        self.lane = lane
        url = hop.url
        profile = loop.profiles.profile(of: lane.origin, url: url)
        redirects = hop.redirects
        isAtOrigin = hop.isAtOrigin
        postponements = hop.postponements
        omissions = hop.omissions
    }

    /// Where the transfer is, to go on from.
    func hop(to url: String) -> Hop {
        Hop(
            url: url, redirects: redirects, isAtOrigin: isAtOrigin, startedAt: startedAt,
            postponements: postponements, omissions: omissions, losses: losses)
    }

    private static func check(_ request: TransferRequest) throws(Failure) {
        if let range = request.range, range.offset < 0 || range.length < 1 {
            throw Failure("worker.internal", "a range of \(range.length) bytes")
        }
        if let digest = request.expectedSHA256, SHA256Digest(hex: digest) == nil {
            throw Failure("input.field", "an expected SHA-256 has 64 hex digits")
        }
    }

    // MARK: Requests

    /// Sends the request for `url`.
    func connect() throws(Failure) {
        // One that keeps another size is given up.
        if !easy.setBuffer(bytes: bufferBytes) {
            easy.delegate = nil
            easy = try loop.makeEasy(bufferBytes: bufferBytes)
        }
        easy.delegate = self
        body = .undecided
        failure = nil
        addressRefusal = nil
        isPostponed = false
        windowStartedAt = nil
        requestedAt = MonotonicClock.nowSeconds
        pace = PaceWindow(startedAt: requestedAt)
        let headers = try loop.headers(headerLines(), of: profile)
        let milliseconds = Int(max(timeouts.connect * 1000, 1))
        try asFailure { () throws(CurlError) in
            try easy.setURL(url)
            try easy.setProfile(curlProfile)
            try easy.setHeaders(headers)
            try easy.setConnectTimeout(milliseconds: milliseconds)
        }
        try checkHost()
        transfer.handle(redirects == 0 ? .connect : .redirect)
        try loop.add(easy)
    }

    /// What its bytes count against.
    var meters: [ByteMeter] { transfer.siteMeter.map { [lane.meter, $0] } ?? [lane.meter] }

    /// The bytes a second that it may have at most, with all that share them; nil without a bound.
    var boundedRate: Double? { meters.compactMap(\.rate).min() }

    /// There is a bound to its bytes a second.
    var isBounded: Bool {
        lane.meter.isBounded || transfer.siteMeter?.isBounded == true
    }

    /// Of a limited rate, a small part at a time.
    private var bufferBytes: Int {
        guard let rate = boundedRate else { return loop.options.bufferBytes }
        return min(max(Int(min(rate / 40, 1e6)), 1_024), loop.options.bufferBytes)
    }

    private func headerLines() -> [String] {
        (isAtOrigin ? request.headers : []) + rangeLines
            + (request.validator.map { [Validator.condition($0)] } ?? [])
    }

    // MARK: The body

    private func accept(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
        guard body == .wanted else {
            received += Int64(bytes.count)
            // The status is known; the rest of a long page is of no use.
            guard received <= Self.discardedBytesLimit else { throw .discardedEnough }
            return
        }
        if splitCandidate != nil { try considerSplit(next: bytes.count) }
        var bytes = bytes
        if let wantedBytes, received + Int64(bytes.count) > wantedBytes {
            guard isFirstPart else {
                throw problem(
                    request.range == nil ? "content.lengthMismatch" : "origin.rangeMismatch",
                    "more than the \(wantedBytes) bytes expected")
            }
            bytes = UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(wantedBytes - received)))
        }
        guard received + Int64(bytes.count) <= maximumBytes else {
            throw problem("origin.tooLarge", "more than \(maximumBytes) bytes")
        }
        try sniff(bytes)
        if let collected { collected.append(bytes) } else { digests.update(bytes) }
        if let object {
            try object.write(bytes, at: (request.range?.offset ?? 0) + received)
        } else if let sink {
            try write(bytes, to: sink)
        } else {
            memory.append(contentsOf: bytes)
        }
        received += Int64(bytes.count)
        transfer.add(receivedBytes: bytes.count)
        lane.add(receivedBytes: bytes.count)
        if received >= nextNote { note() }
    }

    private func write(
        _ bytes: UnsafeRawBufferPointer, to sink: any TransferSink
    ) throws(Failure) {
        let began = MonotonicClock.nowSeconds
        try sink.write(bytes, at: (request.range?.offset ?? 0) + received)
        // A pipe that nobody reads from is no slow origin.
        if let start = windowStartedAt {
            windowStartedAt = start + MonotonicClock.nowSeconds - began
        }
    }

    private func sniff(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
        guard start.count < WebPage.sniffBytes, refusesPages, resumedBytes == 0 else { return }
        start.append(contentsOf: bytes.prefix(WebPage.sniffBytes - start.count))
        if WebPage.isStart(start) {
            throw problem("content.unexpectedType", "an HTML page")
        }
    }

    private lazy var isNamedAsMedia = WebPage.isMedia(at: request.url)

    /// True where a page can only be an error or a login form.
    private var refusesPages: Bool {
        guard !request.isManifest else { return true }
        switch request.role {
        case .media, .`init`, .subtitles, .playlist, .image, .key, .index:
            return (request.range?.offset ?? 0) == 0
        case .file: return (request.range?.offset ?? 0) == 0 && isNamedAsMedia
        case .data: return false
        }
    }

    /// True for an answer typed as a page where none is wanted.
    func refusesPage(typed contentType: String?) -> Bool {
        guard WebPage.isType(contentType) else { return false }
        if refusesPages { return true }
        return request.role == .file && !WebPage.isExpected(at: request.url)
    }

    // MARK: The end

    /// Ends the transfer now, from outside of libcurl's callbacks.
    func end(_ failure: Failure) {
        loop.remove(easy)
        finish(orWhenOpened: failure)
    }

    func finish(_ failure: Failure, retryAfterSeconds: Double? = nil) {
        transfer.handle(.fail)
        var result = TransferResult(.failure(failure))
        result.left = leave(after: failure)
        result.retryAfterSeconds = retryAfterSeconds
        finish(result)
    }

    private func finish(_ result: TransferResult) { loop.finish(self, described(result)) }

    /// With what the answer and its transfer say, while the handle is this transfer's.
    private func described(_ result: TransferResult) -> TransferResult {
        var result = result
        if !lane.origin.isEmpty { result.origin = lane.origin }
        let status = easy.status
        result.httpStatus = status > 0 ? status : nil
        result.httpVersion = easy.httpVersion
        result.timings = easy.timings
        return result
    }

    /// Ends a transfer whose object the origin has not changed.
    func finishUnchanged() {
        transfer.handle(.adopt)
        var fetched = Fetched(bytes: 0, sha256: "", finalURL: url)
        fetched.isUnchanged = true
        finish(TransferResult(.success(fetched)))
    }

    /// Keeps an answer whose body is complete.
    private func succeed() {
        do throws(Failure) {
            try checkWhole()
            var fetched = makeFetched()
            if let body = collected.take() {
                return loop.finish(
                    self, unhashed: body, described(TransferResult(.success(fetched))))
            }
            let computed = digests.finish()
            try check(&fetched, computed.sha256, computed.others)
            finish(TransferResult(.success(fetched)))
        } catch {
            if error.code == "integrity.digestMismatch", isMixed {
                askForWhole()
            } else {
                finish(error)
            }
        }
    }

    /// A failure of this transfer: what was asked, redacted, and what is wrong with it.
    func problem(_ code: FailureCode, _ message: String) -> Failure {
        Failure(code, "\(Redaction.shown(url, limit: 2_000)): \(message)")
    }
}

extension ActiveTransfer: CurlEasyDelegate {
    func curl(_ easy: CurlEasy, received bytes: UnsafeRawBufferPointer) -> CurlEasy.Flow {
        do throws(Failure) {
            if body == .undecided { try decide(mayWait: true) }
            if opening != nil || isBounded && !loop.takes(bytes.count, self) {
                pace.wasHeldBack = true
                return .pause
            }
            try accept(bytes)
        } catch {
            failure = error
            return .abort
        }
        return isFirstPart && received == wantedBytes ? .abort : .proceed
    }

    func curl(_ easy: CurlEasy, admits address: PeerAddress) -> Bool {
        // A proxy is the operator's own; what is behind it this socket does not tell.
        var refusal = profile.usesProxy ? nil : loop.options.addressPolicy.refusal(of: address)
        if refusal == nil, !profile.usesProxy, request.admitsAddress?(address) == false {
            refusal = Failure(
                "origin.addressNotOfTarget",
                "\(address.text) is not an address that this host had before the load")
        }
        // Several addresses may be tried: one that is admitted is enough.
        addressRefusal = refusal
        guard refusal == nil else { return false }
        guard lane.isLimited else { return true }
        isPostponed = !loop.mayOpen(self)
        return !isPostponed
    }

    func curl(_ easy: CurlEasy, opened socket: Int32) { loop.opened(socket, self) }

    func curlMaySend(_ easy: CurlEasy) -> Bool {
        guard lane.isLimited else { return true }
        isPostponed = !loop.maySend(self)
        return !isPostponed
    }

    /// So often a transfer may come to a connection and find no place.
    private static let maximumPostponements = 100

    func curl(_ easy: CurlEasy, finished code: CurlCode) {
        if isPostponed, body == .undecided, code != .ok, easy.status == 0 {
            // Nothing was asked of the origin: this is no fault of its or of the segment's.
            guard postponements < Self.maximumPostponements else {
                return finish(redirects == 0 ? .noShare : .noShareBehindRedirect)
            }
            postponements += 1
            do throws(Failure) { try loop.move(self, to: hop(to: url), later: true) } catch {
                finish(error)
            }
            return
        }
        if opening != nil { return finish(orWhenOpened: failure ?? transportFailure(code)) }
        if let failure, failure != .discardedEnough { return end(with: failure) }
        if isFirstPart, received == wantedBytes { return succeed() }
        // An answer without a body is judged here.
        if body == .undecided, code == .ok {
            do throws(Failure) { try decide(mayWait: false) } catch { return end(with: error) }
        }
        switch body {
        case .wanted where code == .ok: succeed()
        case .discarded: conclude()
        case .wanted, .undecided: finish(transportFailure(code))
        }
    }
}

extension Failure {
    /// Never leaves the transfer: the answer's status is its failure.
    static let discardedEnough = Failure("origin.tooLarge", "an error page")
}
