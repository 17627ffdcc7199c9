import Lists
package import Model
package import Titles
package import WebURL

/// The contents of a title's manifests.
package struct Inspection: Sendable {
    /// The kind; nil if unknown.
    package var kind: AssetKind?
    /// The listing; with the failure `manifest.live`, that of `--live snapshot`.
    package var listing: ManifestListing?
    /// The failure with which a cluster would reject the title.
    package var failure: Failure?

    /// True if nothing was listed, and the body may be no manifest.
    package var isOfNoManifest: Bool {
        let codes: [FailureCode] = [.manifestMalformed, .manifestTooLarge]
        return listing == nil && failure.map { codes.contains($0.code) } ?? false
    }

    package var isLive: Bool { listing?.isLive ?? (failure?.code == .manifestLive) }

    /// Lists a title with `list`; lists a live one again as a snapshot.
    package init(
        _ options: TitleOptions,
        list: (TitleOptions) async throws(Failure) -> ManifestListing
    ) async {
        do throws(Failure) {
            listing = try await list(options)
        } catch {
            failure = error
        }
        if failure?.code == .manifestLive, options.takesSnapshots != true {
            var options = options
            options.takesSnapshots = true
            do throws(Failure) {
                listing = try await list(options)
            } catch {
                // The failure is known already.
            }
        }
        kind = listing?.kind
    }

    /// Returns the default kind of a manifest whose content does not show it.
    package static func kind(of url: WebURL) -> AssetKind {
        ListReader.defaultKind(of: url) == .dash ? .dash : .hls
    }
}
