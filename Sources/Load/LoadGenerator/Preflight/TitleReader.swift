internal import LoadModel
package import Model
internal import Services
package import Titles
package import Transfer

/// Fetches and parses a title's manifests.
package struct TitleReader: Sendable {
    private let engine: TransferEngine
    private let group: String
    private let headers: [String]
    private let prepare: Preparation?
    /// Maximum number of redirects that it follows itself, each prepared like a request; those of
    /// requests that are not prepared are the engine's.
    private let maxRedirects: Int
    private let log: Logger

    /// Changes or rejects a request before it is sent.
    typealias Preparation =
        @Sendable (TransferRequest) async -> Result<TransferRequest, Failure>

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - group: identifies the transfers for cancellation.
    ///   - headers: lines of every request.
    package init(engine: TransferEngine, group: String, headers: [String] = []) {
        self.init(engine: engine, group: group, headers: headers, maxRedirects: 0, prepare: nil)
    }

    init(
        engine: TransferEngine, group: String, headers: [String], maxRedirects: Int,
        prepare: Preparation?
    ) {
        self.maxRedirects = maxRedirects
        self.engine = engine
        self.group = group
        self.headers = headers
        self.prepare = prepare
        log = Logger(group)
    }

    /// Returns a resolver that has all manifests and segment indexes.
    ///
    /// - Parameter nowSeconds: time since 1970 at which a live title is captured.
    ///
    /// Throws failures of transfers and of `TitleResolver`.
    package func read(
        _ url: String, _ kind: AssetKind, _ options: TitleOptions = TitleOptions(),
        nowSeconds: Double
    ) async throws(Failure) -> TitleResolver {
        var resolver = try TitleResolver(
            url: url, kind: kind, options: options, snapshotSeconds: nowSeconds, readsIndexes: true)
        while !resolver.isComplete {
            let requests = resolver.next()
            let answers = await withTaskGroup(of: (ManifestRequest, Answer).self) { group in
                for request in requests {
                    group.addTask { (request, await fetch(request)) }
                }
                return await group.reduce(into: [ManifestRequest: Answer]()) { $0[$1.0] = $1.1 }
            }
            for request in requests {
                if request.range != nil {
                    take(answers[request], of: request, &resolver)
                    continue
                }
                guard let manifest = try answers[request]?.get() else { continue }
                try resolver.receive(
                    request, finalURL: manifest.response.finalURL, body: manifest.body ?? [],
                    sha256: manifest.sha256, contentType: manifest.response.contentType,
                    answeredSeconds: manifest.response.answeredSeconds)
            }
        }
        return resolver
    }

    private typealias Answer = Result<Fetched, Failure>

    /// Adds a file's segment index. A title without it can still be stored, as its file is listed
    /// whole.
    private func take(
        _ answer: Answer?, of request: ManifestRequest, _ resolver: inout TitleResolver
    ) {
        do throws(Failure) {
            try resolver.receiveIndex(request, try answer?.get().body)
        } catch {
            log.warning("cannot read segment index", ["code": error.code, "error": error])
            // Marks it as answered, so that it is not requested again.
            try? resolver.receiveIndex(request, nil)
        }
    }

    private func fetch(_ manifest: ManifestRequest) async -> Answer {
        var request = TransferRequest(
            url: manifest.url, group: group, destination: .memory,
            role: manifest.range == nil ? .playlist : .index)
        request.expected.maximumBytes = Int64(TitleResolver.maximumBytes)
        request.access.headers = headers
        if let range = manifest.range, let length = range.length {
            request.range = TransferRequest.ByteRange(offset: range.offset, length: length)
            request.expected.maximumBytes = length
        }
        var route = RedirectRoute(request.url, atMost: maxRedirects)
        var result = await result(of: request)
        while let next = result.redirect, maxRedirects > 0 {
            do throws(Failure) { request.url = try route.follow(to: next) } catch {
                return .failure(error)
            }
            result = await self.result(of: request)
        }
        return result.outcome.mapError { failure in
            switch failure.code {
            case .contentUnexpectedType: Failure(.manifestHTML, failure.message)
            case .originTooLarge: Failure(.manifestTooLarge, failure.message)
            default: failure
            }
        }
    }

    private func result(of request: TransferRequest) async -> TransferResult {
        var ready = request
        if let prepare {
            switch await prepare(request) {
            case .success(let prepared): ready = prepared
            case .failure(let failure): return TransferResult(.failure(failure))
            }
        }
        return await withTaskCancellationHandler { [ready] in
            await withCheckedContinuation { continuation in
                engine.submit(ready) { _, result in continuation.resume(returning: result) }
            }
        } onCancel: {
            engine.cancelAll(group: group)
        }
    }
}
