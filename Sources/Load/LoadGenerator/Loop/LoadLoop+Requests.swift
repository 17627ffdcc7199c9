internal import Curl
internal import LoadModel
internal import Model

/// Handles requests in flight: slots, handles, received bytes.
extension LoadLoop {
    /// Requests an object, or queues it until a slot is free.
    func request(_ object: Int, _ owner: LoadRequest.Owner, plannedSeconds: Double) {
        guard slots.hasFree else {
            record.interval.counts.queued += 1
            slots.wait(
                RequestQueue.Entry(object: object, owner: owner, plannedSeconds: plannedSeconds))
            return
        }
        send(object, owner, plannedSeconds: plannedSeconds)
    }

    func send(_ object: Int, _ owner: LoadRequest.Owner, plannedSeconds: Double) {
        guard let transport = transport(ofObject: object) else { return refuse(owner) }
        guard budget.takeRequest() else { return budget.spend() }
        let request =
            slots.reuse() ?? LoadRequest(loop: self, checksBodies: scenario.bodies == .checked)
        request.begin(
            object, owner, plannedSeconds: plannedSeconds, sentSeconds: clock.seconds)
        do throws(Failure) {
            try transport.send(
                request, opensConnection: capacity.opensConnections && owner.opensConnection)
            slots.add(request)
            record.interval.counts.sent += 1
        } catch {
            fail(error)
        }
    }

    /// Fails a request of a live viewer to an origin that no target has.
    private func refuse(_ owner: LoadRequest.Owner) {
        guard live != nil, life.isRunning else { return }
        let request = slots.reuse() ?? LoadRequest(loop: self, checksBodies: false)
        let now = clock.seconds
        request.begin(0, owner, plannedSeconds: now, sentSeconds: now)
        slots.add(request)
        record.interval.counts.sent += 1
        ended(request, .failed(.originAddressNotOfTarget))
    }

    private func transport(ofObject object: Int) -> (any LoadTransport)? {
        if origin(ofObject: object) != nil { transports.http1 } else { transports.curl }
    }

    func openTransports() throws(CurlError) {
        let routes = transports.routes
        let hasBoth = routes.leavesSome && !routes.origins.isEmpty
        let connections =
            hasBoth
            ? max(capacity.connections / 2, capacity.requests) : capacity.connections
        if !routes.origins.isEmpty {
            transports.http1 = HTTP1Transport(
                self, routes,
                HTTP1Transport.Settings(
                    http: scenario.http, userAgent: options.userAgent, connections: connections,
                    lookup: options.lookup, usesOldestFirst: capacity.opensConnections))
        }
        guard routes.leavesSome else { return }
        let bufferBytes = min(options.bufferBytes, max(32 << 10, (16 << 20) / capacity.requests))
        transports.curl = try CurlTransport(
            self,
            CurlTransport.Settings(
                http: scenario.http, userAgent: options.userAgent, bufferBytes: bufferBytes,
                connections: connections, multis: capacity.multis,
                opensConnections: capacity.opensConnections))
    }

    /// Returns true if bytes of a body may be received. Called from inside a transport.
    func takes(_ count: Int) -> Bool {
        guard !life.isDone else { return false }
        guard budget.take(bytes: count) else {
            budget.spend()
            return false
        }
        record.interval.counts.bytes += Int64(count)
        if life.phase == .draining, life.isAfterLoad(clock.seconds) {
            record.interval.counts.bytesAfterEnd += Int64(count)
        }
        return true
    }

    func drop(_ request: LoadRequest) {
        transport(ofObject: request.object)?.drop(request)
        request.owner = .arrival
    }
}
