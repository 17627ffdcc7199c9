internal import Curl
internal import EventLoop
internal import LoadModel
internal import Model
internal import Titles
internal import Transfer

/// Sends requests through libcurl: those over TLS, over HTTP/2, and all others that
/// `HTTP1Transport` does not take.
///
/// Its connections are spread over several multi handles. Before each request libcurl scans all
/// connections that one multi handle has to the host.
final class CurlTransport: LoadTransport {
    /// Settings common to all its requests.
    struct Settings {
        var http: LoadHTTP
        var userAgent: String
        var bufferBytes: Int
        /// Connections of all multi handles together.
        var connections: Int
        var multis: Int
        var opensConnections: Bool
        /// Number of viewers that came before.
        var viewers = 0
    }

    private unowned let loop: LoadLoop
    private let settings: Settings
    private let profile: CurlProfile
    private let headers: CurlHeaders?
    private var multis: [CurlMulti] = []
    /// Number of viewers with a connection in each multi handle.
    private var viewers: [Int]
    private var exchangesMade = 0

    init(_ loop: LoadLoop, _ settings: Settings) throws(CurlError) {
        self.loop = loop
        self.settings = settings
        profile = LoadEngine.profile(settings.http, userAgent: settings.userAgent)
        let lines = settings.http.headers.map(\.line)
        headers = lines.isEmpty ? nil : try CurlHeaders(lines)
        viewers = Array(repeating: 0, count: settings.multis)
        viewers[0] = settings.viewers
        var limits = CurlMulti.Limits()
        limits.totalConnections = connectionsOfMulti
        for _ in 0..<settings.multis {
            multis.append(try CurlMulti(loop: loop.loop, limits: limits))
        }
    }

    /// Maximum number of connections of one multi handle.
    private var connectionsOfMulti: Int {
        (settings.connections + settings.multis - 1) / settings.multis
    }

    // MARK: Viewers

    /// Returns the multi handle for the connection of a new viewer.
    func viewerComes() -> Int {
        let least = viewers.indices.min { viewers[$0] < viewers[$1] } ?? 0
        viewers[least] += 1
        return least
    }

    func viewerLeaves(_ multi: Int) { viewers[multi] -= 1 }

    // MARK: Requests

    func send(_ request: LoadRequest, opensConnection: Bool) throws(Failure) {
        do throws(CurlError) {
            let exchange = try exchange(of: request)
            let addition = request.addition
            let object = loop.object(request.object)
            try exchange.set(
                for: request.detour == nil ? request.object.index : -1, object.range,
                request.detour?.url ?? object.url, addition)
            try exchange.set(headers(addition))
            if settings.opensConnections { try exchange.setOpensConnection(opensConnection) }
            let multi = multi(for: exchange, request.owner)
            exchange.begin(request, multi: multi)
            try multis[multi].add(exchange.easy)
        } catch {
            throw Failure(.workerInternal, error.description)
        }
    }

    /// Returns the multi handle of the request's connections, or the least busy one if that is
    /// full.
    private func multi(for exchange: CurlExchange, _ owner: LoadRequest.Owner) -> Int {
        let wanted =
            settings.opensConnections ? owner.multi ?? exchange.ownMulti : exchange.ownMulti
        guard multis[wanted].activeCount >= connectionsOfMulti else { return wanted }
        return multis.indices.min { multis[$0].activeCount < multis[$1].activeCount } ?? wanted
    }

    /// The headers of all requests, with those of a viewer.
    private func headers(_ addition: ViewerAddition?) throws(CurlError) -> CurlHeaders? {
        guard let addition, !addition.headers.isEmpty else { return headers }
        if let known = addition.curl { return known }
        let all = try CurlHeaders(settings.http.headers.map(\.line) + addition.headers)
        addition.curl = all
        return all
    }

    private func exchange(of request: LoadRequest) throws(CurlError) -> CurlExchange {
        if let exchange = request.curl { return exchange }
        var options = CurlEasy.Options(userAgent: settings.userAgent)
        options.bufferBytes = settings.bufferBytes
        let easy = try CurlEasy(options: options)
        try easy.setProfile(profile)
        try easy.setHeaders(headers)
        try easy.setGet()
        let http = settings.http
        try easy.setConnectTimeout(milliseconds: Int(http.connectTimeoutSeconds * 1000))
        try easy.setTotalTimeout(milliseconds: Int(http.timeoutSeconds * 1000))
        let exchange = CurlExchange(easy, self, ownMulti: exchangesMade % multis.count)
        exchangesMade += 1
        request.curl = exchange
        return exchange
    }

    func drop(_ request: LoadRequest) {
        guard let exchange = request.curl else { return }
        exchange.copyResponse()
        remove(exchange)
        exchange.easy.delegate = nil
    }

    /// Takes a transfer that is over, or to be dropped, from libcurl.
    fileprivate func remove(_ exchange: CurlExchange) {
        if !multis.isEmpty { multis[exchange.multi].remove(exchange.easy) }
    }

    func close() {
        for multi in multis { multi.close() }
        multis = []
    }
}

/// An easy handle, used for one request after another.
final class CurlExchange: CurlEasyDelegate {
    let easy: CurlEasy
    private unowned let transport: CurlTransport
    private unowned(unsafe) var request: LoadRequest?
    /// The multi handle for requests whose owner has none.
    let ownMulti: Int
    /// The multi handle of the last request.
    private(set) var multi = 0
    /// Index in the plan of the object that the handle is set for; -1 at first.
    private var object = -1
    private var url = ""
    private var hasRange = false
    private var opensConnection = false
    /// True once libcurl has begun to send the request.
    private var isSent = false
    /// Ends a pause of receiving.
    private var linkTimer: LoopTimer?
    /// True if the bytes that libcurl offers have passed the viewer's link.
    private var hasPassedLink = false

    init(_ easy: CurlEasy, _ transport: CurlTransport, ownMulti: Int) {
        self.easy = easy
        self.transport = transport
        self.ownMulti = ownMulti
    }

    func set(
        for index: Int, _ range: SegmentRange?, _ url: String, _ addition: ViewerAddition?
    ) throws(CurlError) {
        guard index < 0 || index != object || addition != nil else { return }
        object = -1
        var text = url
        if let addition, !addition.query.isEmpty {
            text += (text.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + addition.query
        }
        try easy.setURL(text)
        if let range {
            let last = range.length.map { "\(range.offset + $0 - 1)" } ?? ""
            try easy.setRange("\(range.offset)-\(last)")
        } else if hasRange {
            try easy.setRange(nil)
        }
        hasRange = range != nil
        self.url = url
        object = addition == nil ? index : -1
    }

    func set(_ headers: CurlHeaders?) throws(CurlError) { try easy.setHeaders(headers) }

    func setOpensConnection(_ opens: Bool) throws(CurlError) {
        guard opens != opensConnection else { return }
        try easy.setOpensConnection(opens)
        opensConnection = opens
    }

    func begin(_ request: LoadRequest, multi: Int) {
        self.request = request
        self.multi = multi
        isSent = false
        easy.delegate = self
    }

    /// Copies status and connection times from libcurl to the request.
    func copyResponse() {
        request?.response.status = easy.status
        request?.response.openedConnection = easy.openedConnection
        request?.response.connectSeconds = easy.secondsUntilSent
        linkTimer?.cancel()
        hasPassedLink = false
        if request?.isRedirect == true { request?.response.location = easy.header("Location") }
        if easy.status == 429 {
            request?.response.retryAfterSeconds = RetryAfter.seconds(
                easy.header("Retry-After"), date: easy.header("Date"))
        }
        request?.response.cache = CacheFinding(CacheHeaders { [easy] in easy.headers($0) }.answer)
    }

    func curl(_ easy: CurlEasy, received bytes: UnsafeRawBufferPointer) -> CurlEasy.Flow {
        if let request, let link = request.link, !hasPassedLink {
            let now = request.nowSeconds
            link.take(bytes.count, atSeconds: now)
            let wait = link.waitSeconds(now)
            if wait > 0 {
                hasPassedLink = true
                request.schedule(&linkTimer, afterSeconds: wait) { [weak self] in
                    self?.resume()
                }
                return .pause
            }
        }
        hasPassedLink = false
        return request?.receives(bytes) == true ? .proceed : .abort
    }

    /// Continues after a pause.
    private func resume() {
        let code = easy.resume()
        guard code != .ok else { return }
        transport.remove(self)
        curl(easy, finished: code)
    }

    /// Uses the loop's clock: libcurl's own time starts only when libcurl processes the request,
    /// which may be later than its sending.
    func curlBeginsAnswer(_ easy: CurlEasy) { request?.beginsAnswer() }

    /// libcurl sends a request again if the server has closed the kept connection.
    func curlMaySend(_ easy: CurlEasy) -> Bool {
        if isSent { request?.isSentAgain() }
        isSent = true
        return true
    }

    func curl(_ easy: CurlEasy, admits address: PeerAddress) -> Bool {
        request?.admits(address) == true
    }

    func curl(_ easy: CurlEasy, finished code: CurlCode) {
        copyResponse()
        easy.delegate = nil
        request?.ended(end(code))
    }

    private func end(_ code: CurlCode) -> LoadRequestEnd {
        if code == .ok { return .answered }
        if easy.hasTooLongHeader(code) { return .failed(.originProtocol) }
        if code == .writeError { return .cutOff }
        if let rejection = request?.response.addressRejection, code == .couldNotConnect {
            return .failed(rejection)
        }
        return .failed(easy.failureCode(of: code, url: url))
    }
}
