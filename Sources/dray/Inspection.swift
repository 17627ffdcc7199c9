import Catalog
import Model

/// The contents of a title's manifests.
struct Inspection: Sendable {
    /// Nil where nothing tells.
    var kind: AssetKind?
    /// With a failure `manifest.live` it is what `--live snapshot` would take.
    var listing: ManifestListing?
    /// Why the title would not be taken.
    var failure: Failure?

    /// Nothing was listed, and what came may be something else than a manifest.
    var isOfNoManifest: Bool {
        let codes: [FailureCode] = ["manifest.malformed", "manifest.tooLarge"]
        return listing == nil && failure.map { codes.contains($0.code) } ?? false
    }

    var isLive: Bool { listing?.isLive ?? (failure?.code == "manifest.live") }

    /// Lists a title with `list`; a live one that is not wanted as a snapshot once more, as one.
    init(
        _ options: TitleOptions,
        list: (TitleOptions) async throws(Failure) -> ManifestListing
    ) async {
        do throws(Failure) {
            listing = try await list(options)
        } catch {
            failure = error
        }
        if failure?.code == "manifest.live", options.takesSnapshots != true {
            var options = options
            options.takesSnapshots = true
            do throws(Failure) {
                listing = try await list(options)
            } catch {
                // Why it is not taken is known already.
            }
        }
        kind = listing?.kind
    }
}
