package import Model
internal import Services
package import Titles
package import Transfer

/// Fetches a title's manifests from their origin and has them read.
package struct TitleReader: Sendable {
    private let engine: TransferEngine
    private let group: String
    private let headers: [String]
    private let prepare: Preparation?
    private let log: Logger

    /// Changes or refuses a request before it is sent.
    typealias Preparation =
        @Sendable (TransferRequest) async -> Result<TransferRequest, Failure>

    /// - Parameters:
    ///   - group: what the transfers are cancelled by.
    ///   - headers: lines of every request.
    package init(engine: TransferEngine, group: String, headers: [String] = []) {
        self.init(engine: engine, group: group, headers: headers, prepare: nil)
    }

    init(engine: TransferEngine, group: String, headers: [String], prepare: Preparation?) {
        self.engine = engine
        self.group = group
        self.headers = headers
        self.prepare = prepare
        log = Logger(group)
    }

    /// Answers with a resolver that has all manifests and segment indexes.
    ///
    /// - Parameter nowSeconds: since 1970, when a live title is taken for what it lists.
    ///
    /// Fails as transfers and `TitleResolver` do.
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
                    request, finalURL: manifest.finalURL, body: manifest.body ?? [],
                    sha256: manifest.sha256, contentType: manifest.contentType,
                    answeredSeconds: manifest.answeredSeconds)
            }
        }
        return resolver
    }

    private typealias Answer = Result<Fetched, Failure>

    /// Takes a file's segment index. Without it the title can be stored as well: its file is listed whole.
    private func take(
        _ answer: Answer?, of request: ManifestRequest, _ resolver: inout TitleResolver
    ) {
        do throws(Failure) {
            try resolver.receiveIndex(request, try answer?.get().body)
        } catch {
            log.warning("a segment index was not read", ["code": error.code, "error": error])
            // It is not asked for again.
            try? resolver.receiveIndex(request, nil)
        }
    }

    private func fetch(_ manifest: ManifestRequest) async -> Answer {
        var request = TransferRequest(
            url: manifest.url, group: group, destination: .memory,
            role: manifest.range == nil ? .playlist : .index)
        request.maximumBytes = Int64(TitleResolver.maximumBytes)
        request.headers = headers
        if let range = manifest.range, let length = range.length {
            request.range = TransferRequest.ByteRange(offset: range.offset, length: length)
            request.maximumBytes = length
        }
        if let prepare {
            switch await prepare(request) {
            case .success(let prepared): request = prepared
            case .failure(let failure): return .failure(failure)
            }
        }
        let ready = request
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                engine.submit(ready) { _, result in continuation.resume(returning: result) }
            }
        } onCancel: {
            engine.cancelAll(group: group)
        }
        return result.outcome.mapError { failure in
            switch failure.code {
            case "content.unexpectedType": Failure("manifest.html", failure.message)
            case "origin.tooLarge": Failure("manifest.tooLarge", failure.message)
            default: failure
            }
        }
    }
}
