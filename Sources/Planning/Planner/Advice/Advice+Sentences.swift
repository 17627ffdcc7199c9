/// Sentences with the values that a plan advises.
extension Advice {
    /// Describes remedies of missed goals; empty if none is missed.
    func sentences(_ remedies: [Remedy], _ split: Split?) -> [String] {
        guard !missed.isEmpty else { return [] }
        let split = text(split)
        let whole = remedies.filter { $0.goals.count == missed.count }
        if !whole.isEmpty { return [alternatives(whole, start: "A pool suffices") + split] }
        guard !remedies.isEmpty else { return [without("a pool suffices") + split] }
        let parts = missed.map { goal in
            let isDeadline = goal == .deadline
            let values = remedies.filter { $0.goals == [goal] }
            return values.isEmpty
                ? without(isDeadline ? "the fill ends in time" : "on-demand fetches start in time")
                : alternatives(
                    values,
                    start: isDeadline
                        ? "The fill ends by its deadline" : "On-demand fetches start in time")
        }
        return [parts.joined(separator: " ") + " Nothing was found for both together." + split]
    }

    /// Describes values that suffice, each by itself: ` a is enough with x 2 (now 1).`
    func alternatives(_ remedies: [Remedy], start: String) -> String {
        let texts = remedies.map { remedy in
            remedy.changes.map(text).joined(separator: " together with ")
        }
        return texts.count == 1
            ? "\(start) with \(texts[0])."
            : "\(start) with any one of these: \(texts.joined(separator: "; "))."
    }

    /// Returns `edge.storedShare 0.9 (now 0.8)`.
    private func text(_ change: Remedy.Change) -> String {
        let value = "\(change.input) \(Scenario.plain(change.value))"
        return present(change.input).map { "\(value) (now \(Plan.rate($0, digits: 4)))" } ?? value
    }

    /// Names the inputs that were tried without success.
    private func without(_ goal: String) -> String {
        let tried = Set(triedInputs).sorted { $0.rawValue < $1.rawValue }.map(\.row.path)
        switch tried.count {
        case 0: return "No input was found with which \(goal)."
        case 1: return "With no \(tried[0]) \(goal)."
        default:
            return "With no change of one of these alone \(goal): "
                + "\(tried.joined(separator: ", "))."
        }
    }
}
