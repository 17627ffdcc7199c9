/// What the next segment of a period cannot be played without, as far as its list has been read.
///
/// An initialization section counts until the next one, and so does a key, which is of the sections that are
/// named after it too, or until METHOD=NONE (RFC 8216, 4.3.2.4). Of indexes those that stand before the first segment: with them a
/// player finds out where in a file its segments are.
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
        // Several before one segment: DASH has one more for changes between representations.
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

    /// What comes is not encrypted, up to the next key; a section that was needs its own key still.
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
        // A list of sections without segments is none of a player's.
        if objects.count >= most { objects.removeFirst() }
        objects.append(object)
    }
}
