import API
import Foundation
import TestSupport
import Testing

@testable import Model

/// Identities that are UUIDs.
@Suite struct UniqueIDTests {
    private static let text = "0123abcd-ef45-4678-89ab-cdef01234567"

    @Test func theTextComesBack() throws {
        #expect(try #require(LeaseID(Self.text)).description == Self.text)
        let ids = (0..<100).map { _ in LeaseID.random() }
        #expect(Set(ids).count == 100)
        for id in ids {
            #expect(LeaseID(id.description) == id)
            #expect(UUID(uuidString: id.description)?.uuidString.lowercased() == id.description)
        }
        #expect(ids.sorted().map(\.description) == ids.map(\.description).sorted())
    }

    @Test func randomIDsAreOfVersion4() {
        for _ in 0..<100 {
            let digits = Array(WorkerID.random().description)
            #expect(digits[14] == "4" && "89ab".contains(digits[19]))
        }
    }

    @Test(arguments: [
        "", "junk", text.uppercased(), String(text.dropLast()), text + "0",
        text.replacing("-", with: ""), "0123abcdeef45-4678-89ab-cdef01234567",
        "-123abcd-ef45-4678-89ab-cdef01234567", "0123abcd-ef45-4678-89ab-cdef0123456g",
        "0123abcd-ef45-4678-89ab-cdef012345é", "{\(text)}",
    ])
    func otherTextIsRefused(_ text: String) {
        #expect(Optional(text).flatMap { LeaseID($0) } == nil)
    }

    @Test func itIsOneValueInJSON() throws {
        let release = LeaseRelease(worker: "\(Self.text)", lease: .random())
        let json = String(decoding: try WireJSON.encode(release), as: UTF8.self)
        #expect(json.contains("\"worker\":\"\(Self.text)\""))
        let back: LeaseRelease = try WireJSON.decodeStrictly(from: Array(json.utf8))
        #expect(back.worker == release.worker && back.lease == release.lease)
    }

    /// The failure has the path of the field, from which a coordinator builds its answer.
    @Test func aRefusedValueIsReportedWithItsPath() throws {
        let json =
            #"{"worker":"\#(Self.text)","leases":["\#(Self.text)","Junk"],"progress":{},"#
            + #""name":"n","activeTransfers":0}"#
        do {
            _ = try WireJSON.decodeStrictly(Heartbeat.self, from: Array(json.utf8))
            Issue.record("it was accepted")
        } catch DecodingError.dataCorrupted(let context) {
            let value = try #require(context.underlyingError as? InvalidValue)
            #expect(value.given == "Junk" && value.allowed == "a UUID in lower case")
            #expect(context.codingPath.map(\.intValue) == [nil, 1])
            #expect(context.codingPath.first?.stringValue == "leases")
        }
    }

    @Test(arguments: [
        ("ef53:1", true), ("58465342:0123456789abcdef", true), ("", false), ("EF53:1", false),
        ("a b", false), (String(repeating: "0", count: 64), true),
        (String(repeating: "0", count: 65), false),
    ])
    func aFileSystemHasHexadecimalDigits(_ text: String, isAllowed: Bool) {
        #expect((FileSystemID(text) != nil) == isAllowed)
    }
}
