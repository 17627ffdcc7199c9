package import Model

extension LoadScenario {
    /// Checks for missing and contradictory fields, after scenario and options are merged.
    ///
    /// Throws `input.field`, which names the scenario's field.
    package func check() throws(Failure) {
        guard !targets.isEmpty else {
            throw Self.refusal("targets", "is missing", allowed: "one target at least")
        }
        try checkTargets()
        try checkArrivals()
        try checkGroups()
        guard warmUpSeconds == warmUpSeconds.rounded() else {
            throw Self.refusal(
                "warmUpSeconds", "given \(Self.text(warmUpSeconds))", allowed: "whole seconds")
        }
        guard warmUpSeconds == 0 || warmUpSeconds < durationSeconds else {
            throw Self.refusal(
                "warmUpSeconds", "given \(Self.text(warmUpSeconds))",
                allowed: "less than the test's \(Self.text(durationSeconds)) s")
        }
    }

    private func checkTargets() throws(Failure) {
        if case .zipf = popularity, let place = targets.firstIndex(where: { $0.weight != 1 }) {
            throw Self.refusal(
                "targets[\(place)].weight", "given beside zipf",
                allowed: "without it: zipf follows the order of the targets")
        }
        guard case .viewers(let viewers) = user else { return }
        guard viewers.bufferSeconds >= viewers.startupSeconds else {
            throw Self.refusal(
                "viewers.bufferSeconds",
                "a buffer of \(Self.text(viewers.bufferSeconds)) s is less than the "
                    + "\(Self.text(viewers.startupSeconds)) s needed to start playback",
                allowed: "a larger buffer")
        }
        for (place, target) in targets.enumerated() {
            guard case .url(_, .file) = target.source else { continue }
            throw Self.refusal(
                "targets[\(place)]", "is a file",
                allowed: "titles, kind hls or dash: viewers play them"
            )
        }
    }

    private func checkArrivals() throws(Failure) {
        guard !stages.isEmpty else {
            throw Self.refusal(
                "arrivals", "is missing", allowed: "seconds and one of rate and users, or stages")
        }
        guard durationSeconds > 0 else {
            throw Self.refusal("arrivals", "has no duration", allowed: "more than 0 seconds")
        }
        guard stages.contains(where: { $0.seconds > 0 && ($0.from > 0 || $0.to > 0) }) else {
            throw Self.refusal(
                "arrivals", "always 0", allowed: "a rate or users above 0 at some time")
        }
        if case .open = model, think != .none {
            throw Self.refusal(
                "thinkTime", "given with a rate", allowed: "with users: a rate follows a schedule")
        }
        // Viewers pause between requests; a user without a slot would never send one.
        if let places = http.concurrency, user == .requests, placesForUsers > places {
            throw Self.refusal(
                "http.concurrency", "given \(places)",
                allowed: "as many as users, \(placesForUsers), or more; by default each has a slot")
        }
    }

    /// Checks the groups of thresholds: results by group exist only at the end.
    private func checkGroups() throws(Failure) {
        for (place, threshold) in thresholds.enumerated() {
            guard let group = threshold.group else { continue }
            guard threshold.abortAfterSeconds == nil else {
                throw Self.refusal(
                    "thresholds[\(place)].abortAfterSeconds", "given for a group",
                    allowed: "for thresholds of all requests: groups are judged at the end")
            }
            guard group.dimension == .target else { continue }
            let names = targets.compactMap { target in
                if case .url = target.source { redacted(url: target.name) } else { nil }
            }
            // The names of a list's assets are not known yet.
            guard names.count == targets.count, !names.contains(group.name) else { continue }
            throw Self.refusal(
                "thresholds[\(place)]", "given target \(group.name)",
                allowed: names.prefix(5).joined(separator: ", ")
                    + (names.count > 5 ? ", …" : ""))
        }
    }

    private static func refusal(_ field: String, _ given: String, allowed: String) -> Failure {
        Failure(.inputField, at: .field(field), given, allowed: allowed)
    }

    /// Formats a number, whole ones without a fraction.
    private static func text(_ number: Double) -> String {
        Int64(exactly: number).map(String.init) ?? "\(number)"
    }
}
