import API
package import CommandLine
import CoordinatorClient
import EventLoop
import Glibc
import Model
import Rendering
import Services
import Storage
import Text

/// `--check-media`: opens the entry file of each completed asset of a catalog with ffprobe.
package struct MediaCheck: Sendable {
    package static let option = CommandOption(
        "check-media", .flag,
        help: "Check completed media with ffprobe. DEST must be on this machine.")

    /// The results for a catalog. A completed asset that `isMedia` and is in neither table can be
    /// played.
    struct Findings: Sendable {
        var playable = 0
        var unplayable: [AssetID: Failure] = [:]
        /// The assets that could not be checked, with the reason.
        var unchecked: [AssetID: String] = [:]
        /// The first of `unplayable`, for the list.
        var listed: [AssetStatus] = []

        /// The summary line.
        var text: String {
            let counts = [
                "\(HumanFormat.count(playable)) can be played",
                "\(HumanFormat.count(unplayable.count)) cannot",
                unchecked.isEmpty
                    ? nil : "\(HumanFormat.count(unchecked.count)) could not be checked",
            ]
            return "ffprobe: \(counts.compactMap(\.self).joined(separator: ", "))\n"
        }

        /// Lists the unplayable assets on stderr.
        func list(reportPath: String?) {
            guard !unplayable.isEmpty else { return }
            writeAll(
                "\n"
                    + RunSummary.failures(
                        listed, total: unplayable.count, reportPath: reportPath), to: 2)
        }
    }

    private static let atATime = min(UsableCPUs.count, 4)
    private let probe: MediaProbe

    /// Finds ffprobe if the option is set; prints a note and returns nil if it is missing.
    ///
    /// Throws a usage error if the title's keys are not stored: the check contacts no origin.
    package static func prepare(
        _ arguments: Arguments, leavesKeys: Bool = false
    ) async throws(UsageError) -> MediaCheck? {
        guard arguments.flag("check-media") else { return nil }
        guard !leavesKeys else {
            throw UsageError(
                "--check-media cannot be used with --no-keys",
                hint: "Encrypted media needs its key to play, and the check contacts no origin.")
        }
        guard let probe = await MediaProbe.find() else {
            Console.note(
                "--check-media is skipped: ffprobe cannot be run; install it (Debian: apt-get "
                    + "install ffmpeg) and run the command again")
            return nil
        }
        return MediaCheck(probe: probe)
    }

    /// Checks all completed assets of a catalog. Returns nil, with a note, if its site is not on
    /// this machine, or if draining started first.
    func run(
        _ status: CatalogStatus, _ client: CoordinatorClient, draining: ShutdownSignal
    ) async throws(Failure) -> Findings? {
        let site = try StorageURL(status.storageURL).path
        guard access(site, X_OK) == 0 else {
            Console.note(
                "--check-media is skipped: \(printable(site)) is not on this machine "
                    + "(\(systemErrorText(errno)))")
            return nil
        }
        var findings = Findings()
        var after: String?
        repeat {
            let page = try await client.assets(of: status.id, after: after, state: .completed)
            let verdicts = await verdicts(on: page.assets, at: site, draining)
            guard !draining.isDraining, !Task.isCancelled else {
                Console.note("the check with ffprobe was interrupted")
                return nil
            }
            for (asset, verdict) in zip(page.assets, verdicts) { findings.add(asset, verdict) }
            after = page.next
        } while after != nil
        return findings
    }

    /// Returns one verdict per asset, nil for no media; draining stops the checks.
    private func verdicts(
        on assets: [AssetStatus], at site: String, _ draining: ShutdownSignal
    ) async -> [MediaProbe.Verdict?] {
        let checking = Task { await verdicts(on: assets, at: site) }
        let stopping = Task {
            await draining.wait()
            if draining.isDraining { checking.cancel() }
        }
        defer { stopping.cancel() }
        return await withTaskCancellationHandler {
            await checking.value
        } onCancel: {
            checking.cancel()
        }
    }

    /// Runs a few checks at a time.
    private func verdicts(
        on assets: [AssetStatus], at site: String
    ) async -> [MediaProbe.Verdict?] {
        await withTaskGroup(of: (Int, MediaProbe.Verdict?).self) { group in
            var verdicts = [MediaProbe.Verdict?](repeating: nil, count: assets.count)
            for (index, asset) in assets.enumerated() where !Task.isCancelled {
                if index >= Self.atATime, let (index, verdict) = await group.next() {
                    verdicts[index] = verdict
                }
                group.addTask { (index, await self.verdict(on: asset, at: site)) }
            }
            for await (index, verdict) in group { verdicts[index] = verdict }
            return verdicts
        }
    }

    private func verdict(on asset: AssetStatus, at site: String) async -> MediaProbe.Verdict? {
        guard let path = asset.path else {
            return .unchecked("the coordinator does not report its path")
        }
        guard MediaProbe.isMedia(asset.kind, path: path) else { return nil }
        do {
            // A coordinator's path must stay beneath the site.
            return await probe.verdict(
                on: "\(site)/\(try ObjectKey(path).path)", kind: asset.kind)
        } catch {
            return .unchecked(error.message)
        }
    }
}

extension MediaCheck.Findings {
    /// Maximum number of reasons that are kept.
    private static let maxReasons = 10_000

    fileprivate mutating func add(_ asset: AssetStatus, _ verdict: MediaProbe.Verdict?) {
        switch verdict {
        case nil: return
        case .playable: playable += 1
        case .unplayable(let reason):
            let reason = unplayable.count < Self.maxReasons ? reason : "ffprobe rejects it"
            let failure = Failure(.contentUnplayable, reason)
            unplayable[asset.id] = failure
            guard listed.count < RunSummary.listedFailures else { return }
            var asset = asset
            asset.failure = failure
            listed.append(asset)
        case .unchecked(let reason):
            unchecked[asset.id] =
                unchecked.count < Self.maxReasons ? reason : "it could not be checked"
        }
    }
}
