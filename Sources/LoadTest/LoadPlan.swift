package import Catalog
package import Model

/// What a test's targets come to, found before any load is sent.
package struct LoadPlan: Sendable {
    /// Most objects of all targets together.
    package static let mostObjects = 500_000

    /// One object, or byte range of one.
    package struct Object: Sendable, Equatable {
        package var url: String
        package var range: SegmentRange?
        package var role: SegmentRole
        /// Its target's and its rendition's place; -1 for no rendition.
        package var target: Int32
        package var rendition: Int32 = -1
        /// In lower-case hex, where it is known.
        package var sha256: String?

        package init(url: String, role: SegmentRole, target: Int32) {
            self.url = url
            self.role = role
            self.target = target
        }
    }

    /// A file or a title.
    package struct Target: Sendable, Equatable {
        package var name: String
        /// Over 0.
        package var weight: Double
        /// Its objects' places, in the order of fetching.
        package var objects: Range<Int>
        /// Nil for a file.
        package var title: MediaTitle?

        package init(name: String, weight: Double, objects: Range<Int>) {
            self.name = name
            self.weight = weight
            self.objects = objects
        }
    }

    package var objects: [Object] = []
    package var targets: [Target] = []
    /// Of all titles, each name once.
    package var renditions: [String] = []

    package init() {}
}

/// A title as a player sees it: renditions of the same segments.
package struct MediaTitle: Sendable, Equatable {
    package struct Segment: Sendable, Equatable {
        /// Place of its object in the plan.
        package var object: Int32
        /// Over 0.
        package var seconds: Double

        package init(object: Int32, seconds: Double) {
            self.object = object
            self.seconds = seconds
        }
    }

    package struct Track: Sendable, Equatable {
        package var name: String
        /// Bits a second; 0 where the manifest does not tell.
        package var bitsPerSecond: Int64
        /// Fetched before the first of its segments, in this order: playlist, init section, key.
        package var setup: [Int32]
        package var segments: [Segment]

        package init(name: String, bitsPerSecond: Int64, setup: [Int32], segments: [Segment]) {
            self.name = name
            self.bitsPerSecond = bitsPerSecond
            self.setup = setup
            self.segments = segments
        }
    }

    /// The title's own manifest.
    package var manifest: Int32
    /// One or more, by bit rate, the lowest first.
    package var video: [Track]
    /// Played beside any of `video`; nil where these have sound in them, or there is none.
    package var audio: Track?

    package init(manifest: Int32, video: [Track], audio: Track? = nil) {
        self.manifest = manifest
        self.video = video
        self.audio = audio
    }
}
