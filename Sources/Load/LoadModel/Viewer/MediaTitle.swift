/// A title as a player sees it: renditions of the same segments.
///
/// All its viewers share its tables.
package struct MediaTitle: Sendable, Equatable {
    package struct Segment: Sendable, Equatable {
        /// Index of its object in the plan.
        package var object: Int32
        /// Index of the objects that it needs in its track's `parts`; -1 for none.
        package var part: Int32 = -1
        /// Above 0.
        package var seconds: Double

        package init(object: Int32, seconds: Double) {
            self.object = object
            self.seconds = seconds
        }
    }

    package struct Track: Sendable, Equatable {
        package var name: String
        /// Bits per second; 0 if the manifest does not specify it.
        package var bitsPerSecond: Int64
        /// Height of its pictures in pixels; nil if unknown.
        package var height: Int64?
        /// Objects fetched first: its playlist.
        package var setup: [Int32]
        package var segments: [Segment]
        /// Objects that segments need, in the order of fetching: initialization sections, keys,
        /// indexes. A rotated key, or another initialization section, begins another part.
        package private(set) var parts: [Range<Int32>] = []
        /// Objects of all parts.
        private var needs: [Int32] = []

        package init(name: String, bitsPerSecond: Int64, setup: [Int32], segments: [Segment]) {
            self.name = name
            self.bitsPerSecond = bitsPerSecond
            self.setup = setup
            self.segments = segments
        }

        /// Adds a segment, and a part if it needs other objects than the previous segment.
        package mutating func append(_ segment: Segment, needs objects: [Int32]) {
            var segment = segment
            if !objects.isEmpty {
                if parts.isEmpty
                    || !self.needs(ofPart: Int32(parts.count - 1)).elementsEqual(objects)
                {
                    let start = Int32(needs.count)
                    needs += objects
                    parts.append(start..<Int32(needs.count))
                }
                segment.part = Int32(parts.count - 1)
            }
            segments.append(segment)
        }

        /// Returns the objects of a part; empty for -1.
        package func needs(ofPart part: Int32) -> ArraySlice<Int32> {
            guard part >= 0 else { return [] }
            let range = parts[Int(part)]
            return needs[Int(range.lowerBound)..<Int(range.upperBound)]
        }

        fileprivate var allNeeds: [Int32] { setup + needs }
    }

    /// The title's manifest.
    package let manifest: Int32
    /// One or more, by bit rate, the lowest first.
    package let video: [Track]
    /// Played with any of `video`; nil if these include audio, or if there is none.
    package let audio: Track?
    /// Numbers, from 0, of the objects that its tracks need beside segments: a viewer has a bit for
    /// each.
    private let numbers: [Int32: Int32]

    package init(manifest: Int32, video: [Track], audio: Track? = nil) {
        self.manifest = manifest
        self.video = video
        self.audio = audio
        var numbers: [Int32: Int32] = [:]
        for track in video + (audio.map { [$0] } ?? []) {
            for object in track.allNeeds where numbers[object] == nil {
                numbers[object] = Int32(numbers.count)
            }
        }
        self.numbers = numbers
    }

    /// Returns the number of an object that a track needs beside segments; nil for other objects.
    func number(of need: Int32) -> Int? { numbers[need].map { Int($0) } }
}
