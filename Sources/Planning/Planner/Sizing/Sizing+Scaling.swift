extension Sizing.Workers {
    /// Workers that keep running when the pool is scaled with the load; nil if no pool suffices.
    ///
    /// On-demand fetches must start sooner than a worker boots, so these are the workers for the
    /// peak, with spares, and at least one.
    package var alwaysThere: Int? {
        guard let total, let forOnDemand else { return nil }
        return min(total, max(1, forOnDemand > 0 ? forOnDemand + spare : 1))
    }
}
