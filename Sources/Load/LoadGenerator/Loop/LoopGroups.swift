internal import LoadModel
internal import Model

/// Results of a loop by target, kind, rendition and status, without the warm-up.
///
/// Groups have fixed indexes, so that recording looks nothing up by name. Dimensions of which a plan
/// has one value are recorded too, since a threshold may name it.
struct LoopGroups: Sendable {
    /// By index of a target, of a kind, and of a rendition; the last one has the rest.
    private var targets: [LoadGroup]
    private var kinds: [LoadGroup]
    private var renditions: [LoadGroup]
    /// In the order of their first requests; the last one has the rest.
    private var pathways: [LoadGroup] = []
    private var pathwayNames: [String] = []
    /// By name, the index in `pathways`.
    private var pathwayIndexes: [String: Int] = [:]
    /// In the order of their first answers; the last one has the rest.
    private var statuses: [LoadGroup] = []
    private var statusNames: [Int] = []
    /// By status, the index in `statuses`; -1 for none.
    private var statusIndexes = [Int16](repeating: -1, count: maxStatus + 1)

    private static let maxStatus = 999

    init(_ plan: LoadPlan) {
        func groups(_ count: Int) -> [LoadGroup] {
            [LoadGroup](repeating: LoadGroup(), count: min(count, LoadGroup.most) + 1)
        }
        targets = groups(plan.targets.count)
        renditions = groups(plan.renditions.count)
        kinds = groups(LoadKind.allCases.count)
    }

    /// Records an ended request.
    ///
    /// - Parameters:
    ///   - total: microseconds from the planned time.
    ///   - firstByte: the same; nil without an answer.
    mutating func record(
        _ request: LoadRequest, of object: borrowing LoadPlan.Object, total: Int64,
        firstByte: Int64?, isFailure: Bool, isAfterLoad: Bool, isRedirect: Bool
    ) {
        let bytes = request.response.bytes
        targets[min(Int(object.target), targets.count - 1)].record(
            total: total, firstByte: firstByte, bytes: bytes, isFailure: isFailure,
            isAfterLoad: isAfterLoad)
        let kind = isRedirect ? LoadKind.redirect : object.kind
        kinds[kind.index].record(
            total: total, firstByte: firstByte, bytes: bytes, isFailure: isFailure,
            isAfterLoad: isAfterLoad)
        if object.rendition >= 0 {
            renditions[min(Int(object.rendition), renditions.count - 1)].record(
                total: total, firstByte: firstByte, bytes: bytes, isFailure: isFailure,
                isAfterLoad: isAfterLoad)
        }
        if let pathway = request.detour?.pathway {
            pathways[pathwayIndex(pathway)].record(
                total: total, firstByte: firstByte, bytes: bytes, isFailure: isFailure,
                isAfterLoad: isAfterLoad)
        }
        statuses[statusIndex(request.response.status)].record(
            total: total, firstByte: firstByte, bytes: bytes, isFailure: isFailure,
            isAfterLoad: isAfterLoad,
            recordsFailures: true)
    }

    private mutating func pathwayIndex(_ name: String) -> Int {
        if let index = pathwayIndexes[name] { return index }
        let index = min(pathways.count, LoadGroup.most)
        if index == pathways.count {
            pathways.append(LoadGroup())
            pathwayNames.append(index == LoadGroup.most ? LoadBreakdown.others : name)
        }
        // Names of others are not kept: there may be any number.
        if index < LoadGroup.most { pathwayIndexes[name] = index }
        return index
    }

    /// Returns the index of a status; new ones get their own, as long as there are few.
    private mutating func statusIndex(_ status: Int) -> Int {
        let status = (0...Self.maxStatus).contains(status) ? status : 0
        if statusIndexes[status] >= 0 { return Int(statusIndexes[status]) }
        // The last index has the rest.
        let index = min(statuses.count, LoadGroup.most)
        if index == statuses.count {
            statuses.append(LoadGroup())
            statusNames.append(index == LoadGroup.most ? -1 : status)
        }
        statusIndexes[status] = Int16(index)
        return index
    }

    /// Returns all groups with a request by their names.
    ///
    /// - Parameter name: returns a target's name for reports.
    func named(_ plan: LoadPlan, _ name: (Int) -> String) -> [(LoadGroupKey, LoadGroup)] {
        var all: [(LoadGroupKey, LoadGroup)] = []
        func add(
            _ dimension: LoadDimension, _ groups: [LoadGroup], count: Int, _ name: (Int) -> String
        ) {
            for (index, group) in groups.enumerated() where group.requests > 0 {
                let isNamed = index < min(count, LoadGroup.most)
                all.append(
                    (LoadGroupKey(dimension, isNamed ? name(index) : LoadBreakdown.others), group))
            }
        }
        add(.target, targets, count: plan.targets.count, name)
        add(.kind, kinds, count: LoadKind.allCases.count) { LoadKind.allCases[$0].rawValue }
        add(.rendition, renditions, count: plan.renditions.count) { plan.renditions[$0] }
        add(.pathway, pathways, count: LoadGroup.most) { pathwayNames[$0] }
        add(.status, statuses, count: LoadGroup.most) {
            statusNames[$0] == 0 ? "none" : "\(statusNames[$0])"
        }
        return all
    }
}
