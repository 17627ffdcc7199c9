internal import LoadModel
internal import Model

/// Starts and ends viewers.
extension LoadLoop {
    /// Starts a viewer of a target; returns false if the test has no viewers.
    func startViewer(ofTarget target: Int, plannedSeconds: Double) -> Bool {
        guard case .viewers(let settings) = scenario.user else { return false }
        let multi = transports.curl?.viewerComes() ?? 0
        let traits = viewers.nextTraits()
        let slot: ViewerSlot
        let source = plan.targets[target].steering
        if let title = plan.targets[target].title {
            let viewer = Viewer(
                title: title, settings: settings, traits: traits, plannedSeconds: plannedSeconds)
            let titles = source?.pathways.compactMap(\.title) ?? []
            slot = PlayerSlot(
                viewer, titles.isEmpty ? [title] : titles, source, loop: self, multi: multi, traits)
        } else if let titles = viewers.live?.titles(ofTarget: target), let title = titles.first {
            let viewer = LiveViewer(
                title: title, settings: settings, traits: traits, plannedSeconds: plannedSeconds)
            slot = PlayerSlot(viewer, titles, source, loop: self, multi: multi, traits)
        } else {
            return false
        }
        viewers.add(slot)
        record.interval.counts.viewers.started += 1
        // Counts from the due time, so that a late generator shows.
        slot.begin(plannedSeconds: plannedSeconds)
        return true
    }

    func accountForViewers(toSeconds seconds: Double) {
        var leaving: [ViewerSlot] = []
        for slot in viewers.playing {
            slot.account(toSeconds: seconds)
            if slot.abandons(atSeconds: seconds) { leaving.append(slot) }
        }
        for slot in leaving { viewerEnded(slot, isCutOff: false) }
    }

    /// Returns what the viewer of a row of data adds to its requests.
    func addition(ofRow row: Int32) -> ViewerAddition? {
        guard row >= 0 else { return nil }
        let row = plan.viewerData.rows[Int(row)]
        return ViewerAddition(query: row.query, headers: row.headers.map(\.line))
    }

    /// Adds the totals of an ended viewer, without the warm-up.
    func addTotals(_ totals: ViewerTotals, ofClass type: Int) {
        guard type >= 0, Double(record.interval.second) >= scenario.warmUpSeconds else { return }
        viewers.add(totals, ofClass: type)
    }

    /// Ends a viewer.
    ///
    /// - Parameter usualStartupSeconds: assumed start-up time of a viewer that is cut off before it
    ///   plays.
    func viewerEnded(_ slot: ViewerSlot, isCutOff: Bool, usualStartupSeconds: Double = 0) {
        slot.finish(isCutOff: isCutOff, usualStartupSeconds: usualStartupSeconds)
        slot.cancel()
        transports.curl?.viewerLeaves(slot.multi)
        viewers.remove(slot)
        if case .closed = scenario.model, !isCutOff { userEnded(atSeconds: clock.seconds) }
    }

    /// Cuts off viewers in the middle of their titles, at the end of the test or when there are too
    /// many. Their requests in flight continue without them.
    func cutOffViewers(atMost most: Int = .max) {
        guard viewers.count > 0 else { return }
        let usual = record.usualStartupSeconds
        for slot in viewers.playing.suffix(most).reversed() {
            viewerEnded(slot, isCutOff: true, usualStartupSeconds: usual)
        }
    }
}
