internal import Glibc
internal import LoadModel
internal import Services

/// The live titles of a loop, and the objects that they list. Confined to its loop.
final class LoopLive {
    let objects: LiveObjects
    /// By target, one for each pathway; empty for other targets.
    private let titles: [[LiveTitle]]

    /// - Parameter nowSeconds: on the test's clock.
    init(_ plan: LoadPlan, _ routes: HTTP1Routes, atSeconds nowSeconds: Double) {
        let objects = LiveObjects(plan) { routes.origin(ofURL: $0) }
        self.objects = objects
        let start = Self.epochSeconds - nowSeconds
        titles = plan.targets.map { target in
            let pathways = target.steering?.pathways.compactMap(\.live) ?? []
            let sources = pathways.isEmpty ? target.live.map { [$0] } ?? [] : pathways
            return sources.map { source in
                LiveTitle(source, objects, startEpochSeconds: start) { rejection in
                    Logger("load").warning(
                        "wrong clock of a live title", ["target": target.name, "reason": rejection])
                }
            }
        }
    }

    func titles(ofTarget target: Int) -> [LiveTitle] { titles[target] }

    /// Seconds since 1970 by the system's clock.
    private static var epochSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// Objects of the plan, and those that live titles list.
extension LoadLoop {
    /// Returns an object by its index; nil for one of a live title that has been removed.
    func wanted(_ index: Int) -> WantedObject? {
        if index < plan.objects.count { return WantedObject(index: index) }
        return viewers.live?.objects[index].map { WantedObject(index: index, entry: $0) }
    }

    func object(_ wanted: WantedObject) -> LoadPlan.Object {
        wanted.entry?.object ?? plan.objects[wanted.index]
    }

    /// Returns the index of an object's origin among the routes; nil if libcurl requests it.
    func origin(of wanted: WantedObject) -> Int? {
        guard let entry = wanted.entry else {
            return transports.routes.origin(ofObject: wanted.index)
        }
        return entry.origin >= 0 ? Int(entry.origin) : nil
    }
}

/// The object of a request. One of a live title is kept to the end of the request: it may have left
/// the list by then.
struct WantedObject {
    let index: Int
    /// Nil for an object of the plan.
    var entry: LiveObjects.Entry?

    /// Index in the plan of the object that its requests count as.
    var countsAs: Int { entry.map { Int($0.countsAs) } ?? index }
}
