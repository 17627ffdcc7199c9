internal import Curl
internal import LoadModel
internal import Model

/// What of a test's targets is asked for before any load: no manifest tells of files whether they are there, nor of
/// a title's segments whether the place they lie at answers.
extension LoadPreflight {
    /// Targets of which the first file is asked for.
    private static let mostTargets = 100

    /// An origin and the first object of a plan that comes from it.
    struct Origin: Sendable {
        var name: String
        /// Its place.
        var object: Int
    }

    /// In the order of the objects.
    static func origins(of plan: LoadPlan) -> [Origin] {
        var origins: [Origin] = []
        var names: Set<String> = []
        var starts: Set<Substring> = []
        for (place, object) in plan.objects.enumerated() {
            // Most begin alike, and are told apart by that at little cost.
            guard starts.insert(start(of: object.url)).inserted,
                let name = originName(of: object.url), names.insert(name).inserted
            else { continue }
            origins.append(Origin(name: name, object: place))
        }
        return origins
    }

    /// A URL up to its path.
    private static func start(of url: String) -> Substring {
        var slashes = 0
        return Substring(
            url.utf8.prefix { byte in
                if byte == UInt8(ascii: "/") { slashes += 1 }
                return slashes < 3 && byte != UInt8(ascii: "?") && byte != UInt8(ascii: "#")
            })
    }

    /// Asks for the first file of each target, of a hundred targets at most, and for the first object of each origin
    /// of which nothing was asked so far.
    func ask(
        _ entries: [Entry], _ plan: LoadPlan, _ origins: [Origin], _ addresses: LoadAddresses
    ) async throws(Failure) {
        var places: [Int] = []
        var asked: Set<String> = []
        for (entry, target) in zip(entries, plan.targets) {
            if entry.kind != .file {
                asked.formUnion(originName(of: entry.url).map { [$0] } ?? [])
            } else if entry.isFirst, places.count < Self.mostTargets {
                places.append(target.objects.lowerBound)
                asked.formUnion(originName(of: entry.url).map { [$0] } ?? [])
            }
        }
        // Whoever has a playlist was asked for it.
        places += origins.map(\.object).filter { place in
            plan.objects[place].role != .playlist
                && originName(of: plan.objects[place].url).map { !asked.contains($0) } ?? false
        }
        let failures = await means.probe.ask(
            places.map { plan.objects[$0] }, scenario.http, addresses)
        // The first in order, and not in time, is told of.
        for (place, failure) in zip(places, failures) {
            let object = plan.objects[place]
            let entry = entries[Int(object.target)]
            guard let failure, !(entry.mayFail && Self.isAnswer(failure.code)) else { continue }
            let refusal = Self.refusal(entry.label, failure)
            guard object.url != entry.url, failure.code != "worker.cancelled" else { throw refusal }
            throw Failure(
                refusal.code,
                "\(entry.label) names \(Redaction.shown(object.url)): "
                    + "\(failure.code): \(failure.message)")
        }
    }

    /// The origin said so itself: what `LoadTarget.mayFail` allows.
    private static func isAnswer(_ code: FailureCode) -> Bool {
        code == "origin.redirected" || code.httpStatusClass != nil
    }

    /// Refuses HTTP/2 without TLS where the library begins anew on a connection for each request: all but the first
    /// would fail, and a connection for each is another load than the one that was asked for.
    func checkVersion(
        of urls: some Sequence<(url: String, label: String)>
    ) throws(Failure) {
        guard scenario.http.version == .http2, scenario.http.keepsAlive,
            !CurlGlobal.reusesPlainHTTP2
        else { return }
        for (url, label) in urls where url.prefix(7).lowercased() == "http://" {
            throw Failure(
                "input.field",
                "field http.version: given 2 for \(label) without TLS, allowed with https, or with "
                    + "keepAlive false: this libcurl, older than 8.0, cannot use such a connection "
                    + "twice")
        }
    }
}
