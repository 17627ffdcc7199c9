import Catalog
import Foundation
import Model
import Runtime
import Synchronization
import Transfer

/// Reads a title's manifests from their origin. A service, so that a signal ends it in order.
final class InspectSession: Service {
    let name = "inspect"
    private let url: String
    private let kind: AssetKind
    private let options: TitleOptions
    private let engine: TransferEngine
    private let found = Mutex<Inspection?>(nil)
    private let log = Logger("inspect")
    private static let group = "inspect"

    init(
        _ url: String, _ options: TitleOptions, _ transfer: TransferEngine.Options
    ) throws(Failure) {
        // Checks the URL before anything is started.
        do throws(WebURLError) {
            kind = InspectCommand.kind(of: try WebURL(url))
        } catch {
            throw error.failure(given: url)
        }
        self.url = url
        self.options = options
        engine = try TransferEngine(options: transfer)
    }

    /// What was found; nil before the end.
    var result: Inspection? { found.withLock { $0 } }

    func run() async throws {
        let result = await Inspection(options) { (options) async throws(Failure) in
            try await self.listing(options)
        }
        try Task.checkCancellation()
        found.withLock { $0 = result }
    }

    func stop() async { engine.shutdown() }

    private func listing(_ options: TitleOptions) async throws(Failure) -> ManifestListing {
        var resolver = try TitleResolver(
            url: url, kind: kind, options: options,
            snapshotSeconds: Date().timeIntervalSince1970, readsIndexes: true)
        while !resolver.isComplete {
            let requests = resolver.next()
            let answers = await withTaskGroup(of: (ManifestRequest, Answer).self) { group in
                for request in requests {
                    group.addTask { (request, await self.fetch(request)) }
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
        return try resolver.listing()
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
            url: manifest.url, group: Self.group, destination: .memory,
            role: manifest.range == nil ? .playlist : .index)
        request.maximumBytes = Int64(TitleResolver.maximumBytes)
        if let range = manifest.range, let length = range.length {
            request.range = TransferRequest.ByteRange(offset: range.offset, length: length)
            request.maximumBytes = length
        }
        let ready = request
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                engine.submit(ready) { _, result in continuation.resume(returning: result) }
            }
        } onCancel: {
            engine.cancelAll(group: Self.group)
        }
        return result.outcome.mapError { failure in
            failure.code == "origin.tooLarge"
                ? Failure("manifest.tooLarge", failure.message) : failure
        }
    }
}
