import API
import JobQueue
import Model

/// `docs/api.md`: the routes and their messages as Markdown, made from the table of routes.
struct APIPage {
    private let api: APIDescription

    init(_ routes: [Route]) { api = APIDescription(routes) }

    var text: String {
        let schemas = api.components.sorted { $0.key < $1.key }.map(Self.component)
        return Self.introduction + "\n## Routes\n\n" + overview
            + api.entries.map(route).joined() + "\n## Messages\n\n"
            + "Objects of requests and answers. In requests, no other fields are allowed; clients\n"
            + "ignore fields of answers that they do not know. Times are seconds since 1970.\n"
            + schemas.joined()
    }

    // MARK: Routes

    private var overview: String {
        "| route | roles |\n| --- | --- |\n"
            + api.entries.map { entry in
                let anchor = Self.anchor(of: entry.route.name)
                return "| [`\(entry.route.name)`](#\(anchor)) | \(Self.roles(entry.route)) |\n"
            }.joined()
    }

    /// Returns the anchor of a heading with this text.
    private static func anchor(of heading: String) -> String {
        String(
            heading.lowercased().map { $0 == " " ? "-" : $0 }
                .filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") })
    }

    private static func roles(_ route: Route) -> String { route.rule?.names ?? "no token needed" }

    private func route(_ entry: APIDescription.Entry) -> String {
        let (route, description) = (entry.route, entry.description)
        var text = "\n### \(route.name)\n\n\(description.summary)\n\n| | |\n| --- | --- |\n"
        text += "| roles | \(Self.roles(route)) |\n"
        for part in route.path.parts {
            guard case .parameter(let name) = part,
                let parameter = RouteDescription.Parameter.ofPaths[name]
            else { continue }
            text += Self.row("`\(name)` in the path", parameter)
        }
        for parameter in description.query {
            let need = parameter.isRequired ? ", required" : ""
            text += Self.row("`\(parameter.name)` in the query\(need)", parameter)
        }
        if route.isCreating {
            text += "| `\(IdempotencyKeys.header)` | [optional](#repeated-requests) |\n"
        }
        if let body = description.body {
            let rows = description.takesRows ? ", also in [rows](#rows)" : ""
            text += "| request | \(api.schema(of: body).text)\(rows) |\n"
        }
        text += "| answer | \(answer(entry)) |\n"
        let failures = route.failures(description)
            .filter { !Route.commonFailures.contains($0) }.map { "\($0)" }
        if !failures.isEmpty {
            text +=
                "| failures | \(failures.joined(separator: ", ")), and [those of all](#failures) |\n"
        }
        return text
    }

    private static func row(_ name: String, _ parameter: RouteDescription.Parameter) -> String {
        "| \(name) | \(parameter.schema.text). \(parameter.text) |\n"
    }

    private func answer(_ entry: APIDescription.Entry) -> String {
        let tag = entry.hasEntityTag ? "; with an ETag" : ""
        return switch entry.description.answer {
        case .nothing: "204, nothing"
        case .json(let type): "200, \(api.schema(of: type).text)\(tag)"
        case .rows(let type): "200, \(api.schema(of: type).text), or in [rows](#rows)"
        case .events(let type):
            "200, \(api.schema(of: type).text)\(tag), or [server-sent events](events.md)"
        case .text(let types):
            "200, text: " + types.map { "`\($0)`" }.joined(separator: ", ")
        case .document: "200, the document\(tag)"
        }
    }

    // MARK: Messages

    private static func component(_ name: String, _ schema: Schema) -> String {
        guard case .object(let properties) = schema.kind else { return "" }
        let heading = "\n### \(name)\n\n"
        guard !properties.isEmpty else { return heading + "An object without fields.\n" }
        return heading + "| field | value | |\n| --- | --- | --- |\n"
            + properties.map { property in
                let need = property.isRequired ? "" : "optional"
                return "| `\(property.name)` | \(property.schema.text) | \(need) |\n"
            }.joined()
    }

    // MARK: Introduction

    private static let introduction = """
        # HTTP API

        Made from `Sources/Cluster/Coordinator/Routes/API.swift`, `Sources/Cluster/Coordinator/Describing` and the
        wire types of `Sources/Cluster/API` by `scripts/generate-docs`; change those, then run it. A coordinator
        serves the same as an OpenAPI 3.1 document at `GET /openapi.json`, without a token:

        ```
        curl -H "Authorization: Bearer $(cat token)" http://127.0.0.1:7400/v1/status
        ```

        - **Tokens**: each request needs `Authorization: Bearer TOKEN` of a [role](security.md#roles) that the route
          allows, but for the routes that need none.
        - **Messages** are JSON objects, `application/json`. Names are in camel case and units come last.
        - **Request ids**: `X-Request-Id`, up to 128 visible ASCII characters, is repeated in the answer and in the
          coordinator's log; without a sane one, the coordinator makes one. Each answer has it, also of a failure.
        - **Compression**: bodies of \(Representation.minimumGzipBytes) bytes and more are compressed for requests whose
          `Accept-Encoding` prefers gzip, but for routes of workers.
        - **Caching**: reads in JSON have a weak `ETag` and `Cache-Control: private, no-cache`. A request with the
          same tag in `If-None-Match` is answered with 304 without a body. Messages with `now` differ each time.

        ## Failures

        A failure is a problem document, `application/problem+json` (RFC 9457): `type` is
        `\(ErrorAnswer.typePrefix)CODE`, `code` the [failure code](failures.md), `detail` what happened here, `hint`
        what to do. Decide by `code`; the texts are for people. Every route can answer:

        | status | reason |
        | --- | --- |
        | 400 | malformed HTTP or JSON, or a field or parameter that is not allowed |
        | 401, 403 | no valid token, or one whose role, queues or sites do not suffice |
        | 405 | another method; `Allow` lists those of the path |
        | 408, 413, 414, 431 | the request is too slow, or its body, line or headers are too long |
        | 429 | [too many requests](#rates) |
        | 500 | a bug; the log has it under the request id |
        | 501, 505 | another transfer coding than chunked, another version of HTTP |
        | 503 | the database does not answer, or the coordinator is at a limit or stops; send it again |

        404 is a path, or something named in the request, that does not exist; 409 a conflict with the present state.

        ## Pages

        Lists with `next` are read in pages: send it as `after` of the next request, until there is none. It is opaque
        and of that list only. A page has at most `limit` elements, and may have fewer. Pages follow keys, so that
        rows that come or go meanwhile shift no others.

        ## Repeated requests

        Routes that create something honour `Idempotency-Key`, up to \(IdempotencyKeys.maximumBytes) visible ASCII
        characters, such as a UUID. It belongs to its token and is kept for \(RepeatedRequests.keptHours) hours, unless
        \(RepeatedRequests.maxRows) later keys of that token, or \(RepeatedRequests.maxTotalRows) of all, displace it.

        | a later request with the same key | answer |
        | --- | --- |
        | and the same route and body | the first answer again, with `\(IdempotencyKeys.replayed): true` |
        | and another route or body | 422, `input.keyReused` |
        | while the first is being answered | 409, `cluster.requestRunning` |
        | after the first failed | as a new request |
        | after a token was created | 409, `input.alreadyCreated`: the token's text is not kept, nor are answers beyond 64 KiB |

        The key is recorded in the transaction that creates, so two requests with one key never create twice. If a
        coordinator is killed, or the database fails, while it answers, send the request again with its key. If the
        first request took effect, you get its answer; otherwise the request is made now. Other changes may be repeated
        as they are: a second one finds nothing left to change. [Decision 21](decisions/0021-keys-of-requests.md) has the
        alternatives.

        ## Rates

        Each token may send \(RequestRate.ofToken.perSecond) requests per second, and five times as many at once after
        a pause; an address without a valid token \(RequestRate.ofAddress.perSecond). Routes of workers, and this machine's
        requests without a token, have no limit. A request beyond is answered with 429, `cluster.rateLimited` and
        `Retry-After`. `dray coordinator --max-requests` and `--max-unknown-requests` set the limits, of each
        coordinator.

        ## Rows

        Frequent messages of workers are also sent as `\(WireFormat.rows.contentType)`, in requests by `Content-Type`, in
        answers by `Accept`. A message is UTF-8 text: a table of its own fields, with one row, then the table of its list,
        if it has one. A table is a line of column names and a line per row; a tab separates fields. As in the text
        format of PostgreSQL's COPY, `\\N` is null, booleans are `t` and `f`, and `\\t`, `\\n`, `\\r` and `\\\\` are escapes.
        Nulls at the end of a row are omitted. The columns are the fields of the JSON object; a list in a field has a line
        for each element, and rare objects are JSON.

        """
}
