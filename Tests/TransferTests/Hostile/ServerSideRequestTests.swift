import Curl
import Model
import Synchronization
import TestSupport
import Testing
import Transfer

/// Requests that a list or an origin makes workers send where they must not (SSRF): the address
/// policy holds on the socket, and listeners there see nothing.
@Suite("Requests to forbidden addresses", .timeLimit(.minutes(2)))
struct ServerSideRequestTests {
    @Test(
        "no spelling of loopback leads to a connection",
        arguments: [
            "127.0.0.1", "2130706433", "017700000001", "0x7f000001", "0x7F.1", "0177.0.0.1",
            "127.1", "127.0.1", "127.000.000.001", "0", "0.0.0.0", "localhost", "LOCALHOST",
            "a.localhost", "[::1]", "[0:0:0:0:0:0:0:1]", "[::]", "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]", "[::127.0.0.1]", "[::ffff:0:127.0.0.1]", "[64:ff9b::127.0.0.1]",
            "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]",
        ])
    func spellings(host: String) async throws {
        let canary = try Canary()
        // Not every machine has IPv6.
        let canary6 = try? Canary("::1", port: canary.port)
        let fetcher = try Fetcher { $0.addressPolicy = AddressPolicy(allowsPrivate: false) }
        let request = fetcher.request("http://\(host):\(canary.port)/")
        let isThisNetwork = ["0", "0.0.0.0", "[::]"].contains(host)
        #expect(
            await fetcher.failure(request)
                == (isThisNetwork ? "origin.addressForbidden" : "origin.addressDenied"))
        #expect(!canary.wasMet)
        #expect(canary6?.wasMet != true)
    }

    @Test(
        "invalid addresses lead to no connection",
        arguments: ["127.0.0.1.", "0x7f000001.", "①②⑦.⓪.⓪.①", "127。0。0。1", "%31%32%37.0.0.1"])
    func oddSpellings(host: String) async throws {
        let canary = try Canary()
        let fetcher = try Fetcher { $0.addressPolicy = AddressPolicy(allowsPrivate: false) }
        let code = await fetcher.failure(fetcher.request("http://\(host):\(canary.port)/"))
        let codes: [FailureCode] = ["origin.addressDenied", "origin.dns", "input.url"]
        #expect(code.map(codes.contains) == true, "\(String(describing: code))")
        #expect(!canary.wasMet)
    }

    @Test(
        "a redirect gains nothing",
        arguments: [
            "127.0.0.2", "2130706434", "0x7f000002", "0177.0.0.2", "127.2", "[::ffff:127.0.0.2]",
            "[64:ff9b::7f00:2]", "u:p@127.0.0.2", "x@2130706434",
        ])
    func redirects(host: String) async throws {
        let origin = try FaultOrigin()
        let canary = try Canary("127.0.0.2")
        origin.route("/a.ts", .redirect(to: "http://\(host):\(canary.port)/"))
        origin.route("/twice.ts", .redirect(to: "/a.ts", status: 307))
        let fetcher = try Fetcher { options in
            options.addressPolicy = AddressPolicy(
                allowsPrivate: false, allowed: (try? [AddressBlock("127.0.0.1")]) ?? [])
        }
        for path in ["/a.ts", "/twice.ts"] {
            let request = fetcher.request(origin.url(path))
            #expect(await fetcher.failure(request) == "origin.addressDenied")
        }
        #expect(origin.requests.count == 3)
        #expect(!canary.wasMet)
    }

    @Test("a name that resolves to another address the second time")
    func rebinding() async throws {
        let origin = try FaultOrigin()
        let canary = try Canary("127.0.0.2", port: origin.port)
        origin.route("/a", FaultOrigin.Response(text: "one").with("Connection", "close"))
        let asked = Mutex(0)
        let fetcher = try Fetcher { options in
            options.addressPolicy = AddressPolicy(
                allowsPrivate: false, allowed: (try? [AddressBlock("127.0.0.1")]) ?? [])
            options.loops = 1
            options.resolve = { host, _ in
                #expect(host == "rebinding.test")
                return asked.withLock { count in
                    count += 1
                    return count == 1 ? "127.0.0.1" : "127.0.0.2"
                }
            }
        }
        let url = "http://rebinding.test:\(origin.port)/a"
        let first = await fetcher.fetch(fetcher.memory(url, role: .data))
        #expect(try first.outcome.get().body == Array("one".utf8))
        #expect(await fetcher.failure(fetcher.request(url)) == "origin.addressDenied")
        #expect(asked.withLock { $0 } == 2)
        #expect(origin.requests.count == 1)
        #expect(!canary.wasMet)
    }

    @Test("an origin that is allowed by its name's first address alone is judged by the socket's")
    func deniedName() async throws {
        let canary = try Canary()
        let fetcher = try Fetcher { options in
            options.addressPolicy = AddressPolicy(allowsPrivate: false)
            options.resolve = { _, _ in "127.0.0.1" }
        }
        let request = fetcher.request("http://public.test:\(canary.port)/")
        #expect(await fetcher.failure(request) == "origin.addressDenied")
        #expect(!canary.wasMet)
    }

    @Test("what a deny list names is not connected to, however it is spelled")
    func denied() async throws {
        let canary = try Canary()
        let fetcher = try Fetcher { options in
            options.addressPolicy = AddressPolicy(
                denied: (try? [AddressBlock("127.0.0.0/8")]) ?? [])
        }
        for host in ["127.0.0.1", "[::ffff:127.0.0.1]", "2130706433"] {
            let request = fetcher.request("http://\(host):\(canary.port)/")
            #expect(await fetcher.failure(request) == "origin.addressDenied")
        }
        #expect(!canary.wasMet)
    }

    @Test("a proxy gets no literal address that is not admitted")
    func behindAProxy() async throws {
        let proxy = try FaultOrigin()
        let fetcher = try Fetcher { options in
            options.addressPolicy = AddressPolicy(allowsPrivate: false)
            options.origins.standard.proxy = proxy.url()
        }
        for host in ["169.254.169.254", "2852039166", "10.0.0.1", "[::ffff:10.0.0.1]"] {
            let request = fetcher.request("http://\(host)/latest")
            let isPrivate = host.contains("10.0.0.1")
            #expect(
                await fetcher.failure(request)
                    == (isPrivate ? "origin.addressDenied" : "origin.addressForbidden"), "\(host)")
        }
        #expect(proxy.acceptedConnections == 0)
        // The proxy's own address is the operator's to choose.
        proxy.route("http://media.test/a.ts", .init(text: "x"))
        #expect(await fetcher.failure(fetcher.request("http://media.test/a.ts")) == nil)
    }
}
