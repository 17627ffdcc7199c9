internal import Curl
internal import LoadModel
internal import Model

/// Requests some objects before the load. A manifest does not show that files exist, nor that the
/// origin of a title's segments responds.
extension LoadPreflight {
    /// Maximum number of targets whose first file is requested.
    private static let maxTargets = 100

    /// An origin and its first object in a plan.
    struct Origin: Sendable {
        var name: String
        /// Index of the object.
        var object: Int
    }

    /// Returns the origins in the order of their objects.
    static func origins(of plan: LoadPlan) -> [Origin] {
        var origins: [Origin] = []
        var names: Set<String> = []
        var starts: Set<Substring> = []
        for (index, object) in plan.objects.enumerated() {
            // Most URLs begin alike, so comparing their starts is cheap.
            guard starts.insert(start(of: object.url)).inserted,
                let name = originName(of: object.url), names.insert(name).inserted
            else { continue }
            origins.append(Origin(name: name, object: index))
        }
        return origins
    }

    /// Returns a URL up to its path.
    private static func start(of url: String) -> Substring {
        var slashes = 0
        return Substring(
            url.utf8.prefix { byte in
                if byte == UInt8(ascii: "/") { slashes += 1 }
                return slashes < 3 && byte != UInt8(ascii: "?") && byte != UInt8(ascii: "#")
            })
    }

    /// Requests the first file of up to a hundred targets, and the first object of each origin
    /// without a request so far.
    func ask(
        _ entries: [Entry], _ plan: LoadPlan, _ origins: [Origin], _ hosts: LoadHosts
    ) async throws(Failure) {
        var objects: [Int] = []
        var asked: Set<String> = []
        for (entry, target) in zip(entries, plan.targets) {
            if entry.kind != .file {
                asked.formUnion(originName(of: entry.url).map { [$0] } ?? [])
            } else if entry.isFirst, objects.count < Self.maxTargets {
                objects.append(target.objects.lowerBound)
                asked.formUnion(originName(of: entry.url).map { [$0] } ?? [])
            }
        }
        // The origin of a playlist was already requested.
        objects += origins.map(\.object).filter { index in
            // A viewer plays without its steering server and its clocks too.
            plan.objects[index].role != .playlist
                && !(playsTitles && plan.objects[index].role == .data)
                && originName(of: plan.objects[index].url).map { !asked.contains($0) } ?? false
        }
        let failures = await failures(of: objects.map { plan.objects[$0] }, hosts)
        // Throws for the first in order, not in time, so that the message is stable.
        for (index, failure) in zip(objects, failures) {
            let object = plan.objects[index]
            let entry = entries[Int(object.target)]
            guard let failure, !(entry.mayFail && Self.isOfOrigin(failure.code)) else { continue }
            let rejection = Self.rejection(entry.label, failure)
            guard object.url != entry.url, failure.code != .workerCancelled else { throw rejection }
            throw Failure(
                rejection.code,
                "\(entry.label) names \(Redaction.shown(object.url)): "
                    + "\(failure.code): \(failure.message)")
        }
    }

    /// Requests objects, following redirects to hosts that are allowed; returns nil for those that
    /// answer well.
    private func failures(
        of objects: [LoadPlan.Object], _ hosts: LoadHosts
    ) async -> [Failure?] {
        var failures = [Failure?](repeating: nil, count: objects.count)
        var waiting = objects.enumerated().map { index, object in
            (index, object, RedirectRoute(object.url, atMost: scenario.maxRedirects))
        }
        while !waiting.isEmpty {
            let answers = await means.probe.ask(
                waiting.map { $0.1 }, scenario.http, hosts.addresses)
            var again: [(Int, LoadPlan.Object, RedirectRoute)] = []
            for ((index, object, route), answer) in zip(waiting, answers) {
                guard case .redirect(let location, _) = answer, scenario.maxRedirects > 0 else {
                    failures[index] = answer.failure
                    continue
                }
                var (object, route) = (object, route)
                do throws(Failure) {
                    object.url = try route.follow(to: location)
                    if let rejection = await hosts.rejection(of: object.url) { throw rejection }
                    again.append((index, object, route))
                } catch {
                    failures[index] = error
                }
            }
            waiting = again
        }
        return failures
    }

    /// Returns true for a failure of the origin, which `LoadTarget.mayFail` allows: not for an
    /// address that may not be contacted, and not for a failure of this process.
    private static func isOfOrigin(_ code: FailureCode) -> Bool {
        switch code {
        case .originAddressDenied, .originAddressBlocked, .originAddressNotOfTarget: false
        default: code.family == "origin"
        }
    }

    /// Rejects HTTP/2 without TLS with a libcurl that opens a connection per request. All but the
    /// first request would fail, and a connection per request would be a different load.
    func checkVersion(
        of urls: some Sequence<(url: String, label: String)>
    ) throws(Failure) {
        guard scenario.http.version == .http2, scenario.http.keepsAlive,
            !CurlGlobal.reusesPlainHTTP2
        else { return }
        for (url, label) in urls where url.prefix(7).lowercased() == "http://" {
            throw Failure(
                .inputField, at: .field("http.version"),
                "given 2 for \(label) without TLS",
                allowed:
                    "with https, or with keepAlive false: this libcurl, older than 8.0, cannot use "
                    + "such a connection twice")
        }
    }
}
