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

/// The last part of a path: a target's name.
func name(of path: String) -> String { String(path.split(separator: "/").last ?? "") }

/// A Swift library target: `Sources/floor/name`, with the dependencies it may see.
///
/// An optimized one is so in debug builds too: loops over numbers and bytes, which would take a fifth of the tests' time.
func library(
    _ path: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = [],
    resources: [Resource] = [], isOptimized: Bool = false
) -> Target {
    .target(
        name: name(of: path), dependencies: dependencies, path: "Sources/\(path)",
        exclude: exclude, resources: resources,
        swiftSettings: settings
            + (isOptimized ? [.unsafeFlags(["-O"], .when(configuration: .debug))] : []))
}

/// A C library of the system: `Sources/floor/name` holds its module map and a header.
func system(_ path: String, pkgConfig: String? = nil, package: String? = nil) -> Target {
    .systemLibrary(
        name: name(of: path), path: "Sources/\(path)", pkgConfig: pkgConfig,
        providers: package.map { [.apt([$0])] })
}

/// The tests of one target: `Tests/nameTests`.
func tests(
    _ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []
) -> Target {
    .testTarget(
        name: "\(name)Tests",
        dependencies: [.byName(name: name), "TestSupport"] + dependencies,
        exclude: exclude, swiftSettings: settings)
}

let fuzzing: [Target] =
    isFuzzed
    ? [
        .executableTarget(
            name: "Fuzz",
            dependencies: [
                "API", "Gzip", "HTTP1", "HTTPServer", "JSON", "Lists", "Model", "Text", "Titles",
                "WebURL",
            ],
            path: "Tests/Fuzz",
            exclude: ["corpus"],
            swiftSettings: settings + [.unsafeFlags(["-parse-as-library"])])
    ] : []

let package = Package(
    name: "dray",
    products: [.executable(name: "dray", targets: ["dray"])],
    targets: [
        system("Platform/CCurl", pkgConfig: "libcurl", package: "libcurl4-openssl-dev"),
        system("Platform/CPostgres", pkgConfig: "libpq", package: "libpq-dev"),
        system("Platform/CCrypto", pkgConfig: "libcrypto", package: "libssl-dev"),
        system("Platform/CSSL", pkgConfig: "libssl", package: "libssl-dev"),
        system("Platform/CLibXML2", pkgConfig: "libxml-2.0", package: "libxml2-dev"),
        system("Platform/CZlib", pkgConfig: "zlib", package: "zlib1g-dev"),
        system("Platform/CLinux"),

        // Platform. Thin Swift over one C library each. Nothing else imports a C… module.
        library("Platform/EventLoop", ["CLinux"], isOptimized: true),
        library("Platform/FileSystem", ["CLinux"], isOptimized: true),
        library("Platform/Digest", ["CCrypto", "EventLoop"], isOptimized: true),
        library("Platform/Curl", ["CCurl", "EventLoop"]),
        library("Platform/Postgres", ["CPostgres", "EventLoop"], isOptimized: true),
        library("Platform/HTTP1", isOptimized: true),
        library("Platform/TLS", ["CSSL", "FileSystem"]),
        library("Platform/HTTPServer", ["CLinux", "EventLoop", "HTTP1", "TLS"], isOptimized: true),
        library("Platform/XML", ["CLibXML2"]),
        library("Platform/Gzip", ["CZlib"]),

        // Base. What every floor above may use. Pure, but for Services.
        library("Base/Model"),
        library("Base/Text", isOptimized: true),
        library("Base/JSON", ["Model", "Text"], isOptimized: true),
        library("Base/WebURL", ["Digest", "Model", "Text"], isOptimized: true),
        library("Base/Statistics", ["Gzip", "Model"], isOptimized: true),
        library("Base/Rendering", ["Model", "Text"]),
        library("Base/Schedule", ["Model"]),
        library("Base/CommandLine", ["Rendering", "Text"]),
        library("Base/Configuration", ["CommandLine", "JSON", "Model", "Text"]),
        library(
            "Base/Services",
            ["CLinux", "CommandLine", "EventLoop", "Model", "Statistics", "Text"]),
        library("Base/Metrics", ["Services"]),

        // Planning. Capacity plans: Planner calculates, PlanReport formats. Templates has symbolic links
        // to files of deploy/.
        library("Planning/Planner", ["JSON", "Model", "Statistics"], isOptimized: true),
        library(
            "Planning/PlanReport", ["JSON", "Model", "Planner", "Rendering", "Text"],
            resources: [.embedInCode("Prices"), .embedInCode("Templates")]),

        // Content. What is fetched, and how it is stored.
        library("Content/Titles", ["Model", "Schedule", "Text", "WebURL", "XML"]),
        library("Content/Lists", ["JSON", "Model", "Schedule", "Text", "Titles", "WebURL", "XML"]),
        library(
            "Content/S3",
            ["Curl", "Digest", "FileSystem", "Model", "Services", "XML"]),
        library(
            "Content/Storage", ["Digest", "FileSystem", "Model", "Rendering", "S3", "Services"]),
        library("Content/Transfer", ["Curl", "Digest", "EventLoop", "Model", "Storage"]),
        library(
            "Content/ListSources",
            [
                "Digest", "Gzip", "Lists", "Model", "Rendering", "Services", "Text", "Transfer",
                "WebURL",
            ]),

        // Load. Load tests.
        library(
            "Load/LoadModel",
            ["JSON", "Lists", "Model", "Rendering", "Statistics", "Text", "Titles", "WebURL"]),
        library(
            "Load/LoadGenerator",
            [
                "Curl", "Digest", "EventLoop", "HTTP1", "LoadModel", "Model", "Services",
                "Statistics", "Titles", "Transfer",
            ]),
        library(
            "Load/LoadReport",
            ["LoadModel", "Metrics", "Model", "Rendering", "Services", "Statistics", "Text"]),

        // Cluster. The processes of a cluster, their client, and the messages between them.
        library("Cluster/API", ["Model"]),
        library(
            "Cluster/JobQueue",
            [
                "API", "Model", "Postgres", "QueueSQL", "Rendering", "Schedule", "Services",
                "Statistics",
            ], exclude: ["SQL"]),
        .target(name: "QueueSQL", path: "Sources/Cluster/JobQueue/SQL/embedded"),
        library("Cluster/CoordinatorClient", ["API", "Curl", "Model", "Services"]),
        library(
            "Cluster/Coordinator",
            [
                "API", "Curl", "Digest",
                "EventLoop", "Gzip", "HTTPServer", "JobQueue", "Lists", "Metrics", "Model",
                "Postgres",
                "Schedule", "Services", "TLS", "Text", "Transfer",
            ]),
        library(
            "Cluster/Worker",
            [
                "API",
                "CoordinatorClient", "Digest", "EventLoop", "ListSources", "Lists",
                "LoadGenerator", "LoadModel", "Metrics",
                "Model", "Schedule", "Services", "Storage", "Text", "Titles", "Transfer", "WebURL",
            ]),

        // Client. What commands do with a cluster.
        library(
            "Client/Embedded",
            [
                "API",
                "Coordinator", "CoordinatorClient", "EventLoop", "FileSystem", "JobQueue", "Model",
                "Services", "Storage", "TLS", "Text", "Transfer", "Worker",
            ]),
        library(
            "Client/Client",
            [
                "API",
                "CommandLine", "Configuration", "Coordinator", "CoordinatorClient", "Curl",
                "Digest",
                "Embedded", "EventLoop", "FileSystem", "Gzip", "HTTPServer", "JobQueue",
                "ListSources", "Lists", "LoadGenerator", "LoadModel", "LoadReport", "Metrics",
                "Model", "Planner",
                "Postgres", "Rendering", "S3", "Services", "Statistics", "Storage", "TLS", "Text",
                "Titles",
                "Transfer", "WebURL",
            ]),

        // Commands. The command, and its benchmarks.
        library(
            "Commands/Benchmark",
            [
                "API",
                "CoordinatorClient", "Embedded", "EventLoop", "JobQueue", "Model", "Postgres",
                "Rendering", "Services", "Storage", "TLS", "Text", "Transfer",
            ], resources: [.embedInCode("SQL")]),
        .executableTarget(
            name: "dray",
            dependencies: [
                "API",
                "Benchmark", "Client", "CommandLine", "Configuration", "Coordinator",
                "CoordinatorClient", "Digest",
                "Embedded", "EventLoop", "FileSystem", "Gzip", "JobQueue", "ListSources", "Lists",
                "LoadGenerator", "LoadModel", "LoadReport", "Model", "PlanReport", "Planner",
                "Postgres",
                "Rendering", "Schedule", "Services", "Statistics", "Storage", "TLS", "Text",
                "Titles",
                "Transfer", "WebURL", "Worker",
            ], path: "Sources/Commands/dray", swiftSettings: settings),

        // For developers alone; not part of the product.
        .executableTarget(
            name: "dray-benchmark",
            dependencies: [
                "API",
                "Benchmark", "Client", "CommandLine", "Model", "Planner", "Rendering", "Services",
                "Statistics", "Titles", "WebURL",
            ], path: "Benchmarks/dray-benchmark", swiftSettings: settings),

        .target(
            name: "TestSupport",
            dependencies: ["API", "Digest", "EventLoop", "Model", "Statistics"],
            path: "Tests/TestSupport", swiftSettings: settings),
        .target(
            name: "ClusterTestSupport",
            dependencies: ["EventLoop", "JobQueue", "Postgres", "TestSupport"],
            path: "Tests/ClusterTestSupport", swiftSettings: settings),
        .testTarget(
            name: "TestSupportTests", dependencies: ["TestSupport"], swiftSettings: settings),
        tests("EventLoop"),
        tests("FileSystem"),
        tests("Digest", ["Statistics"]),
        tests("Curl"),
        tests("Postgres", ["EventLoop"]),
        tests("HTTP1"),
        tests("TLS", ["EventLoop"]),
        tests("HTTPServer", ["CSSL", "TLS"]),
        tests("XML"),
        tests("Gzip"),
        tests("Model", ["API", "Statistics", "Transfer"]),
        tests("API", ["Model", "Statistics"]),
        tests("WebURL", ["Model", "Statistics"]),
        tests("Statistics"),
        tests("Rendering", ["Services", "Text"]),
        tests("Schedule", ["Model", "Services", "Statistics"]),
        tests("CommandLine"),
        tests("Configuration", ["CommandLine"]),
        tests("Services", ["Statistics"]),
        tests("Metrics", ["Services"]),
        tests("Planner", ["Model", "Rendering", "Statistics"]),
        tests(
            "PlanReport", ["Coordinator", "JobQueue", "Model", "Planner", "Rendering"],
            exclude: ["Golden", "manifests.py"]),
        tests("Titles", ["Lists", "Model", "Statistics", "WebURL"]),
        tests("Lists", ["Model", "Titles"]),
        tests("S3", ["Digest", "Model"]),
        tests("Storage", ["Digest", "Model", "S3"]),
        tests("Transfer", ["Curl", "Digest", "Model", "Statistics", "Storage"]),
        tests("LoadModel", ["Model", "Statistics", "Titles"]),
        tests(
            "LoadGenerator",
            [
                "Curl", "Digest", "EventLoop", "LoadModel", "Model", "Statistics", "Titles",
                "Transfer",
            ]),
        tests(
            "LoadReport", ["LoadModel", "Metrics", "Model", "Rendering", "Statistics"],
            exclude: ["Golden"]),
        tests(
            "JobQueue",
            [
                "API", "ClusterTestSupport", "EventLoop", "Model", "Postgres", "Schedule",
                "Services",
                "Statistics",
            ]),
        tests("CoordinatorClient", ["API", "HTTPServer", "Model", "TLS"]),
        tests(
            "Coordinator",
            [
                "API", "Client", "ClusterTestSupport", "CommandLine", "CoordinatorClient", "Digest",
                "EventLoop", "Gzip", "HTTPServer", "JobQueue", "Metrics", "Model", "Postgres",
                "Transfer",
            ]),
        tests(
            "Worker",
            [
                "API", "Client", "ClusterTestSupport",
                "Coordinator", "CoordinatorClient", "Digest", "EventLoop", "HTTPServer", "JobQueue",
                "LoadModel", "Metrics", "Model", "S3", "Services", "Statistics", "Storage",
                "Titles", "Transfer", "WebURL",
            ]),
        tests("Embedded", ["API", "Model", "Services"]),
        tests(
            "Client",
            [
                "API", "CommandLine", "CoordinatorClient", "Digest", "HTTPServer", "LoadModel",
                "LoadReport", "Model", "Planner", "Rendering", "Services", "Statistics",
            ]),
        tests(
            "dray",
            [
                "API",
                "Client", "CoordinatorClient", "Digest", "LoadGenerator", "LoadModel", "Model",
                "Rendering", "S3", "Services", "Storage", "Transfer",
            ]),
    ] + fuzzing,
    swiftLanguageModes: [.v6]
)
