package import Model

/// States by which assets are selected: those of `AssetState`, and `paused`.
///
/// Any asset that has not ended can be paused: it is then selected as paused, whatever it does next.
package struct AssetStates: Hashable, Sendable {
    package var states: [AssetState] = []
    package var includesPaused = false

    package static let paused = "paused"
    /// All names, for help and errors.
    package static let allNames = AssetState.allCases.map(\.rawValue) + [paused]

    package init() {}

    /// Returns nil if a name is none of `allNames`.
    package init?(_ names: some Sequence<String>) {
        for name in names {
            if name == Self.paused {
                includesPaused = true
            } else if let state = AssetState(rawValue: name) {
                states.append(state)
            } else {
                return nil
            }
        }
    }

    /// True if assets of all states are selected.
    package var isEmpty: Bool { states.isEmpty && !includesPaused }

    package var names: [String] {
        states.map(\.rawValue) + (includesPaused ? [Self.paused] : [])
    }
}
