import Model
import Titles

/// The service locations of a title that is played: those of BaseURLs at any level of its MPD, and
/// of its Locations.
struct ServiceLocations {
    /// The most preferred one first.
    private(set) var names: [String] = []
    /// Those of each level that has any; without duplicates.
    private(set) var groups: [[String]] = []
    /// Absolute URLs, one of each origin that they lead to.
    private(set) var bases: [String] = []

    /// - Parameter played: BaseURLs above the objects that are played, and Locations.
    init(_ played: [BaseURLLevels], _ steering: ContentSteering) {
        var read: Set<BaseURLLevels> = []
        var known: Set<[String]> = []
        var origins: Set<String> = []
        for locations in played where read.insert(locations).inserted {
            for level in locations.levels {
                let group = level.map(\.location).filter { !$0.isEmpty }
                guard !group.isEmpty, known.insert(group).inserted else { continue }
                groups.append(group)
            }
            for url in locations.hosts {
                guard let origin = originName(of: url), origins.insert(origin).inserted else {
                    continue
                }
                bases.append(url)
            }
        }
        let found = Set(groups.joined())
        for name in steering.first + steering.locations
        where found.contains(name) && !names.contains(name) {
            names.append(name)
        }
        groups = Array(groups.prefix(ContentSteering.maxPathways))
    }

    /// True if a level has several.
    var hasChoice: Bool { groups.contains { $0.count > 1 } }
}
