/// Inheritance of segment addressing from the level above (5.3.9.1).
extension DASHManifest {
    /// The attributes that the addressing element of one level sets itself.
    struct OwnAddressing: Sendable {
        struct Fields: OptionSet, Sendable {
            let rawValue: UInt16

            static let timescale = Fields(rawValue: 1 << 0)
            static let presentationTimeOffset = Fields(rawValue: 1 << 1)
            /// Duration or timeline: either replaces the other.
            static let durations = Fields(rawValue: 1 << 2)
            static let startNumber = Fields(rawValue: 1 << 3)
            static let endNumber = Fields(rawValue: 1 << 4)
            static let eptDelta = Fields(rawValue: 1 << 5)
            static let indexRange = Fields(rawValue: 1 << 6)
            /// The element or the template.
            static let initialization = Fields(rawValue: 1 << 7)
            static let representationIndex = Fields(rawValue: 1 << 8)
            /// The element or the template.
            static let bitstreamSwitching = Fields(rawValue: 1 << 9)
            static let media = Fields(rawValue: 1 << 10)
            static let index = Fields(rawValue: 1 << 11)
            static let list = Fields(rawValue: 1 << 12)
        }

        /// Kind of its element; `none` for a level without one.
        var kind = Addressing.Kind.none
        var fields: Fields = []
    }
}

extension DASHManifest.Addressing {
    /// Returns the addressing of a level below `outer`; `own` are the attributes set at this level.
    func inheriting(
        _ outer: DASHManifest.Addressing, own: DASHManifest.OwnAddressing
    ) -> DASHManifest.Addressing {
        guard own.kind != .none else { return outer }
        // Only elements of one kind inherit from each other.
        var merged = outer.kind == own.kind ? outer : DASHManifest.Addressing()
        merged.kind = own.kind
        let fields = own.fields
        if fields.contains(.timescale) { merged.timescale = timescale }
        if fields.contains(.presentationTimeOffset) {
            merged.presentationTimeOffset = presentationTimeOffset
        }
        if fields.contains(.durations) { (merged.duration, merged.timeline) = (duration, timeline) }
        if fields.contains(.startNumber) { merged.startNumber = startNumber }
        if fields.contains(.endNumber) { merged.endNumber = endNumber }
        if fields.contains(.eptDelta) { merged.eptDelta = eptDelta }
        if fields.contains(.indexRange) { merged.indexRange = indexRange }
        if fields.contains(.initialization) {
            merged.initialization = initialization
            merged.initializationTemplate = initializationTemplate
        }
        if fields.contains(.representationIndex) {
            merged.representationIndex = representationIndex
        }
        if fields.contains(.bitstreamSwitching) {
            merged.bitstreamSwitching = bitstreamSwitching
            merged.bitstreamSwitchingTemplate = bitstreamSwitchingTemplate
        }
        if fields.contains(.media) { merged.media = media }
        if fields.contains(.index) { merged.index = index }
        if fields.contains(.list) { merged.list = list }
        return merged
    }
}

extension DASHManifest.AdaptationSet {
    /// Applies addressing that comes after representations.
    mutating func handDown() {
        for index in representations.indices {
            let known = representations[index]
            representations[index].addressing = known.addressing.inheriting(
                addressing, own: known.own)
        }
    }
}

extension DASHManifest.Period {
    /// Applies addressing that comes after adaptation sets.
    mutating func handDown() {
        for index in sets.indices {
            sets[index].addressing = sets[index].addressing.inheriting(
                addressing, own: sets[index].own)
            sets[index].handDown()
        }
    }
}
