package import CommandLine
import CoordinatorClient
import Glibc
import Model
import Rendering
import Services
import Storage
import Text

/// `--check-media`: has ffprobe open the entry to play of everything that a catalog has completed.
package struct MediaCheck: Sendable {
    package static let option = CommandOption(
        "check-media", .flag,
        help: "Check completed media with ffprobe. DEST must be on this machine.")

    /// What was found of a catalog. An asset that is completed, that `isMedia` and that is in neither
    /// table plays.
    struct Findings: Sendable {
        var playable = 0
        var unplayable: [AssetID: Failure] = [:]
        /// With why.
        var unchecked: [AssetID: String] = [:]
        /// The first of `unplayable`, to be listed.
        var listed: [AssetStatus] = []

        /// The line of the summary.
        var text: String {
            let counts = [
                "\(HumanFormat.count(playable)) can be played",
                "\(HumanFormat.count(unplayable.count)) cannot",
                unchecked.isEmpty
                    ? nil : "\(HumanFormat.count(unchecked.count)) could not be checked",
            ]
            return "ffprobe: \(counts.compactMap(\.self).joined(separator: ", "))\n"
        }

        /// Tells which do not play, on stderr.
        func list(reportPath: String?) {
            guard !unplayable.isEmpty else { return }
            writeAll(
                "\n"
                    + RunSummary.failures(
                        listed, total: unplayable.count, reportPath: reportPath), to: 2)
        }
    }

    private static let atATime = min(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1), 4)
    private let probe: MediaProbe

    /// Looks for ffprobe when the option is given; nil without it, and says so where it is missing.
    ///
    /// Throws a usage error where the title's keys are left with the origin, whom nobody asks here.
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

    /// Checks all that a catalog has completed; nil where its site is not on this machine, which is
    /// said, and when the draining began first.
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
        var after: AssetID?
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

    /// One for each asset, nil for what is no media; what is under way ends when the draining begins.
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

    /// A few at a time.
    private func verdicts(
        on assets: [AssetStatus], at site: String
    ) async -> [MediaProbe.Verdict?] {
        await withTaskGroup(of: (Int, MediaProbe.Verdict?).self) { group in
            var verdicts = [MediaProbe.Verdict?](repeating: nil, count: assets.count)
            for (place, asset) in assets.enumerated() where !Task.isCancelled {
                if place >= Self.atATime, let (place, verdict) = await group.next() {
                    verdicts[place] = verdict
                }
                group.addTask { (place, await self.verdict(on: asset, at: site)) }
            }
            for await (place, verdict) in group { verdicts[place] = verdict }
            return verdicts
        }
    }

    private func verdict(on asset: AssetStatus, at site: String) async -> MediaProbe.Verdict? {
        guard let path = asset.path else {
            return .unchecked("the coordinator does not report its path")
        }
        guard MediaProbe.isMedia(asset.kind, path: path) else { return nil }
        do {
            // What a coordinator says stays beneath the site.
            return await probe.verdict(
                on: "\(site)/\(try ObjectKey(path).path)", kind: asset.kind)
        } catch {
            return .unchecked(error.message)
        }
    }
}

extension MediaCheck.Findings {
    /// Reasons that are kept in full.
    private static let mostReasons = 10_000

    fileprivate mutating func add(_ asset: AssetStatus, _ verdict: MediaProbe.Verdict?) {
        switch verdict {
        case nil: return
        case .playable: playable += 1
        case .unplayable(let reason):
            let reason = unplayable.count < Self.mostReasons ? reason : "ffprobe refuses it"
            let failure = Failure("content.unplayable", reason)
            unplayable[asset.id] = failure
            guard listed.count < RunSummary.listedFailures else { return }
            var asset = asset
            asset.failure = failure
            listed.append(asset)
        case .unchecked(let reason):
            unchecked[asset.id] =
                unchecked.count < Self.mostReasons ? reason : "it could not be checked"
        }
    }
}
