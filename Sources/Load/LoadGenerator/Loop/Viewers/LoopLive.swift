internal import Glibc
internal import LoadModel

/// The live titles of a loop, and the objects that they list. Confined to its loop.
final class LoopLive {
    let objects: LiveObjects
    /// By target; nil for others.
    private let titles: [LiveTitle?]

    /// - Parameter nowSeconds: on the test's clock.
    init(_ plan: LoadPlan, _ routes: HTTP1Routes, atSeconds nowSeconds: Double) {
        let objects = LiveObjects(plan) { routes.origin(ofURL: $0) }
        self.objects = objects
        let start = Self.epochSeconds - nowSeconds
        titles = plan.targets.map { target in
            target.live.map { LiveTitle($0, objects, startEpochSeconds: start) }
        }
    }

    func title(ofTarget target: Int) -> LiveTitle? { titles[target] }

    /// Seconds since 1970 by the system's clock.
    private static var epochSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// Objects of the plan, and those that live titles list.
extension LoadLoop {
    func object(_ index: Int) -> LoadPlan.Object {
        if index < plan.objects.count { return plan.objects[index] }
        // Only the end of a request can come after its object has left the list.
        return live?.objects[index]?.object ?? plan.objects[0]
    }

    /// Returns the object of the plan that a request counts as.
    func countedObject(_ index: Int) -> Int {
        if index < plan.objects.count { return index }
        return live?.objects[index].map { Int($0.countsAs) } ?? 0
    }

    /// Returns the index of an object's origin among the routes; nil if libcurl requests it.
    func origin(ofObject index: Int) -> Int? {
        guard index >= plan.objects.count else { return transports.routes.origin(ofObject: index) }
        guard let origin = live?.objects[index]?.origin, origin >= 0 else { return nil }
        return Int(origin)
    }
}
