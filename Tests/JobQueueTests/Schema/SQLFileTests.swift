import Postgres
import Testing

@testable import JobQueue

/// How a file of statements is read.
@Suite struct SQLFileTests {
    private static func file(
        _ text: String, texts: [String: String] = [:]
    ) throws(SQLFile.Malformed) -> SQLFile {
        try SQLFile(Array(text.utf8), SQLPlaceholders(texts: texts))
    }

    private static func statement(
        _ body: String, texts: [String: String] = [:]
    ) throws -> SQLStatement {
        try #require(try file("-- name: it\n" + body + "\n", texts: texts).statements["it"])
    }

    private static func rejection(_ text: String) -> SQLFile.Malformed? {
        do throws(SQLFile.Malformed) {
            _ = try file(text)
            return nil
        } catch {
            return error
        }
    }

    @Test func aFileHasStatementsWithoutTheirComments() throws {
        let file = try Self.file(
            """
            -- What the file is about.

            -- name: one
            -- Why.
            SELECT 1 -- not two
            FROM a

            -- name: two
            -- Why.

            SELECT 2;

            """)
        #expect(file.names == ["one", "two"])
        #expect(file.statements["one"]?.text == "SELECT 1\nFROM a")
        #expect(file.statements["two"]?.text == "\nSELECT 2;")
    }

    @Test func aStatementNamesTheEventsThatItRaises() throws {
        let file = try Self.file(
            """
            -- name: one
            -- raises: asset.cancel, asset.redefine
            -- raises: catalog.cancel
            -- Why.
            SELECT 1
            -- raises: nothing
            -- name: two
            SELECT 2
            """)
        #expect(
            file.statements["one"]?.raises == ["asset.cancel", "asset.redefine", "catalog.cancel"])
        #expect(file.statements["one"]?.text == "SELECT 1")
        #expect(file.statements["two"]?.raises == [])
    }

    @Test func parametersAreNumberedInTheOrderOfTheirFirstUse() throws {
        let statement = try Self.statement("SELECT @b::int, @a_1, @b WHERE x=ANY(@a_1) AND y = @cD")
        #expect(statement.text == "SELECT $1::int, $2, $1 WHERE x=ANY($2) AND y = $3")
        #expect(statement.parameters == ["b", "a_1", "cD"])
    }

    @Test(arguments: [
        "SELECT a @> b, a <@ b, a <@b, a @@ b, a @@b, @ 5, a @? b",
        "SELECT '@a', 'it''s @a', E'\\'@a', e'\\\\', \"@a\", name 'E@a'",
        "SELECT $$ @a $1 -- kept $$, $tag$ @a $$ ' $tag$",
        "SELECT '-- kept', '/* kept */', \"--\"",
        "SELECT x - -1, a ->> 'b', 2 / 3",
    ])
    func operatorsStringsAndDollarQuotesAreNoParameters(_ text: String) throws {
        #expect(try Self.statement(text) == SQLStatement(name: "it", text: text, parameters: []))
    }

    @Test func aStringEndsAtItsQuote() throws {
        #expect(try Self.statement("SELECT 'a\\', @a").text == "SELECT 'a\\', $1")
        #expect(try Self.statement("SELECT E'a\\'', @a").text == "SELECT E'a\\'', $1")
        #expect(try Self.statement("SELECT (SELECT d FROM TABLE'x', @a)").parameters == ["a"])
        #expect(try Self.statement("SELECT /* '@b */ @a").text == "SELECT  $1")
    }

    @Test func fragmentsAndTextsReplaceTheirNames() throws {
        let file = try Self.file(
            """
            -- name: it
            SELECT {{columns}} FROM t WHERE {{isMine}} AND s IN ({{states}}) AND x ~ 'a{{pattern}}b'

            -- fragment: isMine
            -- Whose it is.
            a.owner = @owner AND {{isNew}}

            -- fragment: isNew
            a.id > @after
            -- fragment: columns
            a.id
            """, texts: ["states": "'new', 'ready'", "pattern": "[{{]@x"])
        #expect(
            file.statements["it"]
                == SQLStatement(
                    name: "it",
                    text: "SELECT a.id FROM t WHERE a.owner = $1 AND a.id > $2 "
                        + "AND s IN ('new', 'ready') AND x ~ 'a[{{]@xb'",
                    parameters: ["owner", "after"]))
    }

    @Test func aTemplateIsFilledWhereItIsUsed() throws {
        let file = try Self.file(
            """
            -- template: page
            SELECT {{value}} FROM t WHERE id > @after ORDER BY 1 {{direction}}
            """)
        #expect(file.statements.isEmpty)
        let filled = try file.filled("page", ["value": "'{{' || @scale", "direction": "DESC"])
        #expect(filled.text == "SELECT '{{' || $1 FROM t WHERE id > $2 ORDER BY 1 DESC")
        #expect(filled.parameters == ["scale", "after"])
        #expect(throws: SQLFile.Malformed.unknown("value")) { try file.filled("page", [:]) }
        #expect(throws: SQLFile.Malformed.unknown("other")) { try file.filled("other", [:]) }
    }

    @Test func aStatementOfAWholeCatalogIsNotPrepared() throws {
        let file = try Self.file(
            """
            -- name: one
            SELECT 1
            -- unprepared: all
            SELECT @a
            -- template: page
            SELECT {{value}}
            """)
        #expect(file.names == ["one", "all"])
        #expect(file.statements["one"]?.isPrepared == true)
        let all = try #require(file.statements["all"])
        #expect(!all.isPrepared)
        let bound = PostgresStatement(all, ["a": .int(1)])
        #expect(bound == PostgresStatement("SELECT $1", [1], isPrepared: false))
        #expect(try !file.filled("page", ["value": "1"]).isPrepared)
        #expect(try file.filled("page", ["value": "1"], isPrepared: true).isPrepared)
    }

    @Test func aFunctionsBodyHasPlaceholdersAndItsOwnParameters() throws {
        let file = try Self.file(
            """
            -- name: it
            CREATE FUNCTION f(a int) RETURNS int LANGUAGE sql {{settings}} AS $$
                -- Kept.
                SELECT a FROM t WHERE x @> a AND {{isMine}} AND '{{mark}}' = $1
            $$
            -- fragment: settings
            SET x = 1
            -- fragment: isMine
            t.owner = a
            """, texts: ["mark": "m"])
        #expect(
            file.statements["it"]?.text == """
                CREATE FUNCTION f(a int) RETURNS int LANGUAGE sql SET x = 1 AS $$
                    -- Kept.
                    SELECT a FROM t WHERE x @> a AND t.owner = a AND 'm' = $1
                $$
                """)
    }

    @Test func whatIsNotCleanIsRefused() {
        #expect(Self.rejection("SELECT 1\n-- name: a\nSELECT 1") == .noEntry)
        #expect(Self.rejection("-- name: a\nSELECT 1\n-- name: a\nSELECT 2") == .duplicate("a"))
        #expect(Self.rejection("-- name: a\nSELECT 1\n-- fragment: a\nb") == .duplicate("a"))
        #expect(Self.rejection("-- name: a\nSELECT {{b}}") == .unknown("b"))
        #expect(Self.rejection("-- name: a\nSELECT '{{b}}'") == .unknown("b"))
        #expect(
            Self.rejection("-- name: a\n{{b}}\n-- fragment: b\n{{c}}\n-- fragment: c\n{{b}}")
                == .endless("b"))
        for open in ["'b", "\"b", "E'b\\'", "$$ b", "/* b", "{{b"] {
            #expect(Self.rejection("-- name: a\nSELECT \(open)") == .unfinished("a"), "\(open)")
        }
        #expect(Self.rejection("-- name: a\nSELECT $1") == .positional("a"))
    }

    @Test func aFragmentOfTwoFilesIsRefused() throws {
        let first = try Self.file("-- fragment: a\nb")
        #expect(throws: SQLFile.Malformed.duplicate("a")) {
            try SQLFile(Array("-- fragment: a\nb".utf8), first.placeholders)
        }
    }

    @Test func valuesAreBoundByName() throws {
        let statement = try Self.statement("SELECT @b, @a, @b")
        let values: SQLValues = ["a": .int(1)]
        #expect((values + ["b": .text("x")]).bound(to: statement) == [.text("x"), .int(1)])
    }

    @Test func aValueThatIsMissingOrUnknownEndsTheProcess() async {
        await #expect(processExitsWith: .failure) {
            let statement = SQLStatement(name: "it", text: "", parameters: ["a"])
            _ = SQLValues(dictionaryLiteral: ("b", .null)).bound(to: statement)
        }
        await #expect(processExitsWith: .failure) {
            let statement = SQLStatement(name: "it", text: "", parameters: ["a"])
            _ = SQLValues(dictionaryLiteral: ("a", .null), ("b", .null)).bound(to: statement)
        }
    }
}
