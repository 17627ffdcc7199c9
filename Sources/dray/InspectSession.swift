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
            snapshotSeconds: Date().timeIntervalSince1970)
        while !resolver.isComplete {
            let requests = resolver.next()
            let answers = await withTaskGroup(of: (ManifestRequest, Answer).self) { group in
                for request in requests {
                    group.addTask { (request, await self.fetch(request.url)) }
                }
                return await group.reduce(into: [ManifestRequest: Answer]()) { $0[$1.0] = $1.1 }
            }
            for request in requests {
                guard let manifest = try answers[request]?.get() else { continue }
                try resolver.receive(
                    request, finalURL: manifest.finalURL, body: manifest.body ?? [],
                    sha256: manifest.sha256, contentType: manifest.contentType)
            }
        }
        return try resolver.listing()
    }

    private typealias Answer = Result<Fetched, Failure>

    private func fetch(_ url: String) async -> Answer {
        var request = TransferRequest(
            url: url, group: Self.group, destination: .memory, role: .playlist)
        request.maximumBytes = Int64(TitleResolver.maximumBytes)
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
