extension FixedWidthInteger {
    /// The whole part of `value`: the nearest bound for what lies beyond those of the type, 0 for what is no
    /// number. `Int(value)` would trap.
    package init(saturating value: Double) {
        if let exact = Self(exactly: value.rounded(.towardZero)) {
            self = exact
        } else {
            self = value.isNaN ? 0 : value < 0 ? .min : .max
        }
    }
}
