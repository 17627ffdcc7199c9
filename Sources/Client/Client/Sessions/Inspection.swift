import Lists
package import Model
package import Titles
package import WebURL

/// The contents of a title's manifests.
package struct Inspection: Sendable {
    /// Nil where nothing tells.
    package var kind: AssetKind?
    /// With a failure `manifest.live` it is what `--live snapshot` would take.
    package var listing: ManifestListing?
    /// Why the title would not be taken.
    package var failure: Failure?

    /// Nothing was listed, and what came may be something else than a manifest.
    package var isOfNoManifest: Bool {
        let codes: [FailureCode] = ["manifest.malformed", "manifest.tooLarge"]
        return listing == nil && failure.map { codes.contains($0.code) } ?? false
    }

    package var isLive: Bool { listing?.isLive ?? (failure?.code == "manifest.live") }

    /// Lists a title with `list`; a live one that is not wanted as a snapshot once more, as one.
    package init(
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

    /// The kind of a manifest whose content does not show it.
    package static func kind(of url: WebURL) -> AssetKind {
        ListReader.defaultKind(of: url) == .dash ? .dash : .hls
    }
}
