import Model
import TestSupport
import Testing

@Suite struct StorageURLTests {
    @Test(arguments: [
        ("file:///srv/edge", "/srv/edge"), ("FILE:///srv/edge/", "/srv/edge"),
        ("file:/srv/edge", "/srv/edge"), ("file://localhost/srv//edge", "/srv/edge"),
        ("file:///srv/a%20b%C3%A9", "/srv/a bé"), ("file:///", "/"),
    ])
    func aFileURLNamesADirectory(text: String, path: String) throws {
        let url = try StorageURL(text)
        #expect(url.path == path)
        #expect(try StorageURL(url.description) == url)
        #expect(try StorageURL(directory: path) == url)
    }

    @Test(arguments: [
        "s3://bucket/prefix", "/srv/edge", "srv", "", "http://host/x", "file://host/srv",
        "file:///srv?x=1", "file:///srv#x",
    ])
    func anotherKindOfStorageIsUnreachable(text: String) {
        let failure = #expect(throws: Failure.self) { try StorageURL(text) }
        #expect(failure?.code == "storage.unreachable")
    }

    @Test(arguments: [
        "file:srv", "file://", "file:///srv/../etc", "file:///srv/%2e%2e/etc", "file:///a%00b",
        "file:///a%2", "file:///a%zz", "file:///a%ff",
    ])
    func aPathThatIsNotPlainIsRefused(text: String) {
        let failure = #expect(throws: Failure.self) { try StorageURL(text) }
        #expect(failure?.code == "storage.pathRefused")
    }

    @Test func aDirectoryIsAbsolute() {
        for path in ["", "edge", "./edge", "/a/../b", "/a\0b"] {
            #expect(throws: Failure.self) { try StorageURL(directory: path) }
        }
    }

    @Test func theDescriptionIsEncoded() throws {
        let url = try StorageURL(directory: "/srv/a b/50%/ü/tab\t")
        #expect(url.description == "file:///srv/a%20b/50%25/%C3%BC/tab%09")
    }
}
