/// How often a client reads the status of a catalog until its end.
///
/// Each reading costs the cluster as much as some of the work that it shows.
struct PollPace {
    /// Seconds between two readings at most.
    let longest: Double

    static let shortest = 0.05

    /// Returns the seconds until the next reading: a fourth of the time that the rest takes at the
    /// rate so far, so that the end is noticed soon however long the catalog takes. Bounded by the
    /// time that has passed, as transfers speed up at first.
    ///
    /// - Parameters:
    ///   - elapsed: seconds since the first reading.
    ///   - done: segments that have ended, 0 if that predicts nothing.
    func seconds(elapsed: Double, done: Int, of segments: Int) -> Double {
        let rest = elapsed * Double(max(segments - done, 0)) / Double(done) / 4
        let patience =
            done > 0
            ? min(rest, Self.shortest + elapsed / 2) : Self.shortest + elapsed / 20
        return min(max(patience, Self.shortest), longest)
    }
}
