internal import Curl
internal import Digest
internal import EventLoop
internal import Model
internal import Storage

/// A transfer that has a slot: one request after another until there is an answer to keep.
///
/// Confined to its loop. What it does next is decided by `life`; this performs it. The body goes from
/// libcurl's buffer through the digest to its destination without being copied or queued.
final class ActiveTransfer {
    static let maximumRedirects = 5

    let transfer: Transfer
    private(set) var easy: CurlEasy
    unowned let loop: TransferLoop
    /// Where the transfer counts: the origin of its URL.
    private(set) var lane: OriginLane
    /// The settings of that origin.
    private(set) var profile: OriginProfile
    /// How it came to its URL.
    var route: Route
    var life = TransferLife()
    var watch: TransferWatch
    var turn = Turn.open

    /// Whether it may take bytes of a limited rate.
    enum Turn {
        /// Like any other.
        case open
        /// It is paused, and waits in line.
        case waiting
        /// It has waited, and is the first.
        case next
    }

    var request: TransferRequest { transfer.request }
    var url: String { route.url }

    init(_ waiting: Waiting, easy: CurlEasy, loop: TransferLoop) throws(Failure) {
        let now = MonotonicClock.nowSeconds
        transfer = waiting.transfer
        lane = waiting.lane
        self.easy = easy
        self.loop = loop
        route =
            waiting.route?.resumed(now)
            ?? Route(url: transfer.request.url, redirects: 0, isAtOrigin: true, startedAt: now)
        profile = loop.profiles.profile(of: lane.origin, url: route.url)
        watch = TransferWatch(now: now)
        try Self.check(transfer.request)
    }

    /// Continues at another URL, or at the same one again.
    func follow(_ route: Route, _ lane: OriginLane) {
        self.lane = lane
        self.route = route
        profile = loop.profiles.profile(of: lane.origin, url: url)
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
        life.connect()
        watch.connect(now: MonotonicClock.nowSeconds)
        let headers = try loop.headers(headerLines(), of: profile)
        let milliseconds = Int(max(timeouts.connect * 1000, 1))
        try asFailure { () throws(CurlError) in
            try easy.setURL(url)
            try easy.setProfile(curlProfile)
            try easy.setHeaders(headers)
            try easy.setConnectTimeout(milliseconds: milliseconds)
        }
        try checkHost()
        transfer.handle(.connect)
        try loop.add(easy)
    }

    /// What its bytes count against.
    private var meters: [ByteMeter] { transfer.siteMeter.map { [lane.meter, $0] } ?? [lane.meter] }

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
        (route.isAtOrigin ? request.headers : []) + rangeLines
            + (request.validator.map { [Validator.condition($0)] } ?? [])
    }

    // MARK: The end

    /// Ends the transfer now, from outside of libcurl's callbacks.
    func end(_ failure: Failure) {
        loop.remove(easy)
        finish(orWhenOpened: failure)
    }

    /// Ends with `failure`: now, or when the destination that is being opened is open.
    func finish(orWhenOpened failure: Failure) {
        if life.mayEnd(with: failure) { finish(failure) }
    }

    func finish(_ failure: Failure, retryAfterSeconds: Double? = nil) {
        transfer.handle(.fail)
        var result = TransferResult(.failure(failure))
        result.left = leave(after: failure)
        result.retryAfterSeconds = retryAfterSeconds
        finish(result)
    }

    /// Ends a transfer whose object the origin has not changed.
    func finishUnchanged() {
        transfer.handle(.notModified)
        var fetched = Fetched(bytes: 0, sha256: "", finalURL: url)
        fetched.isUnchanged = true
        finish(TransferResult(.success(fetched)))
    }

    func finish(_ result: TransferResult) { loop.finish(self, described(result)) }

    /// With what the answer and its transfer say, while the handle is this transfer's.
    func described(_ result: TransferResult) -> TransferResult {
        var result = result
        if !lane.origin.isEmpty { result.origin = lane.origin }
        let status = easy.status
        result.httpStatus = status > 0 ? status : nil
        result.httpVersion = easy.httpVersion
        result.timings = easy.timings
        return result
    }

    /// Ends with a failure of this side, or sends the request again where that is what it means.
    func end(with failure: Failure) {
        guard failure == .askAgain else { return finish(failure) }
        move(to: route, later: false)
    }

    /// Sends the request that `route` leads to: now, or when its origin has a slot.
    func move(to route: Route, later: Bool) {
        do throws(Failure) {
            try loop.move(self, to: route, later: later)
        } catch {
            finish(error)
        }
    }

    /// A failure of this transfer: what was requested, redacted, and what is wrong with it.
    func problem(_ code: FailureCode, _ message: String) -> Failure {
        Failure(code, of: url, message)
    }
}

extension ActiveTransfer: CurlEasyDelegate {
    func curl(_ easy: CurlEasy, received bytes: UnsafeRawBufferPointer) -> CurlEasy.Flow {
        do throws(Failure) {
            if life.isUndecided { try decide(mayWait: true) }
            if life.isOpening || isBounded && !loop.takes(bytes.count, self) {
                watch.holdBack()
                return .pause
            }
            try accept(bytes)
        } catch {
            life.abort(error)
            return .abort
        }
        return life.hasFirstPart ? .abort : .proceed
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
        life.tries(addressRefusedWith: refusal)
        guard refusal == nil else { return false }
        guard lane.isLimited else { return true }
        return life.asksLimits(admitted: loop.mayOpen(self))
    }

    func curl(_ easy: CurlEasy, opened socket: Int32) { loop.opened(socket, self) }

    func curlMaySend(_ easy: CurlEasy) -> Bool {
        guard lane.isLimited else { return true }
        return life.asksLimits(admitted: loop.maySend(self))
    }

    func curl(_ easy: CurlEasy, finished code: CurlCode) {
        perform(life.requestEnded(isComplete: code == .ok, status: easy.status), code)
    }

    private func perform(_ ending: TransferLife.Ending, _ code: CurlCode) {
        switch ending {
        case .postpone: postpone()
        case .awaitDestination: finish(orWhenOpened: transportFailure(code))
        case .fail(let failure): end(with: failure)
        case .failInTransport(let refusal):
            finish(transportFailure(code, addressRefusal: refusal))
        case .conclude: conclude()
        case .check(let receiving): check(receiving)
        case .judge:
            // An answer without a body is judged here.
            do throws(Failure) { try decide(mayWait: false) } catch { return end(with: error) }
            perform(life.requestEnded(isComplete: true, status: easy.status), code)
        }
    }

    /// So often a transfer may find no connection or request left for it.
    private static let maximumPostponements = 100

    /// Nothing was asked of the origin: this is no failure of its or of the segment's.
    private func postpone() {
        guard route.postponements < Self.maximumPostponements else {
            return finish(route.redirects == 0 ? .noShare : .noShareBehindRedirect)
        }
        route.postponements += 1
        move(to: route, later: true)
    }
}
