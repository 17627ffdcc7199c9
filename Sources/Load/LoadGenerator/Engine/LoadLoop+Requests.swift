internal import Curl
internal import LoadModel
internal import Model

/// Handles requests in flight: slots, handles, received bytes.
extension LoadLoop {
    /// Requests an object, or queues it until a slot is free.
    func request(_ object: Int, _ owner: LoadRequest.Owner, plannedSeconds: Double) {
        guard active.count < places else {
            interval.counts.queued += 1
            waiting.append(
                RequestQueue.Entry(object: object, owner: owner, plannedSeconds: plannedSeconds))
            return
        }
        send(object, owner, plannedSeconds: plannedSeconds)
    }

    func send(_ object: Int, _ owner: LoadRequest.Owner, plannedSeconds: Double) {
        guard let transport = transport(ofObject: object) else { return }
        guard budget.takeRequest() else { return budget.spend() }
        let request =
            idle.popLast() ?? LoadRequest(loop: self, checksBodies: scenario.bodies == .checked)
        request.begin(
            object, owner, plannedSeconds: plannedSeconds, sentSeconds: clock.seconds)
        do throws(Failure) {
            try transport.send(
                request, opensConnection: opensConnections && owner.opensConnection)
            request.place = active.count
            active.append(request)
            interval.counts.sent += 1
        } catch {
            fail(error)
        }
    }

    /// Returns the transport for an object; nil before the start and after the end.
    private func transport(ofObject object: Int) -> (any LoadTransport)? {
        if routes.origin(ofObject: object) != nil { http1 } else { curl }
    }

    func openTransports() throws(CurlError) {
        let hasBoth = routes.leavesSome && !routes.origins.isEmpty
        let connections = hasBoth ? max(maxConnections / 2, places) : maxConnections
        if !routes.origins.isEmpty {
            http1 = HTTP1Transport(
                self, routes,
                HTTP1Transport.Settings(
                    http: scenario.http, userAgent: options.userAgent, connections: connections,
                    lookup: options.lookup, usesOldestFirst: opensConnections))
        }
        guard routes.leavesSome else { return }
        let bufferBytes = min(options.bufferBytes, max(32 << 10, (16 << 20) / places))
        curl = try CurlTransport(
            self,
            CurlTransport.Settings(
                http: scenario.http, userAgent: options.userAgent, bufferBytes: bufferBytes,
                connections: connections, multis: multis, opensConnections: opensConnections))
    }

    /// Returns true if bytes of a body may be received. Called from inside a transport.
    func takes(_ count: Int) -> Bool {
        guard phase != .done else { return false }
        guard budget.take(bytes: count) else {
            budget.spend()
            return false
        }
        interval.counts.bytes += Int64(count)
        if phase == .draining, clock.seconds >= durationSeconds {
            interval.counts.bytesAfterEnd += Int64(count)
        }
        return true
    }

    func drop(_ request: LoadRequest) {
        transport(ofObject: request.object)?.drop(request)
        request.owner = .arrival
    }

    /// Frees a request's slot.
    func leave(_ request: LoadRequest) {
        let last = active.removeLast()
        if last !== request {
            active[request.place] = last
            last.place = request.place
        }
        request.owner = .arrival
        idle.append(request)
    }
}
