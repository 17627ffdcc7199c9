import Glibc
import Testing

@testable import HTTPServer

/// Which connection gives way to another.
@Suite struct ConnectionTableTests {
    private static func table(
        connections: Int = 8, strangers: Int = 4, ofAddress: Int = 2
    ) -> ConnectionTable {
        ConnectionTable(
            .init(connections: connections, strangers: strangers, strangersOfAddress: ofAddress))
    }

    private static func address(_ number: Int) -> Peer.Network { .v4(UInt32(number)) }

    @Test func theOldestStrangerGivesWay() {
        var table = Self.table()
        for id in 1...4 { #expect(table.admit(id, from: Self.address(id)) == .admitted) }
        #expect(table.admit(5, from: Self.address(5)) == .inPlace(of: 1))
        #expect(table.admit(6, from: Self.address(6)) == .inPlace(of: 2))
        #expect(table.strangerCount == 4 && table.count == 4)
    }

    @Test func anAddressTakesNoMoreThanItsShare() {
        var table = Self.table()
        #expect(table.admit(1, from: Self.address(1)) == .admitted)
        for id in 2...3 { #expect(table.admit(id, from: Self.address(9)) == .admitted) }
        // Its own oldest, not the oldest of all.
        for id in 4...9 {
            #expect(table.admit(id, from: Self.address(9)) == .inPlace(of: id - 2))
        }
        #expect(table.strangerCount == 3)
    }

    @Test func loopbackHasNoShareOfItsOwn() {
        var table = Self.table()
        for id in 1...4 { #expect(table.admit(id, from: .loopback) == .admitted) }
        #expect(table.admit(5, from: .loopback) == .inPlace(of: 1))
    }

    @Test func knownClientsStayWhateverUnknownOnesDo() {
        var table = Self.table()
        for id in 1...6 {
            #expect(table.admit(id, from: .loopback) == .admitted)
            table.know(id)
        }
        for id in 7...1_000 {
            let admission = table.admit(id, from: .loopback)
            #expect(admission == (id < 9 ? .admitted : .inPlace(of: id - 2)))
        }
        #expect(table.count == 8 && table.strangerCount == 2)
    }

    @Test func whenAllAreKnownAnIdleOneGivesWay() {
        var table = Self.table()
        for id in 1...8 {
            #expect(table.admit(id, from: .loopback) == .admitted)
            table.know(id)
        }
        #expect(table.admit(9, from: .loopback) == .refused)
        for id in [5, 3, 7] { table.rest(id) }
        table.wake(5)
        #expect(table.admit(10, from: .loopback) == .inPlace(of: 3))
        // A stranger before an idle one of a client that is known.
        #expect(table.admit(11, from: .loopback) == .inPlace(of: 10))
        table.know(11)
        #expect(table.admit(12, from: .loopback) == .inPlace(of: 7))
        table.know(12)
        #expect(table.admit(13, from: .loopback) == .refused)
    }

    @Test func everyClosedConnectionFreesItsEntry() {
        var table = Self.table()
        for round in 0..<1_000 {
            let id = round * 2
            #expect(table.admit(id, from: Self.address(1)) == .admitted)
            #expect(table.admit(id + 1, from: Self.address(1)) == .admitted)
            if round.isMultiple(of: 3) { table.know(id) }
            if round.isMultiple(of: 6) { table.rest(id) }
            table.remove(id)
            table.remove(id + 1)
            table.remove(id)
        }
        #expect(table.count == 0 && table.strangerCount == 0 && table.oldest == nil)
    }
}

/// What counts as one address.
@Suite struct PeerTests {
    private static func peer(_ address: String) throws -> Peer {
        var storage = sockaddr_storage()
        let isV6 = address.contains(":")
        try withUnsafeMutablePointer(to: &storage) { pointer in
            if isV6 {
                try pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                    $0.pointee.sin6_family = sa_family_t(AF_INET6)
                    try #require(inet_pton(AF_INET6, address, &$0.pointee.sin6_addr) == 1)
                }
            } else {
                try pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    $0.pointee.sin_family = sa_family_t(AF_INET)
                    try #require(inet_pton(AF_INET, address, &$0.pointee.sin_addr) == 1)
                }
            }
        }
        return Peer(&storage)
    }

    @Test func networksAreDistinguished() throws {
        let same = [
            ("192.0.2.1", "::ffff:192.0.2.1"), ("127.0.0.1", "127.9.8.7"), ("127.0.0.1", "::1"),
            ("::ffff:127.0.0.1", "::1"), ("2001:db8::1", "2001:db8::ffff:2"),
        ]
        for (one, other) in same {
            #expect(try Self.peer(one).network == Self.peer(other).network, "\(one) \(other)")
        }
        let different = [
            ("192.0.2.1", "192.0.2.2"), ("2001:db8:0:1::1", "2001:db8:0:2::1"),
            ("128.0.0.1", "127.0.0.1"), ("::2", "::1"),
        ]
        for (one, other) in different {
            #expect(try Self.peer(one).network != Self.peer(other).network, "\(one) \(other)")
        }
        #expect(try Self.peer("192.0.2.1").text == "192.0.2.1")
        #expect(try Self.peer("::ffff:127.0.0.1").isLoopback)
        #expect(try !Self.peer("192.0.2.1").isLoopback)
    }
}
