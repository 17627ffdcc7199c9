internal import Curl
internal import EventLoop
package import LoadModel
package import Model
internal import Titles
internal import Transfer

/// Requests objects before the load.
package protocol LoadProbe: Sendable {
    /// Returns the answer for each object, in order.
    func ask(
        _ objects: [LoadPlan.Object], _ http: LoadHTTP, _ addresses: LoadAddresses
    ) async -> [LoadProbeAnswer]
}

package enum LoadProbeAnswer: Sendable {
    /// A load would count it as good.
    case good
    /// The location of a redirect, which may be relative, and the failure that it is unless it is followed.
    case redirect(String, Failure)
    case failed(Failure)

    var failure: Failure? {
        switch self {
        case .good: nil
        case .redirect(_, let failure), .failed(let failure): failure
        }
    }
}

/// Requests each object as a load does, concurrently and on its own thread, and closes when the
/// body begins. It retries transient failures twice.
package struct CurlLoadProbe: LoadProbe {
    package init() {}

    package func ask(
        _ objects: [LoadPlan.Object], _ http: LoadHTTP, _ addresses: LoadAddresses
    ) async -> [LoadProbeAnswer] {
        guard !objects.isEmpty else { return [] }
        let loop: EventLoop
        do { loop = try EventLoop(name: "probe") } catch {
            return objects.map { _ in .failed(Failure(.workerInternal, "\(error)")) }
        }
        defer { loop.shutdown() }
        let run = ProbeRun(loop, objects, http, addresses)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { run.begin($0) }
        } onCancel: {
            run.cancel()
        }
    }
}

extension LoadPlan.Object {
    /// Returns the failure that a load counts for a status; nil for the expected one.
    func failure(ofStatus status: Int) -> FailureCode? {
        switch status {
        case 200: range != nil ? .originRangeIgnored : nil
        case 206: range == nil ? .originRangeMismatch : nil
        case 201..<300: nil
        case 300..<400: .originRedirected
        case 400...: FailureCode.origin(httpStatus: status)
        default: .originProtocol
        }
    }
}

/// `@unchecked`: everything but `begin` and `cancel` runs on the loop's thread.
private final class ProbeRun: @unchecked Sendable {
    private static let requestsAtOnce = 16
    private static let maxTries = 3

    private let loop: EventLoop
    private let objects: [LoadPlan.Object]
    private let http: LoadHTTP
    let addresses: LoadAddresses
    private var multi: CurlMulti?
    private let profile: CurlProfile
    private var headers: CurlHeaders?
    private var active = 0
    private var next = 0
    private var answers: [LoadProbeAnswer]
    private var isCancelled = false
    private var continuation: CheckedContinuation<[LoadProbeAnswer], Never>?

    init(
        _ loop: EventLoop, _ objects: [LoadPlan.Object], _ http: LoadHTTP,
        _ addresses: LoadAddresses
    ) {
        self.loop = loop
        self.objects = objects
        self.http = http
        self.addresses = addresses
        profile = LoadEngine.profile(http, userAgent: LoadEngine.Options().userAgent)
        answers = objects.map { _ in .good }
    }

    // MARK: From any thread

    func begin(_ continuation: CheckedContinuation<[LoadProbeAnswer], Never>) {
        loop.execute { [self] in
            self.continuation = continuation
            let open = { [self] () throws(CurlError) in
                var limits = CurlMulti.Limits()
                limits.totalConnections = Self.requestsAtOnce
                multi = try CurlMulti(loop: loop, limits: limits)
                let lines = http.headers.map(\.line)
                if !lines.isEmpty { headers = try CurlHeaders(lines) }
            }
            do throws(CurlError) { try open() } catch {
                return end(Failure(.workerInternal, error.description))
            }
            isCancelled ? end(.preflightCancelled) : proceed()
        }
    }

    func cancel() {
        loop.execute { [self] in
            isCancelled = true
            end(.preflightCancelled)
        }
    }

    // MARK: On the loop

    private func proceed() {
        while active < Self.requestsAtOnce, next < objects.count {
            let index = next
            next += 1
            send(ProbeRequest(index, self))
        }
        if active == 0 { end(nil) }
    }

    private func send(_ request: ProbeRequest) {
        request.tries += 1
        let start = { [self] () throws(CurlError) in
            let object = objects[request.index]
            let easy = try CurlEasy(
                options: CurlEasy.Options(userAgent: profile.settings.userAgent))
            try easy.setProfile(profile)
            try easy.setHeaders(headers)
            try easy.setGet()
            try easy.setConnectTimeout(milliseconds: Int(http.connectTimeoutSeconds * 1000))
            try easy.setTotalTimeout(milliseconds: Int(http.timeoutSeconds * 1000))
            try easy.setURL(object.url)
            if let range = object.range {
                let last = range.length.map { "\(range.offset + $0 - 1)" } ?? ""
                try easy.setRange("\(range.offset)-\(last)")
            }
            easy.delegate = request
            try multi?.add(easy)
            active += 1
        }
        do throws(CurlError) { try start() } catch {
            answers[request.index] = .failed(Failure(.workerInternal, error.description))
        }
    }

    func rejection(of address: PeerAddress, _ request: ProbeRequest) -> FailureCode? {
        addresses.rejection(of: address, for: objects[request.index].url)
    }

    func ended(_ request: ProbeRequest, _ easy: CurlEasy, _ code: CurlCode) {
        active -= 1
        easy.delegate = nil
        let answer = answer(to: request, easy, code)
        if let failure = answer.failure, Self.isPassing(failure.code),
            request.tries < Self.maxTries
        {
            request.hasBody = false
            send(request)
        } else {
            answers[request.index] = answer
        }
        proceed()
    }

    /// Returns true for transient failures.
    private static func isPassing(_ code: FailureCode) -> Bool {
        code == .originReset || code == .originHTTP429
            || code.httpStatusClass == 5
    }

    private func answer(
        to request: ProbeRequest, _ easy: CurlEasy, _ code: CurlCode
    ) -> LoadProbeAnswer {
        let object = objects[request.index]
        guard code == .ok || code == .writeError && request.hasBody else {
            if let rejection = request.addressRejection, code == .couldNotConnect {
                return .failed(Failure(rejection, "its address is not allowed"))
            }
            let detail = easy.errorDetail
            return .failed(
                Failure(
                    easy.failureCode(of: code, url: object.url),
                    detail.isEmpty ? code.message : detail))
        }
        guard let code = object.failure(ofStatus: easy.status) else { return .good }
        guard code == .originRedirected, let location = easy.header("Location") else {
            return .failed(Failure(code, "status \(easy.status)"))
        }
        let failure = Failure(code, "a redirect to \(Redaction.shown(location))")
        return LoadRequest.isRedirect(easy.status) ? .redirect(location, failure) : .failed(failure)
    }

    private func end(_ failure: Failure?) {
        guard let continuation else { return }
        self.continuation = nil
        multi?.close()
        multi = nil
        headers = nil
        continuation.resume(
            returning: failure.map { one in objects.map { _ in .failed(one) } } ?? answers)
    }
}

extension Failure {
    static let preflightCancelled = Failure(.workerCancelled, "the preflight was cancelled")
}

/// One object's request. Confined to its loop.
private final class ProbeRequest: CurlEasyDelegate {
    let index: Int
    private unowned let run: ProbeRun
    var tries = 0
    var hasBody = false
    private(set) var addressRejection: FailureCode?

    init(_ index: Int, _ run: ProbeRun) {
        self.index = index
        self.run = run
    }

    func curl(_ easy: CurlEasy, received bytes: UnsafeRawBufferPointer) -> CurlEasy.Flow {
        hasBody = true
        return .abort
    }

    func curl(_ easy: CurlEasy, admits address: PeerAddress) -> Bool {
        addressRejection = run.rejection(of: address, self)
        return addressRejection == nil
    }

    func curl(_ easy: CurlEasy, finished code: CurlCode) { run.ended(self, easy, code) }
}
