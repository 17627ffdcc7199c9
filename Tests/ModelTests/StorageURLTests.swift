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
        "/srv/edge", "srv", "", "http://host/x", "file://host/srv",
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

    @Test(arguments: [
        ("s3://edge", "s3://edge"), ("S3://edge/", "s3://edge"),
        ("s3://edge//a%20b/c/", "s3://edge/a%20b/c"),
        ("s3://edge/a?region=us-east-1&style=host", "s3://edge/a"),
        (
            "s3://edge/a?style=path&endpoint=HTTP%3A%2F%2Fs3.example%3A9000%2F",
            "s3://edge/a?endpoint=http://s3.example:9000"
        ),
        (
            "s3://edge/a?storage-class=STANDARD_IA&encryption=aws:kms&kms-key=k/1&region=eu-west-1",
            "s3://edge/a?region=eu-west-1&encryption=aws:kms&kms-key=k/1&storage-class=STANDARD_IA"
        ),
    ])
    func anS3URLNamesABucket(text: String, canonical: String) throws {
        let url = try StorageURL(text)
        #expect(url.description == canonical)
        #expect(url.bucket?.bucket == "edge")
        #expect(try StorageURL(canonical) == url)
    }

    @Test(arguments: [
        "s3:edge", "s3://", "s3://e", "s3://Edge", "s3://a..b", "s3://edge?x=1", "s3://edge?region",
        "s3://edge?region=a&region=b", "s3://edge?style=dns", "s3://edge?endpoint=ftp://h",
        "s3://edge?endpoint=http://h/path", "s3://edge?endpoint=http://u:p@h",
        "s3://edge?region=a b",
        "s3://edge?encryption=rot13", "s3://edge?kms-key=k", "s3://edge?storage-class=",
        "s3://edge?endpoint=http://h%0d%0ax",
    ])
    func anotherS3URLIsRefused(text: String) {
        let failure = #expect(throws: Failure.self) { try StorageURL(text) }
        #expect(failure?.code == "storage.unreachable")
    }

    @Test(arguments: ["s3://edge/../a", "s3://edge/a/./b", "s3://edge/.dray/x", "s3://edge/a%00"])
    func anS3PrefixIsPlain(text: String) {
        let failure = #expect(throws: Failure.self) { try StorageURL(text) }
        #expect(failure?.code == "storage.pathRefused")
    }

    @Test func anObjectHasAKey() throws {
        let object = try BucketLocation(
            object: "S3://edge/a%20b.bin?endpoint=http://h:1&style=path")
        #expect(object.prefix == "a b.bin")
        #expect(object.endpoint == "http://h:1")
        let long = String(repeating: "a", count: 1_024)
        #expect(try BucketLocation(object: "s3://edge/\(long)").prefix == long)
    }

    @Test(arguments: [
        "s3://edge", "s3://edge/?region=eu-west-1", "https://edge/a", "s3:edge/a",
        "s3://edge/a?x=1",
        "s3://edge/../a", "s3://edge/" + String(repeating: "a", count: 1_025),
    ])
    func anotherURLIsNoObject(text: String) {
        let failure = #expect(throws: Failure.self) { try BucketLocation(object: text) }
        #expect(failure?.code == .inputURL)
    }

    @Test func aMessageHasThePartAndTheURLOnce() {
        let failure = #expect(throws: Failure.self) { try BucketLocation(object: "s3://Edge/a") }
        #expect(
            failure?.message.contains(
                "digits, hyphens and dots, not \"Edge\", given s3://Edge/a") == true)
    }
}
