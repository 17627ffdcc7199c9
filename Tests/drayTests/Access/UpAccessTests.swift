import Foundation
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// The cluster of `dray up` serves every user who can read its token.
    @Suite(.timeLimit(.minutes(2))) struct UpAccessTests {
        /// Runs `dray` in a home to its end.
        private func run(
            _ home: EmbeddedHome, _ words: [String], _ environment: [String: String] = [:]
        ) async throws -> (ending: ChildProcess.Ending, output: String, errors: String) {
            let process = try home.start(words, environment)
            return (try await process.wait(), process.output, process.errors)
        }

        private func stop(_ process: ChildProcess) async throws {
            process.signal(SIGTERM)
            #expect(try await process.wait(deadlineSeconds: 30) == .exited(0), "\(process.errors)")
        }

        @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
        func anotherUserOfTheMachineGetsNothing() async throws {
            let home = try await EmbeddedHome(.current)
            let (cluster, printed) = try await UpTests.up(home)
            let address = try #require(printed["DRAY_COORDINATOR"])
            let path = try #require(printed["DRAY_TOKEN_FILE"])
            #expect(path == home.path("state/token"))
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)

            let port = try #require(address.split(separator: ":").last.flatMap { Int($0) })
            let site = #"{"name":"a","storageURL":"file:///etc","priority":5}"#
            let bare = try await Wire.exchange(
                port: port, "POST", "/v1/catalogs", body: Array(site.utf8))
            #expect(bare.status == 401 && bare.code == "cluster.unauthorized")

            let stranger = try await EmbeddedHome(.ordinary)
            let submit = ["prefetch", "http://127.0.0.1:1/shadow", "--to", "/etc"]
            let refused = try await run(stranger, submit, ["DRAY_COORDINATOR": address])
            #expect(refused.ending == .exited(3), "\(refused.errors)")
            #expect(refused.errors.contains("(cluster.unauthorized)\nSet DRAY_TOKEN_FILE"))
            #expect(refused.errors.contains("\(address): "), "\(refused.errors)")
            #expect(refused.errors.contains("neither DRAY_TOKEN_FILE nor DRAY_TOKEN is set"))
            let closed = try await run(
                stranger, submit, ["DRAY_COORDINATOR": address, "DRAY_TOKEN_FILE": path])
            #expect(closed.ending == .exited(2))
            #expect(closed.errors.contains("Permission denied"), "\(closed.errors)")
            let token = String(try String(contentsOfFile: path, encoding: .utf8).dropLast())
            let guess = AccessToken.random().text
            let wrong = try await run(
                stranger, ["status"], ["DRAY_COORDINATOR": address, "DRAY_TOKEN": guess])
            #expect(
                wrong.errors.contains("(cluster.unauthorized)") && !wrong.errors.contains(guess))
            #expect(wrong.errors.contains("the token is from DRAY_TOKEN"), "\(wrong.errors)")

            // Whose it is needs no more than the state, or what was printed.
            let named = try await run(home, ["status", "--state", home.path("state")])
            #expect(named.ending == .exited(0) && named.output.contains("Workers"), "\(named)")
            let told = try await run(home, ["status"], printed)
            #expect(told.ending == .exited(0), "\(told.errors)")
            #expect(!(cluster.output + cluster.errors).contains(token))
            try await stop(cluster)

            let (again, later) = try await UpTests.up(home)
            #expect(later["DRAY_TOKEN_FILE"] == path)
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "\(token)\n")
            try await stop(again)
            chmod(path, 0o644)
            let open = try home.start([
                "up", "--state", home.path("state"), "--listen", "127.0.0.1:0",
            ])
            #expect(try await open.wait() == .exited(2))
            #expect(open.errors.contains("\(path) has mode 644"), "\(open.errors)")
            try await home.expectQuiet()
        }

        /// On any port, by the state directory alone.
        @Test func theUsersCommandsFindTheClusterAndItsToken() async throws {
            let home = try await EmbeddedHome(.ordinary)
            let (cluster, _) = try await UpTests.up(home)
            for words in [
                ["status"], ["queue"], ["origins"], ["site"], ["assets", "list", "none"],
            ] {
                let answer = try await run(home, words)
                let isKnown = words[0] != "assets"
                #expect(answer.ending == .exited(isKnown ? 0 : 2), "\(words): \(answer.errors)")
                #expect(isKnown || answer.errors.contains("(input.notFound)"))
            }
            // Also those that start no private cluster.
            let cancel = try await run(home, ["catalog", "cancel", "none"])
            #expect(cancel.errors.contains("(input.notFound)"), "\(cancel.errors)")
            try await stop(cluster)
            let none = try await run(home, ["status"])
            #expect(none.ending == .exited(3))
            try await home.expectQuiet()
        }

        /// A dray that was killed has left its address behind, and another user may have its port now.
        @Test func whoHasTakenOverAPortIsSentNoToken() async throws {
            let home = try await EmbeddedHome(.current)
            let (cluster, _) = try await UpTests.up(home)
            cluster.signal(SIGKILL)
            _ = try await cluster.wait()
            let squatter = try FaultOrigin()
            let state = home.path("state")
            try "1\n\(squatter.url(""))\n".write(
                toFile: "\(state)/lock", atomically: false, encoding: .utf8)
            let answer = try await run(home, ["queue", "--state", state])
            #expect(answer.ending == .exited(0), "\(answer.errors)")
            #expect(squatter.requests.isEmpty)
            try await home.expectQuiet()
        }

        /// As a coordinator of root's has ended, and another user's process has its port.
        @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
        func aPortOfAnotherUsersProcessIsSentNoToken() async throws {
            let home = try await EmbeddedHome(.current)
            let stranger = try await StrangersListener()
            let token = AccessToken.random().text
            try "\(token)\n".write(
                toFile: home.path("token"), atomically: false, encoding: .utf8)
            chmod(home.path("token"), 0o600)
            let place = [
                "DRAY_COORDINATOR": stranger.url, "DRAY_TOKEN_FILE": home.path("token"),
            ]
            for words in [["status"], ["plan", "--from-cluster", stranger.url]] {
                let refused = try await run(home, words, place)
                #expect(refused.ending == .exited(3))
                #expect(
                    refused.errors.contains("\(stranger.url)/v1/status: ")
                        && refused.errors.contains("a process of the user nobody, not of root")
                        && refused.errors.contains("(cluster.foreignCoordinator)"),
                    "\(refused.errors)")
            }
            let worker = try home.start(["worker", "--root", home.path("")], place)
            try await waitUntil(deadlineSeconds: 30, "the worker's rejection") {
                worker.errors.contains("cluster.foreignCoordinator")
            }
            worker.signal(SIGTERM)
            _ = try await worker.wait()
            // Whose file it is knows the token anyway.
            chown(home.path("token"), StrangersListener.user, StrangersListener.user)
            _ = try await run(home, ["status"], place)
            try await stranger.end()
            let requests = stranger.received.components(separatedBy: "HTTP/1.1").count - 1
            #expect(requests == 1 && stranger.received.contains("Bearer \(token)"))
        }

        /// Commands beside it report how to use it.
        @Test func aStateDirectoryOfDrayUpIsReportedWithItsUse() async throws {
            let home = try await EmbeddedHome(.current)
            let origin = try await FileOrigin(files: 3)
            let (cluster, printed) = try await UpTests.up(home)
            let prefetch = [
                "prefetch", origin.list, "--to", home.edge, "--state", home.path("state"),
            ]
            let port = (printed["DRAY_COORDINATOR"] ?? "").drop { $0 != "1" }
            for words in [
                prefetch, ["refresh", "1", "--state", home.path("state")],
                ["up", "--listen", String(port), "--state", home.path("state")],
            ] {
                let refused = try await run(home, words)
                #expect(refused.ending == .exited(3))
                #expect(refused.errors.contains("(cluster.stateInUse)"), "\(refused.errors)")
                for (name, value) in printed where !value.isEmpty {
                    #expect(refused.errors.contains("\nexport \(name)=\(value)\n"))
                }
            }
            let submitted = try await run(home, prefetch, printed)
            #expect(submitted.ending == .exited(0), "\(submitted.errors)")
            // A state is named for what changes work, too.
            let listed = try await run(home, ["queue", "--json", "--state", home.path("state")])
            let queues = try JSONSerialization.jsonObject(with: Data(listed.output.utf8))
            let queue = try #require(
                ((queues as? [String: Any])?["queues"] as? [[String: Any]])?.first?["name"]
                    as? String)
            for words in [
                ["queue", "pause", queue], ["catalog", "cancel", "1"], ["catalog", "retry", "1"],
            ] {
                let answer = try await run(home, words + ["--state", home.path("state")])
                #expect(!answer.errors.contains("input.usage"), "\(answer.errors)")
                #expect(answer.ending == .exited(0), "\(words) \(answer.errors)")
            }
            try await stop(cluster)
            try await home.expectQuiet()
        }

        /// Of the cluster and all that it starts: every user can read command lines, and a process's own user
        /// its environment.
        @Test func noChildIsGivenTheToken() async throws {
            let home = try await EmbeddedHome(.current)
            let token = AccessToken.random().text
            let (cluster, printed) = try await UpTests.up(home, environment: ["DRAY_TOKEN": token])
            #expect(printed["DRAY_TOKEN_FILE"] == nil)
            #expect(!FileManager.default.fileExists(atPath: home.path("state/token")))
            let asked = try await run(
                home, ["status", "--state", home.path("state")], ["DRAY_TOKEN": token])
            #expect(asked.ending == .exited(0), "\(asked.errors)")
            var servers = 0
            for pid in home.processes {
                func text(_ name: String) -> String {
                    let bytes =
                        FileManager.default.contents(atPath: "/proc/\(pid)/\(name)") ?? Data()
                    return String(decoding: bytes, as: UTF8.self)
                }
                #expect(!text("cmdline").contains(token), "\(text("cmdline"))")
                guard text("comm") == "postgres\n" else { continue }
                servers += 1
                #expect(!text("environ").contains(token))
                if geteuid() == 0 {
                    let status = try FileManager.default.attributesOfItem(atPath: "/proc/\(pid)")
                    #expect(status[.ownerAccountName] as? String == "dray-postgres")
                }
            }
            #expect(servers > 1)
            try await stop(cluster)
            try await home.expectQuiet()
        }
    }
}
