internal import EventLoop
internal import LoadModel
internal import Model

/// Content steering of a viewer on its loop: sends the requests that its client wants.
final class ViewerSteering {
    var client: SteeringClient
    private let server: Int32?
    private unowned let slot: ViewerSlot
    private let throughput: () -> Double?
    private var timer: LoopTimer?

    /// - Parameter throughput: returns the viewer's, in bits per second; nil if unknown.
    init(_ source: SteeringSource, _ slot: ViewerSlot, throughput: @escaping () -> Double?) {
        client = SteeringClient(source)
        server = source.server
        self.slot = slot
        self.throughput = throughput
    }

    /// Returns where a request of an object goes.
    func detour(of object: WantedObject, _ moves: ManifestMoves) -> Detour {
        let loop = slot.loop
        let destination = client.destination(
            of: loop.object(object), at: Int32(object.countsAs), moves)
        return loop.detour(to: destination.url, pathway: destination.pathway)
    }

    /// Begins, once: the title's manifest has come.
    func begin(atSeconds now: Double) {
        client.begin(atSeconds: now)
        proceed(atSeconds: now)
    }

    /// Executes the client's next action.
    func proceed(atSeconds now: Double) {
        switch client.next(throughput(), atSeconds: now) {
        case .none: break
        case .wait(let until):
            if timer == nil {
                timer = slot.loop.loop.makeTimer { [unowned self] in
                    proceed(atSeconds: slot.loop.clock.seconds)
                }
            }
            timer?.schedule(afterSeconds: until - now)
        case .request(let url):
            guard let server else { return }
            slot.loop.request(
                WantedObject(index: Int(server)), .steering(slot), slot.loop.detour(to: url),
                plannedSeconds: now)
        }
    }

    /// Reads an answer; returns the failure that it is.
    func read(_ request: LoadRequest, atSeconds now: Double) -> FailureCode? {
        do throws(Failure) {
            try client.received(request.text.bytes, at: request.url, atSeconds: now)
            return nil
        } catch {
            return error.code
        }
    }

    /// Takes a request that failed, unless it was read.
    func failed(_ request: LoadRequest, atSeconds now: Double) {
        client.failed(
            status: request.response.status, retryAfterSeconds: request.response.retryAfterSeconds,
            atSeconds: now)
    }

    func cancel() { timer?.cancel() }
}
