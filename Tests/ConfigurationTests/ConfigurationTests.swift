import CommandLine
import Configuration
import Testing

@Suite struct ConfigurationTests {
    private static let level = CommandSetting("log-level", "TOOL_LOG", help: "Level.")
    private static let tokenFile = CommandSetting(
        "token-file", "TOOL_TOKEN_FILE", group: "token", help: "File.")
    private static let token = CommandSetting("token", "TOOL_TOKEN", secret: true, help: "Token.")
    private static let roots = CommandSetting(
        "roots", "TOOL_ROOTS", separator: ":", help: "Roots.")

    private static let tree = CommandTree(
        root: Command(
            "tool", summary: "Does things.",
            subcommands: [
                Command(
                    "fetch", summary: "Fetches.",
                    options: [
                        CommandOption(
                            "connections", .integer(placeholder: "N", range: 1...64), help: "N."),
                        CommandOption(
                            "to", .directory(placeholder: "DEST"), required: true, help: "Where."),
                        CommandOption(
                            "queue", .text(placeholder: "NAME"), repeatable: true, help: "Which."),
                        CommandOption(
                            "state", .choices(placeholder: "S", of: ["new", "failed"]), help: "S."),
                        CommandOption("quiet", .flag, help: "Quiet."),
                        CommandOption(
                            "header", .text(placeholder: "LINE"), secret: true, help: "Header."),
                        CommandOption(
                            "root", .directory(placeholder: "DIR"), repeatable: true,
                            setting: roots, help: "Root."),
                    ]
                ) { _ in .success },
                Command(
                    "catalog", summary: "Catalogs.",
                    subcommands: [
                        Command(
                            "check", summary: "Checks.",
                            options: [
                                CommandOption(
                                    "errors", .integer(placeholder: "N", range: 1...9), help: "N.")
                            ]
                        ) { _ in .success }
                    ]),
            ]), version: "1",
        common: [
            CommandOption("config", .file(placeholder: "FILE"), help: "File."),
            CommandOption(
                "token-file", .file(placeholder: "FILE"), setting: tokenFile, help: "File."),
        ], settings: [level, tokenFile, token, roots])

    private func file(
        _ text: String, path: String = "c.toml", isPrivate: Bool = true
    ) throws -> ConfigurationFile {
        try ConfigurationFile(Array(text.utf8), path: path, isPrivate: isPrivate, of: Self.tree)
    }

    private struct Result {
        var arguments: Arguments
        var settings: [String: String]
    }

    private func resolve(
        _ words: [String], _ text: String = "", path: String = "c.toml",
        environment: [String: String] = [:]
    ) throws -> Result {
        let configuration = ConfiguredSettings(
            file: try file(text, path: path), environment: environment, of: Self.tree)
        var settings: [String: String] = [:]
        let parser = CommandParser(Self.tree) { (node, arguments) throws(UsageError) in
            try configuration.complete(&arguments, of: node)
            for value in configuration.settings(arguments, of: node) where !value.text.isEmpty {
                settings[value.setting.name] = "\(value.text) (\(value.origin))"
            }
        }
        guard case .run(_, let arguments) = try parser.parse(words) else {
            throw UsageError("not a run", hint: "")
        }
        return Result(arguments: arguments, settings: settings)
    }

    private static let example = """
        # A comment.
        log-level = "debug"   # another
        roots = ["/a",
          '/b', # with a comment
        ]

        [fetch]
        connections = 1_6
        to = "edge\\u0020\\"1\\""
        queue = ["x", "y"]
        state = ["new", "failed"]
        quiet = true
        """

    @Test func aFileSetsOptionsAndSettings() throws {
        let result = try resolve(["fetch"], Self.example)
        #expect(result.arguments.integer("connections") == 16)
        #expect(result.arguments.text("to") == "edge \"1\"")
        #expect(result.arguments.texts("queue") == ["x", "y"])
        #expect(result.arguments.text("state") == "new,failed")
        #expect(result.arguments.flag("quiet"))
        #expect(result.arguments.origin(of: "to") == .file("c.toml", line: 9))
        #expect(
            result.settings == ["log-level": "debug (c.toml:2)", "roots": "/a:/b (c.toml:3)"])
    }

    @Test func jsonSetsTheSame() throws {
        let text = """
            {"log-level": "debug", "fetch": {"connections": 16, "to": "e", "queue": ["x"],
             "quiet": false}, "catalog": {"check": {"errors": 3}}}
            """
        let result = try resolve(["fetch"], text, path: "c.json")
        #expect(result.arguments.integer("connections") == 16)
        #expect(result.arguments.texts("queue") == ["x"])
        #expect(!result.arguments.flag("quiet"))
        let check = try resolve(["catalog", "check"], text, path: "c.json")
        #expect(check.arguments.integer("errors") == 3)
    }

    @Test func theEnvironmentOverridesTheFileAndTheCommandLineBoth() throws {
        let environment = ["DRAY_FETCH_CONNECTIONS": "8", "TOOL_LOG": "error"]
        let result = try resolve(["fetch"], Self.example, environment: environment)
        #expect(result.arguments.integer("connections") == 8)
        #expect(
            result.arguments.origin(of: "connections") == .environment("DRAY_FETCH_CONNECTIONS"))
        #expect(result.settings["log-level"] == "error (TOOL_LOG)")
        let given = try resolve(
            ["fetch", "--connections", "4", "--queue", "z", "--quiet=false"], Self.example,
            environment: environment)
        #expect(given.arguments.integer("connections") == 4)
        #expect(given.arguments.texts("queue") == ["z"])
        #expect(!given.arguments.flag("quiet"))
    }

    @Test func whatExcludesASettingReplacesItTogetherWithIt() throws {
        let text = "token-file = 'a'\n[fetch]\nto = 'x'"
        #expect(try resolve(["fetch"], text).settings["token-file"] == "a (c.toml:1)")
        let environment = try resolve(["fetch"], text, environment: ["TOOL_TOKEN": "secret"])
        #expect(environment.settings == ["token": "secret (TOOL_TOKEN)"])
        let option = try resolve(
            ["fetch", "--token-file", "b"], text, environment: ["TOOL_TOKEN": "secret"])
        #expect(option.settings == ["token-file": "b (command line)"])
    }

    @Test func aVariableOfASettingOverridesTheCommandsTable() throws {
        let text = "[fetch]\nto = 'x'\nroot = ['/file']"
        #expect(try resolve(["fetch"], text).arguments.texts("root") == ["/file"])
        let result = try resolve(["fetch"], text, environment: ["TOOL_ROOTS": "/environment"])
        #expect(result.arguments.texts("root").isEmpty)
        #expect(result.settings["roots"] == "/environment (TOOL_ROOTS)")
    }

    @Test(arguments: [
        ("x\n", "c.toml:1: expected = after the key x", ""),
        ("\nlog-lvel = 'x'", "c.toml:2: unknown key log-lvel", "Did you mean log-level?"),
        ("[fecth]\nto = 'x'", "c.toml:2: unknown table [fecth]", "Did you mean fetch?"),
        ("[fetch]\nconection = 1", "c.toml:2: unknown key conection of [fetch]", "connections?"),
        ("[fetch]\nconnections = 65", "c.toml:2: connections is '65'", "from 1 to 64"),
        ("[fetch]\nquiet = 'yes'", "c.toml:2: quiet is a string", "true or false"),
        ("[fetch]\nto = ['a', 'b']", "c.toml:2: to is an array", "one value"),
        ("[fetch]\nstate = ['old']", "c.toml:2: state is 'old'", "new or failed"),
        ("[fetch]\nconfig = 'x'", "c.toml:2: unknown key config of [fetch]", ""),
        ("token = 'a'\ntoken-file = 'b'", "c.toml:2: token-file and token are both set", "Remove"),
        ("log-level = debug", "c.toml:1: debug is not a value; write text in quotes", ""),
        ("log-level = 2026-01-01", "c.toml:1: 2026-01-01 is not a value; write text in quotes", ""),
        ("log-level = 'a'\nlog-level = 'b'", "c.toml:2: the key log-level is repeated", ""),
        ("[fetch]\n[fetch]\n", "c.toml:2: the table [fetch] is repeated", ""),
        ("fetch.to = 'x'", "c.toml:1: a dotted key; use a table: [fetch]", ""),
        ("[[fetch]]", "c.toml:1: an array of tables is not supported", ""),
        ("fetch = {to = 'x'}", "c.toml:1: an inline table is not supported", ""),
        ("log-level = \"\"\"x\"\"\"", "c.toml:1: a string of several lines is not supported", ""),
        (
            "log-level = \"x\n\"",
            "c.toml:1: a string has no closing quote, or a control character", ""
        ),
        ("log-level = 'a' 'b'", "c.toml:1: unexpected text after the value", ""),
    ])
    func errorsNameTheLine(text: String, message: String, hint: String) {
        let error = #expect(throws: UsageError.self) { try file(text) }
        #expect(error?.message == message)
        #expect(hint.isEmpty || error?.hint.contains(hint) == true, "\(error?.hint ?? "")")
    }

    @Test func secretsStandOnlyInFilesOfTheirOwner() throws {
        for text in ["token = 'x'", "[fetch]\nheader = 'Authorization: x'"] {
            _ = try file(text)
            let error = #expect(throws: UsageError.self) { try file(text, isPrivate: false) }
            #expect(error?.message.contains("is a secret, and other users can read") == true)
        }
        _ = try file("token-file = 'x'", isPrivate: false)
    }

    @Test(arguments: ["", "\u{FEFF}# only a comment", "[fetch]\r\nto = 'x'\r\n", "\n\n"])
    func otherFilesAreRead(text: String) throws { _ = try file(text) }
}
