extension Sizing.Workers {
    /// Those that stay where workers are scaled with the load; nil when no pool suffices.
    ///
    /// Fetches on demand have to begin sooner than a worker starts: so those of the peak, with those that
    /// may fail, and one at least.
    package var alwaysThere: Int? {
        guard let total, let forOnDemand else { return nil }
        return min(total, max(1, forOnDemand > 0 ? forOnDemand + spare : 1))
    }
}
