extension FixedWidthInteger {
    /// Creates the whole part of `value`: the nearest bound of the type beyond its range, 0 for
    /// NaN. `Int(value)` would trap.
    package init(saturating value: Double) {
        if let exact = Self(exactly: value.rounded(.towardZero)) {
            self = exact
        } else {
            self = value.isNaN ? 0 : value < 0 ? .min : .max
        }
    }
}
