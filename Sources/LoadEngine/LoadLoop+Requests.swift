internal import Catalog
internal import Curl
internal import LoadTest
internal import Model

/// Requests on their way: a place, a handle, the bytes that come.
extension LoadLoop {
    /// Asks for an object, or has it wait for a place.
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
        guard !multis.isEmpty else { return }
        guard budget.takeRequest() else { return budget.spend() }
        do throws(CurlError) {
            let request = try takeRequest()
            if request.object != object { try set(request, for: object) }
            if opensConnections { try request.setOpensConnection(owner.opensConnection) }
            request.easy.delegate = request
            request.begin(
                owner: owner, plannedSeconds: plannedSeconds, sentSeconds: clock.seconds)
            request.multi = multi(for: request, owner)
            try multis[request.multi].add(request.easy)
            request.place = active.count
            active.append(request)
            interval.counts.sent += 1
        } catch {
            fail(Failure("worker.internal", error.description))
        }
    }

    /// Where the request's connections are, or one that has room where those have not.
    private func multi(for request: LoadRequest, _ owner: LoadRequest.Owner) -> Int {
        let wanted = opensConnections ? owner.multi ?? request.ownMulti : request.ownMulti
        guard multis[wanted].activeCount >= connectionsOfMulti else { return wanted }
        return multis.indices.min { multis[$0].activeCount < multis[$1].activeCount } ?? wanted
    }

    private func takeRequest() throws(CurlError) -> LoadRequest {
        if let request = idle.popLast() { return request }
        var settings = CurlEasy.Options(userAgent: options.userAgent)
        settings.bufferBytes = min(options.bufferBytes, max(32 << 10, (16 << 20) / places))
        let easy = try CurlEasy(options: settings)
        try easy.setProfile(profile)
        try easy.setHeaders(headers)
        try easy.setGet()
        let http = scenario.http
        try easy.setConnectTimeout(milliseconds: Int(http.connectTimeoutSeconds * 1000))
        try easy.setTotalTimeout(milliseconds: Int(http.timeoutSeconds * 1000))
        return LoadRequest(
            easy: easy, loop: self, multi: nextMulti(), checksBodies: scenario.bodies == .checked)
    }

    private func set(_ request: LoadRequest, for object: Int) throws(CurlError) {
        let wanted = plan.objects[object]
        let hadRange = request.object >= 0 && plan.objects[request.object].range != nil
        request.object = -1
        try request.easy.setURL(wanted.url)
        if let range = wanted.range {
            let last = range.length.map { "\(range.offset + $0 - 1)" } ?? ""
            try request.easy.setRange("\(range.offset)-\(last)")
        } else if hadRange {
            try request.easy.setRange(nil)
        }
        request.object = object
    }

    /// Whether bytes of a body may be received. Called from inside libcurl.
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
        if !multis.isEmpty { multis[request.multi].remove(request.easy) }
        request.easy.delegate = nil
        request.owner = .arrival
    }

    /// Frees a request's place.
    func leave(_ request: LoadRequest) {
        let last = active.removeLast()
        if last !== request {
            active[request.place] = last
            last.place = request.place
        }
        request.easy.delegate = nil
        request.owner = .arrival
        idle.append(request)
    }
}
