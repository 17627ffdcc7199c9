package import Model
import Text

extension LoadScenario {
    /// Checks the groups of thresholds against what a plan requests: a group without requests would
    /// fail only at the end.
    ///
    /// Throws `input.field`.
    package func checkGroups(of plan: LoadPlan) throws(Failure) {
        try checkGroups(LoadGroupNames(self, plan))
    }

    /// Checks the groups of thresholds: results by group exist only at the end.
    func checkGroups(_ names: LoadGroupNames) throws(Failure) {
        for (index, threshold) in thresholds.enumerated() {
            guard let group = threshold.group else { continue }
            guard threshold.abortAfterSeconds == nil else {
                throw Self.rejection(
                    "thresholds[\(index)].abortAfterSeconds", "given for a group",
                    allowed: "for thresholds of all requests: groups are judged at the end")
            }
            guard let all = names.all[group.dimension], !all.contains(group.name) else { continue }
            throw Self.rejection(
                "thresholds[\(index)]", "given \(group.dimension.rawValue) \(group.name)",
                allowed: all.isEmpty
                    ? "no \(group.dimension.rawValue): no request of this test has one"
                    : all.prefix(5).joined(separator: ", ") + (all.count > 5 ? ", …" : ""))
        }
    }
}

/// The groups that requests of a test can have, by dimension; without those of which any name can
/// occur.
struct LoadGroupNames {
    private(set) var all: [LoadDimension: [String]] = [:]

    /// What is known without a request: of targets that are single URLs.
    init(_ scenario: LoadScenario) {
        let targets = scenario.targets
        all[.target] = Self.named(
            targets.compactMap { target in
                target.isSingle ? redacted(url: target.name) : nil
            }, of: targets.count)
        let areFiles = targets.allSatisfy(\.isFile)
        guard scenario.user == .requests else { return }
        // Only viewers are steered.
        all[.pathway] = []
        guard areFiles else { return }
        all[.rendition] = []
        all[.kind] = Self.kinds([.file], scenario)
    }

    /// What is known of a plan. A live title may list more while the test runs.
    init(_ scenario: LoadScenario, _ plan: LoadPlan) {
        self.init(scenario)
        let targets = plan.targets
        all[.target] = Self.named(targets.map { redacted(url: $0.name) }, of: targets.count)
        if !targets.contains(where: { $0.steering != nil }) { all[.pathway] = [] }
        guard !targets.contains(where: { $0.live != nil }) else { return }
        all[.rendition] = Self.named(plan.renditions, of: plan.renditions.count)
        all[.kind] = Self.kinds(Set(plan.objects.map(\.kind)), scenario)
    }

    /// Returns the names of groups; nil if not all of them are known.
    private static func named(_ names: [String], of count: Int) -> [String]? {
        guard names.count == count else { return nil }
        return names.count > LoadGroup.most
            ? names.prefix(LoadGroup.most) + [LoadBreakdown.others] : names
    }

    private static func kinds(_ kinds: Set<LoadKind>, _ scenario: LoadScenario) -> [String] {
        var kinds = kinds
        if scenario.maxRedirects > 0 { kinds.insert(.redirect) }
        return LoadKind.allCases.filter(kinds.contains).map(\.rawValue)
    }
}
