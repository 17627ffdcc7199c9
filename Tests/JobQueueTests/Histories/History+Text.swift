import API
import Model

// How histories are written: short enough that a failure can be read.

extension Event: CustomStringConvertible {
    var description: String { actions.map(\.description).joined(separator: "\n     ‖ ") }
}

extension Action: CustomStringConvertible {
    var description: String {
        switch fault {
        case .none: "[\(coordinator)] \(step)"
        case .answerLost: "[\(coordinator)] \(step); the answer is lost"
        case .killed(let trips): "[\(coordinator)] \(step); killed after \(trips) round trips"
        }
    }
}

extension Step: CustomStringConvertible {
    var description: String {
        switch self {
        case .open(let catalog): "open c\(catalog)"
        case .add(let catalog, let generation, let specs):
            "add to c\(catalog) generation \(generation): " + list(specs)
        case .start(let catalog, let generation): "start c\(catalog) generation \(generation)"
        case .interrupt(let catalog): "interrupt c\(catalog)"
        case .claim(let lease, let worker, let sites, let most):
            "claim \(most) at sites \(sites) as lease \(lease) of worker \(worker)"
        case .release(let worker, let lease): "release lease \(lease) of worker \(worker)"
        case .heartbeat(let worker, let leases): "heartbeat of worker \(worker): leases \(leases)"
        case .report(let worker, let results): "report of worker \(worker): " + list(results)
        case .reportRest(let worker, let results):
            "rest of the report of worker \(worker): " + list(results)
        case .addSegments(let worker, let ticket, let segments):
            "segments of worker \(worker), \(ticket): " + list(segments)
        case .split(let worker, let ticket, let split, let totalBytes):
            "split \(split) of worker \(worker), \(ticket): \(totalBytes) bytes"
        case .beginRefresh(let worker, let ticket): "files for worker \(worker), \(ticket)"
        case .handIn(let worker, let ticket, _, let object, let publishes):
            "worker \(worker) hands in \(object.bytes) \(shortDigest(object.sha256)) of \(ticket)"
                + (publishes ? ", to be published" : "")
        case .sweep(let times): times == 1 ? "sweep" : "sweep × \(times)"
        case .fold: "fold"
        case .tidy: "tidy"
        case .expire(let leases): "leases \(leases) run out"
        case .due: "delays are over"
        case .operate(let operation): "\(operation)"
        case .choose(let operation): "choice of catalogs to \(operation)"
        case .control(let site, let state): "set queue of site \(site) \(state)"
        case .recordVolume(let worker, let lease, let site, let volume, let fileSystem):
            "record volume \(volume) on file system \(fileSystem ?? 0) of site \(site) "
                + "under lease \(lease) of worker \(worker)"
        case .acceptVolume(let site): "accept the volume of site \(site)"
        }
    }
}

extension Operation: CustomStringConvertible {
    var description: String {
        var text = action.rawValue
        if let catalog { text += " c\(catalog)" }
        if let asset { text += " \(asset)" }
        if let code { text += " with \(code)" }
        if let priority { text += " to \(priority)" }
        if isHeldBack { text += " to later" }
        return text
    }
}

extension AssetSpec: CustomStringConvertible {
    var description: String {
        let extra = [bytes.map { "\($0) bytes" }, sha256.map { "sha256 \(shortDigest($0))" }]
        return ([url, key] + extra.compactMap { $0 }).joined(separator: " ")
    }
}

extension SegmentSpec: CustomStringConvertible {
    var description: String { "#\(ordinal) \(url)" }
}

extension WorkResult: CustomStringConvertible {
    var description: String { "\(ticket) \(outcome)" }
}

extension WorkResult.Outcome: CustomStringConvertible {
    var description: String {
        switch self {
        case .stored(let bytes, let sha256, let isReused):
            "\(isReused ? "reused" : "stored") \(bytes) \(shortDigest(sha256))"
        case .resolved(let count): "resolved \(count)"
        case .written: "written"
        case .refreshed(let outcome): "refreshed: \(outcome)"
        case .failed(let code, let retryAfter):
            "failed \(code)" + (retryAfter.map { " retry after \($0) s" } ?? "")
        case .returned: "returned"
        case .nothingStored: "done with nothing"
        }
    }
}

extension Answer: CustomStringConvertible {
    var description: String {
        switch self {
        case .nothing: "done"
        case .refused(let code): "rejected with \(code)"
        case .broken(let message): "broken: \(message)"
        case .opened(let generation): "generation \(generation)"
        case .granted(let given): list(given)
        case .verdicts(let verdicts): list(verdicts.map(\.rawValue))
        case .leases(let leases, let cancelled):
            "leases \(leases.sorted()), cancelled \(cancelled)"
        case .selected(let answer): "\(answer.assets) assets, \(answer.jobs) jobs"
        case .volume(let volume, let fileSystem):
            volume.map { "volume \($0) on file system \(fileSystem ?? 0)" } ?? "no volume"
        case .queue(let state, let leased): "\(state), \(leased) leased"
        case .swept(let count): "\(count) taken back"
        case .splitInto(let verdict): verdict.rawValue
        case .unknown: "unknown"
        }
    }
}

extension Granted: CustomStringConvertible {
    var description: String {
        var text = "\(work) try \(attempt)"
        if let length { text += " length \(length)" }
        if let known { text += " known \(known.bytes) \(shortDigest(known.sha256))" }
        if let split { text += " split \(split)" }
        if let parts {
            text += " parts \(parts.sorted { $0.key < $1.key }.map { shortDigest($0.value) })"
        }
        return text
    }
}

extension Expected: CustomStringConvertible {
    var description: String {
        switch self {
        case .exactly(let answer): "\(answer)"
        case .accepted(let places): "accepted at \(places.sorted())"
        case .grant(let permitted, _, let most, let mustGive):
            "\(mustGive ? "1" : "0") to \(most) of " + list(permitted.sorted { $0.work < $1.work })
        case .leases(let must, let may, let cancelled):
            "leases \(must.sorted()), perhaps \(may.subtracting(must).sorted()), cancelled "
                + "\(cancelled)"
        case .selected(let answer, _): "\(answer.assets) assets, \(answer.jobs) jobs"
        case .queue(let state, let leased): "\(state), \(leased) leased"
        }
    }
}

extension Snapshot.Totals: CustomStringConvertible {
    var description: String {
        "\(assets) assets, \(completed) completed, \(failed) failed; \(segments) segments, "
            + "\(segmentsDone) done, \(segmentsFailed) failed; \(bytes) bytes, \(adoptedBytes) "
            + "adopted; \(retries) retries"
    }
}

extension Snapshot.Counts: CustomStringConvertible {
    var description: String {
        "\(state) \(segmentsDone)/\(segments), \(bytes) bytes, \(retries) retries"
    }
}

private func list(_ items: [some CustomStringConvertible]) -> String {
    "(" + items.map(\.description).joined(separator: ", ") + ")"
}

/// A digest that a history made up, without its zeros.
private func shortDigest(_ digest: String) -> String {
    "d" + digest.drop { $0 == "0" }.prefix(8)
}
