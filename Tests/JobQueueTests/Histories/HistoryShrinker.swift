/// Makes a failing history shorter, by leaving out what it fails without.
struct HistoryShrinker {
    let cluster: HistoryCluster
    /// Histories that may still be run.
    var budget = 300

    /// The shortest failure found. What ran at once may not fail each time; then it stays longer.
    mutating func shrink(_ failed: History.Failed) async throws -> History.Failed {
        var best = failed
        var length = best.made.count
        while length > 0 {
            length = min(length, best.made.count)
            var start = 0
            while start < best.made.count && budget > 0 {
                var shorter = best.made
                shorter.removeSubrange(start..<min(start + length, shorter.count))
                if let found = try await failure(of: shorter, failed.kind) {
                    best = found
                } else {
                    start += length
                }
            }
            length = length > 1 ? length / 2 : 0
        }
        for variants in [Self.withoutAction, Self.withoutResult] {
            var index = 0
            while index < best.made.count && budget > 0 {
                var found: History.Failed?
                for event in variants(best.made[index]) where found == nil && budget > 0 {
                    var simpler = best.made
                    simpler[index] = event
                    found = try await failure(of: simpler, failed.kind)
                }
                if let found { best = found } else { index += 1 }
            }
        }
        return best
    }

    /// How the events fail, when they fail in the same way.
    private mutating func failure(
        of events: [Event], _ kind: String
    ) async throws -> History.Failed? {
        budget -= 1
        do {
            try await History.run(events, on: cluster)
            return nil
        } catch let failed as History.Failed {
            return failed.kind == kind ? failed : nil
        }
    }

    private static func withoutAction(_ event: Event) -> [Event] {
        guard event.actions.count > 1 else { return [] }
        return event.actions.indices.map { index in
            var smaller = event
            smaller.actions.remove(at: index)
            return smaller
        }
    }

    private static func withoutResult(_ event: Event) -> [Event] {
        var simpler: [Event] = []
        for (index, action) in event.actions.enumerated() {
            guard case .report(let worker, let results) = action.step, results.count > 1 else {
                continue
            }
            for position in results.indices {
                var fewer = results
                fewer.remove(at: position)
                var smaller = event
                smaller.actions[index].step = .report(worker: worker, fewer)
                simpler.append(smaller)
            }
        }
        return simpler
    }
}
