package import Model

extension LoadScenario {
    /// Checks for missing and contradictory fields, after scenario and options are merged.
    ///
    /// Throws `input.field`, which names the scenario's field.
    package func check() throws(Failure) {
        guard !targets.isEmpty else {
            throw Self.rejection("targets", "is missing", allowed: "one target at least")
        }
        try checkTargets()
        try checkArrivals()
        try checkGroups(LoadGroupNames(self))
        guard warmUpSeconds == warmUpSeconds.rounded() else {
            throw Self.rejection(
                "warmUpSeconds", "given \(Self.text(warmUpSeconds))", allowed: "whole seconds")
        }
        guard warmUpSeconds == 0 || warmUpSeconds < durationSeconds else {
            throw Self.rejection(
                "warmUpSeconds", "given \(Self.text(warmUpSeconds))",
                allowed: "less than the test's \(Self.text(durationSeconds)) s")
        }
    }

    private func checkTargets() throws(Failure) {
        if case .zipf = popularity, let index = targets.firstIndex(where: { $0.weight != 1 }) {
            throw Self.rejection(
                "targets[\(index)].weight", "given beside zipf",
                allowed: "without it: zipf follows the order of the targets")
        }
        guard case .viewers(let viewers) = user else { return }
        guard viewers.bufferSeconds >= viewers.startupSeconds else {
            throw Self.rejection(
                "viewers.bufferSeconds",
                "a buffer of \(Self.text(viewers.bufferSeconds)) s is less than the "
                    + "\(Self.text(viewers.startupSeconds)) s needed to start playback",
                allowed: "a larger buffer")
        }
        for (index, target) in targets.enumerated() where target.isFile {
            throw Self.rejection(
                "targets[\(index)]", "is a file",
                allowed: "titles, kind hls or dash: viewers play them"
            )
        }
    }

    private func checkArrivals() throws(Failure) {
        guard !stages.isEmpty else {
            throw Self.rejection(
                "arrivals", "is missing", allowed: "seconds and one of rate and users, or stages")
        }
        guard durationSeconds > 0 else {
            throw Self.rejection("arrivals", "has no duration", allowed: "more than 0 seconds")
        }
        guard stages.contains(where: { $0.seconds > 0 && ($0.from > 0 || $0.to > 0) }) else {
            throw Self.rejection(
                "arrivals", "always 0", allowed: "a rate or users above 0 at some time")
        }
        if case .open = model, think != .none {
            throw Self.rejection(
                "thinkTime", "given with a rate", allowed: "with users: a rate follows a schedule")
        }
        // Viewers pause between requests; a user without a slot would never send one.
        if let concurrency = http.concurrency, user == .requests, concurrencyForUsers > concurrency
        {
            throw Self.rejection(
                "http.concurrency", "given \(concurrency)",
                allowed:
                    "as many as users, \(concurrencyForUsers), or more; by default each has a slot")
        }
    }

    static func rejection(_ field: String, _ given: String, allowed: String) -> Failure {
        Failure(.inputField, at: .field(field), given, allowed: allowed)
    }

    /// Formats a number, whole ones without a fraction.
    private static func text(_ number: Double) -> String {
        Int64(exactly: number).map(String.init) ?? "\(number)"
    }
}
