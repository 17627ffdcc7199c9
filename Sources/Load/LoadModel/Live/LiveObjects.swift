import Model
import Titles

/// Objects that live titles list while a test runs, by index. Indexes follow those of the plan and
/// are not used twice.
///
/// Confined to its loop. Looking one up allocates nothing.
package final class LiveObjects {
    package struct Entry {
        package var object: LoadPlan.Object
        /// Index in the plan of the object that its requests count as.
        package var countsAs: Int32
        /// Index of its origin among the routes; -1 for libcurl.
        package var origin: Int32
    }

    private let first: Int32
    private var next: Int32
    private(set) var entries: [Int32: Entry] = [:]
    private let plan: LoadPlan
    private let origin: (String) -> Int32

    /// Creates the objects of a loop.
    ///
    /// - Parameter origin: returns the index of a URL's origin among the routes; -1 for libcurl.
    package init(_ plan: LoadPlan, origin: @escaping (String) -> Int32) {
        self.plan = plan
        self.origin = origin
        first = Int32(plan.objects.count)
        next = first
    }

    /// The entry of an object that is not in the plan; nil for one that has been removed.
    package subscript(index: Int) -> Entry? { entries[Int32(truncatingIfNeeded: index)] }

    /// Returns true for an object of the plan, and for one that has not been removed.
    func has(_ index: Int32) -> Bool {
        (0..<first).contains(index) || entries[index] != nil
    }

    /// Adds an object that counts as `countsAs`, with its target and rendition.
    func add(
        _ url: String, _ range: SegmentRange?, _ role: SegmentRole, countsAs: Int32,
        at locations: BaseURLLevels? = nil, form: ReferenceForm = .relative
    ) -> Int32 {
        var object = plan.objects[Int(countsAs)]
        object.url = url
        object.range = range
        object.role = role
        object.locations = locations
        object.form = form
        object.sha256 = nil
        entries[next] = Entry(object: object, countsAs: countsAs, origin: origin(url))
        next += 1
        return next - 1
    }

    /// Adds the object of an MPD's Locations, which counts as the MPD.
    func add(reloads: BaseURLLevels, of manifest: Int32) -> Int32 {
        let index = add(reloads.base, nil, .playlist, countsAs: manifest, at: reloads)
        // Relative ones follow the MPD where it was received.
        if reloads.levels.count > 1 {
            let forms = reloads.levels.last?.map { ReferenceForm($0.reference) }
            entries[index]?.object.manifest = manifest
            entries[index]?.object.form = forms?.min() ?? .relative
        }
        return index
    }

    /// Removes an object; objects of the plan stay.
    func remove(_ index: Int32) { entries[index] = nil }

    func url(_ index: Int32) -> String { plan.objects[Int(index)].url }

    /// Returns the URL that a manifest's references are resolved against.
    func base(_ manifest: Int32) -> String { plan.base(ofManifest: manifest) }
}
