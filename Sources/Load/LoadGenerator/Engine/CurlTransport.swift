internal import Curl
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
            try exchange.set(for: request.object, loop.plan.objects[request.object])
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
        let exchange = CurlExchange(easy, ownMulti: exchangesMade % multis.count)
        exchangesMade += 1
        request.curl = exchange
        return exchange
    }

    func drop(_ request: LoadRequest) {
        guard let exchange = request.curl else { return }
        exchange.tell()
        if !multis.isEmpty { multis[exchange.multi].remove(exchange.easy) }
        exchange.easy.delegate = nil
    }

    func close() {
        for multi in multis { multi.close() }
        multis = []
    }
}

/// An easy handle, used for one request after another.
final class CurlExchange: CurlEasyDelegate {
    let easy: CurlEasy
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

    init(_ easy: CurlEasy, ownMulti: Int) {
        self.easy = easy
        self.ownMulti = ownMulti
    }

    func set(for place: Int, _ wanted: LoadPlan.Object) throws(CurlError) {
        guard place != object else { return }
        object = -1
        try easy.setURL(wanted.url)
        if let range = wanted.range {
            let last = range.length.map { "\(range.offset + $0 - 1)" } ?? ""
            try easy.setRange("\(range.offset)-\(last)")
        } else if hasRange {
            try easy.setRange(nil)
        }
        hasRange = wanted.range != nil
        url = wanted.url
        object = place
    }

    func setOpensConnection(_ opens: Bool) throws(CurlError) {
        guard opens != opensConnection else { return }
        try easy.setOpensConnection(opens)
        opensConnection = opens
    }

    func begin(_ request: LoadRequest, multi: Int) {
        self.request = request
        self.multi = multi
        easy.delegate = self
    }

    /// Copies status and connection times from libcurl to the request.
    func tell() {
        request?.status = easy.status
        request?.openedConnection = easy.openedConnection
        request?.connectSeconds = easy.secondsUntilSent
    }

    func curl(_ easy: CurlEasy, received bytes: UnsafeRawBufferPointer) -> CurlEasy.Flow {
        request?.receives(bytes) == true ? .proceed : .abort
    }

    /// Uses the loop's clock: libcurl's own time starts only when libcurl processes the request,
    /// which may be later than its sending.
    func curlBeginsAnswer(_ easy: CurlEasy) { request?.beginsAnswer() }

    func curl(_ easy: CurlEasy, admits address: PeerAddress) -> Bool {
        request?.admits(address) == true
    }

    func curl(_ easy: CurlEasy, finished code: CurlCode) {
        tell()
        easy.delegate = nil
        request?.ended(end(code))
    }

    private func end(_ code: CurlCode) -> LoadRequestEnd {
        if code == .ok { return .answered }
        if easy.hasTooLongHeader(code) { return .failed(.originProtocol) }
        if code == .writeError { return .cutOff }
        if let refusal = request?.addressRefusal, code == .couldNotConnect {
            return .failed(refusal)
        }
        return .failed(easy.failureCode(of: code, url: url))
    }
}
