import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// Commands that ask a cluster, where there is none but what `dray prefetch` has left.
    @Suite(.timeLimit(.minutes(2))) struct PrivateAnswerTests {
        @Test func aPrivateClusterAnswersWhatItKnows() async throws {
            let source = try TemporaryDirectory("asked")
            try source.write("one", to: "one.bin")
            let origin = try await NginxServer(root: source.path)
            let home = try await EmbeddedHome(.current)
            let list = try source.write(
                "\(origin.url)/one.bin\n\(origin.url)/lost.bin\n", to: "list.txt")
            let prefetch = try home.prefetch(list, ["--name", "asked"])
            #expect(try await prefetch.wait() == .exited(1))

            func ask(_ words: [String]) async throws -> ChildProcess {
                let run = try home.start(words + ["--state", home.path("own/state/dray")])
                #expect(try await run.wait() == .exited(0), "\(run.errors)")
                return run
            }
            let failed = try await ask(["assets", "list", "asked", "--code", "origin.*"])
            #expect(failed.output.contains("lost.bin") && !failed.output.contains("one.bin"))
            let bySite = try await ask(["assets", "list", "asked", "--site", home.edge, "--json"])
            #expect(bySite.output.contains("one.bin"))
            // States of assets are no second directory.
            let inState = try await ask(["assets", "asked", "--state", "failed"])
            #expect(inState.output.contains("lost.bin") && !inState.output.contains("one.bin"))
            let cancelled = try await ask(["assets", "cancel", "--state", "interrupted"])
            #expect(cancelled.output == "Nothing to cancel.\n")
            let none = try home.start(["assets", "stop", "--state", home.stateDirectory])
            #expect(try await none.wait() == .exited(2))
            #expect(
                none.errors.hasSuffix(
                    "'stop' was read as the name of a catalog. `dray assets --help` lists the "
                        + "commands.\n"), "\(none.errors)")
            #expect(try await ask(["status"]).output.contains("asked"))
            let one = try await ask(["catalog", "status", "asked", "--site", home.edge])
            #expect(one.output.contains("1 of 2 assets completed, 1 failed"), "\(one.output)")
            #expect(try await ask(["queue"]).output.contains("file://\(home.edge)"))
            #expect(try await ask(["origins"]).output.contains(origin.url))
            // What is set is there for the next run.
            let site = "file://\(home.edge)"
            _ = try await ask(["site", "set", site, "--maximum", "3Mbit/s"])
            #expect(try await ask(["site"]).output.contains("3Mbit/s"))
            try await home.expectQuiet()

            // Asking has changed nothing.
            let again = try home.prefetch(list, ["--name", "asked"])
            #expect(try await again.wait() == .exited(1))
            #expect(!again.errors.contains("no longer in the catalog"))
            #expect(origin.requests().filter { $0.target == "/one.bin" }.count == 1)
            let other = try home.prefetch("\(origin.url)/one.bin", ["--name", "asked"])
            #expect(try await other.wait() == .exited(0))
            #expect(
                other.errors.contains(
                    "1 asset of the previous list of this name is no longer in the catalog"),
                "\(other.errors)")
        }

        /// `dray status` serves as a health check.
        @Test func aStatusReportsWhetherAClusterRuns() async throws {
            let source = try TemporaryDirectory("checked")
            try source.write("one", to: "one.bin")
            let origin = try await NginxServer(root: source.path)
            let home = try await EmbeddedHome(.ordinary)
            let refresh = try home.start(["refresh", "checked"])
            #expect(try await refresh.wait() == .exited(2))
            #expect(refresh.errors.contains("no private cluster exists at "), "\(refresh.errors)")
            let prefetch = try home.prefetch("\(origin.url)/one.bin")
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            let status = try home.start(["status"])
            #expect(try await status.wait() == .exited(3))
            #expect(status.errors.contains("DRAY_COORDINATOR is not set"))
            #expect(status.errors.contains("add `--state /"), "\(status.errors)")
            let watch = try home.start(["watch"])
            #expect(try await watch.wait() == .exited(3))
            #expect(watch.errors.contains("no cluster runs at "), "\(watch.errors)")
            // Not at the default address either, where another cluster may run.
            let state = home.path("own/state/dray")
            let named = try home.start(["watch", "--state", state])
            #expect(try await named.wait() == .exited(3))
            #expect(
                named.errors.contains("no cluster runs in --state '\(state)'")
                    && named.errors.contains("`dray up --state \(state)`"), "\(named.errors)")
            if geteuid() == 0 {
                // Another user's may run: only that user sees it.
                let foreign = try DrayProcess.start(["watch", "--state", state])
                #expect(try await foreign.wait() == .exited(2))
                #expect(foreign.errors.contains("belongs to the user nobody"), "\(foreign.errors)")
            }
            let unused = try home.start(["watch", "--state", home.path("unused")])
            #expect(try await unused.wait() == .exited(2))
            #expect(unused.errors.contains("where no private cluster exists"), "\(unused.errors)")
            // A URL's host and path name its catalog.
            let name = "127.0.0.1:\(origin.port)/one.bin"
            let assets = try home.start(["assets", "list", name])
            #expect(try await assets.wait() == .exited(0), "\(assets.errors)")
            #expect(assets.output.contains("one.bin"))
            let catalog = try home.start(["catalog", "status", name])
            #expect(try await catalog.wait() == .exited(0), "\(catalog.errors)")
            #expect(catalog.output.contains("1 of 1 asset completed"), "\(catalog.output)")
            // The same list, without a command.
            let listed = try home.start(["assets", name])
            #expect(try await listed.wait() == .exited(0), "\(listed.errors)")
            #expect(listed.output == assets.output)
            // Commands that change something find it, too.
            for words in [["catalog", "cancel", name], ["assets", "pause", name]] {
                let change = try home.start(words)
                #expect(try await change.wait() == .exited(0), "\(change.errors)")
                #expect(change.output.hasPrefix("Nothing to "), "\(change.output)")
            }
            // A directory names its site.
            let audit = try home.start(["audit", home.edge])
            #expect(try await audit.wait() == .exited(0), "\(audit.errors)")
            let report = try home.start(["report", "--site", home.edge])
            #expect(try await report.wait() == .exited(0), "\(report.errors)")
        }

        /// Records of a run that was killed do not say that it continues.
        @Test func whatWasKilledIsStopped() async throws {
            let origin = try FaultOrigin()
            let gate = Gate()
            origin.route("/slow.bin", FaultOrigin.Response(text: "slow").held(at: gate))
            let home = try await EmbeddedHome(.current)
            let list = origin.url("/slow.bin")
            let first = try home.prefetch(list, ["--name", "slow"])
            try await waitUntil(deadlineSeconds: 60, "the request") {
                guard first.ending == nil else { throw POSIXFailure(first.errors) }
                return origin.count("/slow.bin") == 1
            }
            kill(first.pid, SIGKILL)
            _ = try await first.wait()
            gate.open()

            let state = ["--state", home.stateDirectory]
            let show = try home.start(["catalog", "show", "slow"] + state)
            #expect(try await show.wait() == .exited(0), "\(show.errors)")
            #expect(show.output.contains("stopped: nothing works on it now"), "\(show.output)")
            #expect(!show.output.contains("active:"), "\(show.output)")
            let status = try home.start(["status"] + state)
            #expect(try await status.wait() == .exited(0), "\(status.errors)")
            #expect(status.output.contains("Workers: none"), "\(status.output)")
            #expect(status.output.contains("stopped: nothing works on it now"))
            #expect(!(show.errors + status.errors).contains("silent"), "\(status.errors)")

            let again = try home.prefetch(list, ["--name", "slow"])
            #expect(try await again.wait() == .exited(0), "\(again.errors)")
            #expect(!again.errors.contains("silent"), "\(again.errors)")
        }

        /// While `dray prefetch` runs, other commands of its user see its cluster.
        @Test func aPrivateClusterThatRunsIsFound() async throws {
            let origin = try FaultOrigin()
            let gate = Gate()
            origin.route("/slow.bin", FaultOrigin.Response(text: "slow").held(at: gate))
            let home = try await EmbeddedHome(.ordinary)
            let prefetch = try home.prefetch(
                origin.url("/slow.bin"), ["--name", "slow"])
            try await waitUntil(deadlineSeconds: 60, "the request") {
                guard prefetch.ending == nil else { throw POSIXFailure(prefetch.errors) }
                return origin.count("/slow.bin") == 1
            }
            let status = try home.start(["status"])
            #expect(try await status.wait() == .exited(0), "\(status.errors)")
            #expect(status.output.contains("slow") && status.output.contains("running"))
            let list = try home.start(["catalog", "list"])
            #expect(try await list.wait() == .exited(0), "\(list.errors)")
            #expect(list.output.contains("slow"), "\(list.output)")
            let doctor = try home.start(["doctor"])
            _ = try await doctor.wait()
            #expect(doctor.output.contains("coordinator http://127.0.0.1:"), "\(doctor.output)")
            #expect(doctor.output.contains("accepted"))
            let second = try home.prefetch(origin.url("/slow.bin"))
            #expect(try await second.wait() == .exited(3))
            #expect(!second.errors.contains("export "), "\(second.errors)")
            gate.open()
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            let after = try home.start(["status"])
            #expect(try await after.wait() == .exited(3), "\(after.output)")
            try await home.expectQuiet()
        }

        @Test func whereNothingWasNothingIsMade() async throws {
            let home = try await EmbeddedHome(.current)
            let before = try home.everything()
            let state = home.path("none")
            let run = try home.start(["assets", "list", "x", "--state", state])
            #expect(try await run.wait() == .exited(2))
            #expect(run.errors.contains("where no private cluster exists"))
            #expect(try home.everything() == before)
        }
    }
}
