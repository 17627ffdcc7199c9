internal import Curl
internal import LoadModel
internal import Model

/// Handles requests in flight: slots, handles, received bytes.
extension LoadLoop {
    /// Requests an object, or queues it until a slot is free.
    func request(
        _ object: WantedObject, _ owner: LoadRequest.Owner, _ detour: Detour? = nil,
        plannedSeconds: Double
    ) {
        guard slots.hasFree else {
            record.interval.counts.pacing.queued += 1
            slots.wait(
                RequestQueue.Entry(
                    object: object, owner: owner, detour: detour, plannedSeconds: plannedSeconds))
            return
        }
        send(object, owner, detour, plannedSeconds: plannedSeconds)
    }

    func send(
        _ object: WantedObject, _ owner: LoadRequest.Owner, _ detour: Detour? = nil,
        plannedSeconds: Double
    ) {
        guard detour?.isAllowed ?? true else { return refuse(object, owner, detour) }
        let chosen: (any LoadTransport)?
        do throws(CurlError) {
            chosen = try transport(of: object, detour)
        } catch {
            return fail(Failure(.workerInternal, error.description))
        }
        guard let transport = chosen else {
            if viewers.live != nil { refuse(object, owner, nil) }
            return
        }
        guard budget.takeRequest() else { return budget.spend() }
        let request =
            slots.reuse() ?? LoadRequest(loop: self, checksBodies: scenario.bodies == .checked)
        request.begin(
            object, owner, detour, plannedSeconds: plannedSeconds, sentSeconds: clock.seconds)
        do throws(Failure) {
            try transport.send(
                request,
                opensConnection: transports.capacity.opensConnections && owner.opensConnection)
            slots.add(request)
            record.interval.counts.requests.sent += 1
        } catch {
            fail(error)
        }
    }

    /// Fails a viewer's request to a host that no target has.
    private func refuse(_ object: WantedObject, _ owner: LoadRequest.Owner, _ detour: Detour?) {
        guard life.isRunning else { return }
        let request =
            slots.reuse() ?? LoadRequest(loop: self, checksBodies: scenario.bodies == .checked)
        let now = clock.seconds
        request.begin(object, owner, detour, plannedSeconds: now, sentSeconds: now)
        slots.add(request)
        record.interval.counts.requests.sent += 1
        ended(request, .failed(.originAddressNotOfTarget))
    }

    /// Returns the transport of a request, which a detour may need for the first time.
    private func transport(
        of object: WantedObject, _ detour: Detour?
    ) throws(CurlError) -> (any LoadTransport)? {
        guard let detour else {
            return origin(of: object) != nil ? transports.http1 : transports.curl
        }
        return try transports.ofDetour(toOrigin: detour.origin, for: self)
    }

    /// Returns true if bytes of a body may be received. Called from inside a transport.
    func takes(_ count: Int) -> Bool {
        guard !life.isDone else { return false }
        guard budget.take(bytes: count) else {
            budget.spend()
            return false
        }
        record.interval.counts.requests.bytes += Int64(count)
        if life.phase == .draining, life.isAfterLoad(clock.seconds) {
            record.interval.counts.afterEnd.bytes += Int64(count)
        }
        return true
    }

    func drop(_ request: LoadRequest) {
        if request.origin != nil {
            transports.http1?.drop(request)
        } else {
            transports.curl?.drop(request)
        }
        request.owner = .arrival
    }
}
