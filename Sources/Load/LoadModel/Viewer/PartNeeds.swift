/// Objects that the next segment of a period needs, according to the list read so far.
///
/// An initialization section applies until the next one. A key applies until the next one or until
/// METHOD=NONE, also to later initialization sections (RFC 8216, 4.3.2.4). Of indexes only those
/// before the first segment count: a player needs them to locate segments in a file.
struct PartNeeds {
    private static let most = 8

    /// In the order of fetching.
    private(set) var objects: [Int32] = []
    /// With the keys of initialization sections.
    private var initialization: [Int32] = []
    private var key: Int32?
    private var indexes: [Int32] = []
    private var hasSegment = false
    private var isInitializationNew = false

    mutating func takeInitialization(_ object: Int32) {
        // Several before one segment: DASH has another for switching between representations.
        if !isInitializationNew { initialization = [] }
        isInitializationNew = true
        if let key { Self.add(key, to: &initialization) }
        Self.add(object, to: &initialization)
        gather()
    }

    mutating func takeKey(_ object: Int32) {
        key = object
        gather()
    }

    /// Records that the next segments are not encrypted, up to the next key; an encrypted
    /// initialization section still needs its key.
    mutating func takeNoKey() {
        guard key != nil else { return }
        key = nil
        gather()
    }

    mutating func takeIndex(_ object: Int32) {
        guard !hasSegment else { return }
        Self.add(object, to: &indexes)
        gather()
    }

    mutating func takeSegment() {
        hasSegment = true
        isInitializationNew = false
    }

    private mutating func gather() {
        objects = initialization
        if let key { Self.add(key, to: &objects) }
        for index in indexes { Self.add(index, to: &objects) }
    }

    private static func add(_ object: Int32, to objects: inout [Int32]) {
        guard !objects.contains(object) else { return }
        // A list of sections without segments cannot be played.
        if objects.count >= most { objects.removeFirst() }
        objects.append(object)
    }
}
