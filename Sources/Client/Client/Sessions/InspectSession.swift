import Foundation
import LoadGenerator
package import Model
import Services
import Synchronization
import Titles
package import Transfer
import WebURL

/// Reads a title's manifests from their origin. It is a service, so that a signal ends it in order.
package final class InspectSession: Service {
    package let name = "inspect"
    private let url: String
    private let kind: AssetKind
    private let options: TitleOptions
    private let engine: TransferEngine
    private let found = Mutex<Inspection?>(nil)

    package init(
        _ url: String, _ options: TitleOptions, _ transfer: TransferEngine.Options
    ) throws(Failure) {
        // Checks the URL before anything is started.
        do throws(WebURLError) {
            kind = Inspection.kind(of: try WebURL(url))
        } catch {
            throw error.failure(given: url)
        }
        self.url = url
        self.options = options
        engine = try TransferEngine(options: transfer)
    }

    /// The result; nil before the end.
    package var result: Inspection? { found.withLock { $0 } }

    package func run() async throws {
        let result = await Inspection(options) { (options) async throws(Failure) in
            try await self.listing(options)
        }
        try Task.checkCancellation()
        found.withLock { $0 = result }
    }

    package func stop() async { engine.shutdown() }

    private func listing(_ options: TitleOptions) async throws(Failure) -> ManifestListing {
        try await TitleReader(engine: engine, group: name)
            .read(url, kind, options, nowSeconds: Date().timeIntervalSince1970).listing()
    }
}
