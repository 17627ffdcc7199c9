package import Model
package import Titles

/// The objects of a test's targets, resolved before any load is sent.
package struct LoadPlan: Sendable {
    /// Maximum number of objects of all targets together.
    package static let maxObjects = 500_000

    /// One object, or a byte range of one.
    package struct Object: Sendable, Equatable {
        package var url: String
        package var range: SegmentRange?
        package var role: SegmentRole
        /// Indexes of its target and its rendition; -1 for no rendition.
        package var target: Int32
        package var rendition: Int32 = -1
        /// Lowercase hex, if known.
        package var sha256: String?
        /// Index of the manifest that lists it; -1 for none.
        package var manifest: Int32 = -1
        /// The form of the reference in that manifest: what it follows if a viewer receives the
        /// manifest elsewhere.
        package var form = ReferenceForm.relative
        /// The BaseURLs of DASH above it; nil unless one of them has a service location.
        package var locations: BaseURLLevels?
        /// True for a steering server.
        package var isSteering = false

        /// Its kind in results.
        package var kind: LoadKind { isSteering ? .steering : LoadKind(role) }

        package init(url: String, role: SegmentRole, target: Int32) {
            self.url = url
            self.role = role
            self.target = target
        }
    }

    /// A file or a title.
    package struct Target: Sendable, Equatable {
        package var name: String
        /// Above 0.
        package var weight: Double
        /// Indexes of its objects, in the order of fetching.
        package var objects: Range<Int>
        /// Nil for a file.
        package var title: MediaTitle?
        /// A title that is still written; it has no `title` then.
        package var live: LiveSource?
        /// Nil for a title with one pathway and without content steering.
        package var steering: SteeringSource?

        package init(name: String, weight: Double, objects: Range<Int>) {
            self.name = name
            self.weight = weight
            self.objects = objects
        }
    }

    package var objects: [Object] = []
    package var targets: [Target] = []
    /// Rendition names of all titles, without duplicates.
    package var renditions: [String] = []
    /// Labels of objects that requests of others count as, by index.
    package var labels: [Int32: String] = [:]
    package var viewerData = ViewerData()
    /// URLs after redirects of manifests that were redirected before the load, by index.
    package var finalURLs: [Int32: String] = [:]

    package init() {}

    /// Returns the URL that a manifest's references are resolved against.
    package func base(ofManifest index: Int32) -> String {
        finalURLs[index] ?? objects[Int(index)].url
    }
}
