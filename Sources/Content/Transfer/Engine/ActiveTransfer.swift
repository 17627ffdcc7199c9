internal import Curl
internal import Digest
internal import EventLoop
internal import Model
internal import Storage

/// A transfer with a slot: sends one request after another until a response can be kept.
///
/// Confined to its loop. `life` decides the next step; this class performs it. The body goes from
/// libcurl's buffer through the digest to its destination without copies or queues.
final class ActiveTransfer {
    static let maximumRedirects = 5

    let transfer: Transfer
    private(set) var easy: CurlEasy
    unowned let loop: TransferLoop
    /// The origin that counts the transfer: that of its URL.
    private(set) var origin: OriginState
    /// The settings of that origin.
    private(set) var profile: OriginProfile
    /// The path by which it reached its URL.
    var route: Route
    var life = TransferLife()
    var watch: TransferWatch
    var turn = Turn.open

    /// Its turn for bytes of a limited rate.
    enum Turn {
        /// It has not waited.
        case open
        /// It is paused in the waiting line.
        case waiting
        /// It has waited and is the first in line.
        case next
    }

    var request: TransferRequest { transfer.request }
    var url: String { route.url }

    init(_ waiting: Waiting, easy: CurlEasy, loop: TransferLoop) throws(Failure) {
        let now = MonotonicClock.nowSeconds
        transfer = waiting.transfer
        origin = waiting.origin
        self.easy = easy
        self.loop = loop
        route =
            waiting.route?.resumed(now)
            ?? Route(url: transfer.request.url, redirects: 0, isAtOrigin: true, startedAt: now)
        profile = Self.profile(of: transfer.request, origin, route.url, loop)
        watch = TransferWatch(now: now)
        try Self.check(transfer.request)
    }

    /// Continues at another URL, or repeats the same one.
    func follow(_ route: Route, _ origin: OriginState) {
        self.origin = origin
        self.route = route
        profile = Self.profile(of: request, origin, url, loop)
    }

    private static func check(_ request: TransferRequest) throws(Failure) {
        if let range = request.range, range.offset < 0 || range.length < 1 {
            throw Failure(.workerInternal, "a range of \(range.length) bytes")
        }
        if let digest = request.expected.sha256, SHA256Digest(hex: digest) == nil {
            throw Failure(.inputField, "an expected SHA-256 has 64 hex digits")
        }
    }

    // MARK: Requests

    /// Sends the request for `url`.
    func connect() throws(Failure) {
        // A handle that keeps another buffer size is replaced.
        if !easy.setBuffer(bytes: bufferBytes) {
            easy.delegate = nil
            easy = try CurlHandles.makeEasy(bufferBytes: bufferBytes)
        }
        easy.delegate = self
        life.connect()
        watch.connect(now: MonotonicClock.nowSeconds)
        let headers = try loop.headers(headerLines(), of: profile)
        let milliseconds = Int(max(timeouts.connect * 1000, 1))
        try asFailure { () throws(CurlError) in
            try easy.setURL(requestedURL)
            try easy.setProfile(curlProfile)
            try easy.setConnectTarget(connectTarget)
            try easy.setGet(head: request.isHead)
            try easy.setHeaders(headers)
            try easy.setConnectTimeout(milliseconds: milliseconds)
        }
        try checkHost()
        transfer.handle(.connect)
        try loop.add(easy)
    }

    /// The meters that count its bytes.
    private var meters: [ByteMeter] {
        transfer.siteMeter.map { [origin.meter, $0] } ?? [origin.meter]
    }

    /// Lowest limit of bytes per second that applies to it; nil without a limit.
    var boundedRate: Double? { meters.compactMap(\.rate).min() }

    /// True if a limit of bytes per second applies to it.
    var isBounded: Bool {
        origin.meter.isBounded || transfer.siteMeter?.isBounded == true
    }

    /// Buffer size; for a limited rate, a small part of a second.
    private var bufferBytes: Int {
        guard let rate = boundedRate else { return loop.options.bufferBytes }
        return min(max(Int(min(rate / 40, 1e6)), 1_024), loop.options.bufferBytes)
    }

    private func headerLines() -> [String] {
        (route.isAtOrigin ? request.access.headers : []) + rangeLines
            + (request.validator.map { [Validator.condition($0)] } ?? [])
    }

    // MARK: The transfer's end

    /// Ends the transfer now, from outside of libcurl's callbacks.
    func end(_ failure: Failure) {
        loop.remove(easy)
        finish(orWhenOpened: failure)
    }

    /// Ends with `failure` now, or once the destination that another thread opens is open.
    func finish(orWhenOpened failure: Failure) {
        if life.mayEnd(with: failure) { finish(failure) }
    }

    func finish(
        _ failure: Failure, retryAfterSeconds: Double? = nil, redirect: String? = nil
    ) {
        transfer.handle(.fail)
        var result = TransferResult(.failure(failure))
        result.left = leave(after: failure)
        result.retryAfterSeconds = retryAfterSeconds
        result.redirect = redirect
        finish(result)
    }

    /// Ends a transfer whose object the origin has not changed.
    func finishUnchanged() {
        transfer.handle(.notModified)
        var fetched = Fetched(response: Fetched.Response(finalURL: url))
        fetched.isUnchanged = true
        fetched.response.freshSeconds = freshSeconds
        finish(TransferResult(.success(fetched)))
    }

    /// Ends a HEAD request with what the answer states.
    private func finishDescribed() {
        transfer.handle(.notModified)
        var fetched = Fetched(response: Fetched.Response(finalURL: url))
        fetched.response.lastModified = easy.header("Last-Modified")
        fetched.response.validator = Validator.kept(
            etag: easy.header("ETag"), lastModified: fetched.response.lastModified,
            date: easy.header("Date"))
        var described = Fetched.Description()
        described.modifiedSeconds = fetched.response.lastModified.flatMap { HTTPDate.seconds($0) }
        if easy.header("Content-Encoding") == nil {
            described.bytes = easy.header("Content-Length").flatMap { Int64($0) }
        }
        fetched.described = described
        fetched.response.freshSeconds = freshSeconds
        finish(TransferResult(.success(fetched)))
    }

    /// Freshness of the response to a file or a manifest; that of segments decides nothing.
    var freshSeconds: Int? {
        guard [.file, .playlist].contains(request.role) else { return nil }
        return Freshness { [easy] in easy.headers($0) }.seconds
    }

    func finish(_ result: TransferResult) { loop.finish(self, described(result)) }

    /// Adds values of the response while the handle still belongs to this transfer.
    func described(_ result: TransferResult) -> TransferResult {
        var result = result
        if !origin.name.isEmpty { result.origin = origin.name }
        let status = easy.status
        result.httpStatus = status > 0 ? status : nil
        result.httpVersion = easy.httpVersion
        result.timings = easy.timings
        return result
    }

    /// Ends with a local failure, or repeats the request if `failure` requires it.
    func end(with failure: Failure) {
        guard failure == .askAgain else { return finish(failure) }
        move(to: route, later: false)
    }

    /// Sends the request of `route` now, or when its origin has a slot.
    func move(to route: Route, later: Bool) {
        do throws(Failure) {
            try loop.move(self, to: route, later: later)
        } catch {
            finish(error)
        }
    }

    /// Creates a failure of this transfer with its redacted URL and the reason.
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
        // A proxy is the operator's own; this socket does not show the address behind it.
        var rejection = profile.usesProxy ? nil : loop.options.addressPolicy.rejection(of: address)
        if rejection == nil, !profile.usesProxy, request.access.admitsAddress?(address) == false {
            rejection = Failure(
                .originAddressNotOfTarget,
                "\(address.text) is not an address that this host had before the load")
        }
        // Several addresses may be tried; a single admitted one is enough.
        life.tries(addressRefusedWith: rejection)
        guard rejection == nil else { return false }
        guard origin.isLimited else { return true }
        return life.asksLimits(admitted: loop.mayOpen(self))
    }

    func curl(_ easy: CurlEasy, opened socket: Int32) { loop.opened(socket, self) }

    func curlMaySend(_ easy: CurlEasy) -> Bool {
        guard origin.isLimited else { return true }
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
        case .failInTransport(let rejection):
            finish(transportFailure(code, addressRejection: rejection))
        case .conclude: conclude()
        case .check(let receiving): check(receiving)
        case .judge:
            if request.isHead { return finishDescribed() }
            // A response without a body is judged here.
            do throws(Failure) { try decide(mayWait: false) } catch { return end(with: error) }
            perform(life.requestEnded(isComplete: true, status: easy.status), code)
        }
    }

    /// Maximum number of times that a transfer may find no free connection or request.
    private static let maximumPostponements = 100

    /// Postpones a transfer that sent no request; neither origin nor segment has failed.
    private func postpone() {
        guard route.postponements < Self.maximumPostponements else {
            return finish(route.redirects == 0 ? .noShare : .noShareBehindRedirect)
        }
        route.postponements += 1
        move(to: route, later: true)
    }
}
