// swift-tools-version: 6.1
import PackageDescription

/// Built with libFuzzer by `scripts/fuzz` alone, which provides its `main`.
let isFuzzed = Context.environment["DRAY_FUZZ"] != nil

let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ] + (isFuzzed ? [.define("FUZZING")] : [])

/// A Swift library target: `name` in `Sources/name`, with the dependencies it may see.
func library(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

/// The tests of one target: `Tests/nameTests`.
func tests(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .testTarget(
        name: "\(name)Tests",
        dependencies: [.byName(name: name), "TestSupport"] + dependencies,
        swiftSettings: settings)
}

let fuzzing: [Target] =
    isFuzzed
    ? [
        .executableTarget(
            name: "Fuzz", dependencies: ["Catalog", "Gzip", "HTTP1", "HTTPServer", "Model"],
            path: "Tests/Fuzz",
            exclude: ["corpus"],
            swiftSettings: settings + [.unsafeFlags(["-parse-as-library"])])
    ] : []

let package = Package(
    name: "dray",
    products: [.executable(name: "dray", targets: ["dray"])],
    targets: [
        // System libraries: a module map and shim.h each.
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(
            name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(
            name: "CLibXML2", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CLinux"),

        // Thin Swift over one C library each. Nothing else imports a C… module.
        library("EventLoop", ["CLinux"]),
        library("FileSystem", ["CLinux"]),
        library("Digest", ["CCrypto"]),
        library("Curl", ["CCurl", "EventLoop"]),
        library("Postgres", ["CPostgres", "EventLoop"]),
        library("HTTPServer", ["CLinux", "EventLoop", "HTTP1"]),
        library("XML", ["CLibXML2"]),
        library("Gzip", ["CZlib"]),
        library("HTTP1"),

        library("Runtime", ["CLinux", "EventLoop"]),
        library("Model"),
        library("Catalog", ["Digest", "Model", "XML"]),
        library("Planner", ["Model"]),
        .target(
            name: "PlannerText", dependencies: ["Catalog", "Model", "Planner", "Runtime"],
            resources: [.embedInCode("Prices")], swiftSettings: settings),
        library("LoadTest", ["Catalog", "Model", "Gzip", "Planner", "Runtime"]),
        library("LoadReport", ["LoadTest", "Model", "Planner", "PlannerText", "Runtime"]),
        library(
            "LoadEngine",
            [
                "Catalog", "Curl", "Digest", "EventLoop", "HTTP1", "LoadTest", "Model", "Planner",
                "Runtime",
                "Transfer",
            ]),
        library("Storage", ["Model", "FileSystem", "Digest", "Runtime"]),
        library("Transfer", ["Model", "Curl", "EventLoop", "Digest", "Storage"]),
        .target(
            name: "JobQueue", dependencies: ["Model", "Postgres", "Runtime"],
            resources: [.embedInCode("SQL")], swiftSettings: settings),
        library("CoordinatorClient", ["Model", "Curl", "EventLoop", "Runtime"]),
        library("Coordinator", ["Model", "HTTPServer", "JobQueue", "Runtime"]),
        library(
            "Worker",
            [
                "Model", "Catalog", "CoordinatorClient", "Digest", "EventLoop", "LoadEngine",
                "LoadTest",
                "Transfer", "Storage", "Runtime",
            ]),
        library(
            "Embedded",
            [
                "Model", "FileSystem", "JobQueue", "Coordinator", "Storage", "Worker", "Runtime",
                "Transfer",
            ]),
        .target(
            name: "Benchmark",
            dependencies: [
                "Catalog", "CoordinatorClient", "Embedded", "EventLoop", "JobQueue", "Model",
                "Planner", "Postgres", "Runtime", "Storage", "Transfer",
            ],
            resources: [.embedInCode("SQL")], swiftSettings: settings),
        .executableTarget(
            name: "dray",
            dependencies: [
                "Benchmark", "Model", "Catalog", "CoordinatorClient", "Coordinator", "Digest",
                "Worker", "Embedded", "EventLoop", "FileSystem", "Gzip", "HTTPServer", "JobQueue",
                "LoadEngine",
                "LoadReport", "LoadTest", "Planner", "PlannerText", "Postgres", "Storage",
                "Runtime", "Transfer",
            ],
            swiftSettings: settings),

        .target(
            name: "TestSupport",
            dependencies: [
                "Digest", "Embedded", "EventLoop", "FileSystem", "Model", "Postgres", "Runtime",
            ],
            path: "Tests/TestSupport", swiftSettings: settings),
        .testTarget(
            name: "TestSupportTests", dependencies: ["TestSupport"], swiftSettings: settings),
        tests("EventLoop"),
        tests("FileSystem"),
        tests("Digest", ["Runtime"]),
        tests("Curl"),
        tests("Postgres"),
        tests("HTTPServer"),
        tests("XML"),
        tests("Gzip"),
        tests("HTTP1"),
        tests("Runtime"),
        tests("Model", ["Runtime", "Transfer"]),
        tests("Catalog", ["Model", "Runtime"]),
        tests("Planner", ["Model"]),
        .testTarget(
            name: "PlannerTextTests",
            dependencies: [
                "Coordinator", "JobQueue", "Model", "Planner", "PlannerText", "TestSupport",
            ],
            exclude: ["Golden", "manifests.py"],
            swiftSettings: settings),
        tests("LoadTest", ["Catalog", "Model", "Planner", "Runtime"]),
        tests(
            "LoadEngine",
            ["Catalog", "Curl", "Digest", "EventLoop", "LoadTest", "Model", "Transfer"]),
        .testTarget(
            name: "LoadReportTests",
            dependencies: ["LoadReport", "LoadTest", "Model", "Planner", "Runtime", "TestSupport"],
            exclude: ["Golden"], swiftSettings: settings),
        tests("Storage", ["Model", "Digest"]),
        tests("Transfer", ["Model", "Storage", "Digest", "Runtime"]),
        tests("JobQueue", ["EventLoop", "Model", "Postgres", "Runtime"]),
        tests("CoordinatorClient", ["Model", "HTTPServer"]),
        tests("Coordinator", ["Model", "CoordinatorClient", "EventLoop", "JobQueue", "Postgres"]),
        tests(
            "Worker",
            [
                "Catalog", "Coordinator", "CoordinatorClient", "Digest", "HTTPServer", "JobQueue",
                "LoadTest", "Model", "Runtime", "Storage",
            ]),
        tests("Embedded", ["Model", "Runtime"]),
        tests("dray", ["CoordinatorClient", "LoadEngine", "LoadTest", "Model", "Runtime"]),
    ] + fuzzing,
    swiftLanguageModes: [.v6]
)
