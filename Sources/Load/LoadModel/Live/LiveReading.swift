/// The manifest and the clock of a title, as a live viewer has read them.
struct LiveReading {
    /// True once the multivariant playlist or the MPD was read, or if the title has none.
    var hasManifest: Bool
    /// The MPD.
    var manifest: LiveManifest?
    /// The clocks that are left to try.
    private var clocks: ArraySlice<LiveClock>

    init(_ source: LiveSource) {
        hasManifest = source.manifest == nil
        clocks = source.clocks[...]
    }

    /// Returns the next clock to request; nil if there is none, or if the MPD has the time.
    mutating func nextClock(of title: LiveTitle) -> Int32? {
        while let clock = clocks.first, let manifest {
            switch clock {
            case .url(let object): return object
            case .direct(let index):
                clocks.removeFirst()
                if title.setClock(direct: index, of: manifest) { clocks = [] }
            }
        }
        return nil
    }

    /// Sets the title's clock by the answer of the requested one, or continues with the next one if
    /// it has no time or a wrong one.
    ///
    /// - Parameter epochSeconds: the time in the answer, in seconds since 1970; nil for none.
    mutating func takeClock(_ epochSeconds: Double?, of title: LiveTitle, atSeconds now: Double) {
        guard let clock = clocks.popFirst(), let epochSeconds else { return }
        if title.setClock(epochSeconds, by: clock, manifest, atSeconds: now) { clocks = [] }
    }
}
