/// Builds HTML; everything that is not markup is escaped.
package enum HTMLText {
    /// Escapes `text` for an element or a quoted attribute; control characters become spaces.
    package static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            case _ where scalar.value < 0x20 && scalar != "\n": result += " "
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Returns a table. The first column has text, the others figures, unless `text` specifies
    /// otherwise. In a narrow window, a table of names, values and remarks has each remark below its
    /// value; others scroll.
    package static func table(
        _ headings: [String], _ rows: [[String]], text columns: Set<Int> = [0],
        marked: Set<Int> = []
    ) -> String {
        func cell(_ tag: String, _ index: Int, _ content: String) -> String {
            let name = columns.contains(index) ? "" : " class=\"n\""
            return "<\(tag)\(name)>\(escaped(content))</\(tag)>"
        }
        func line(_ tag: String, _ cells: [String], _ name: String) -> String {
            "<tr\(name)>" + cells.enumerated().map { cell(tag, $0, $1) }.joined() + "</tr>\n"
        }
        let head =
            headings.allSatisfy(\.isEmpty) ? "" : "<thead>\(line("th", headings, ""))</thead>"
        let body = rows.enumerated().map { index, row in
            line("td", row, marked.contains(index) ? " class=\"marked\"" : "")
        }.joined()
        let name = headings.count == 3 && columns.contains(2) ? " class=\"facts\"" : ""
        return "<div class=\"scroll\"><table\(name)>\(head)<tbody>\n\(body)</tbody></table></div>\n"
    }

    /// Returns a section with a heading; `content` is markup.
    package static func section(_ title: String, _ content: String) -> String {
        "<section>\n<h2>\(escaped(title))</h2>\n\(content)</section>\n"
    }

    /// Returns the main figures, names and values, in rows of equal length as far as possible.
    package static func tiles(_ figures: [(String, String)]) -> String {
        let rows = max(1, (figures.count + maxTiles - 1) / maxTiles)
        let columns = (figures.count + rows - 1) / rows
        return "<div class=\"tiles\" style=\"--columns:\(columns)\">\n"
            + figures.map { name, value in
                "<div class=\"tile\"><b>\(escaped(value))</b><span>\(escaped(name))</span></div>\n"
            }.joined() + "</div>\n"
    }

    /// Tiles in a row, so that a figure of 14 characters fits.
    private static let maxTiles = 4

    /// Returns a list of texts.
    package static func list(_ items: [String]) -> String {
        "<ul>\n" + items.map { "<li>\(escaped($0))</li>\n" }.joined() + "</ul>\n"
    }

    /// Returns a chart, given as markup, with its caption.
    package static func figure(_ caption: String, _ content: String) -> String {
        "<figure>\n<figcaption>\(escaped(caption))</figcaption>\n\(content)</figure>\n"
    }

    /// Styles for light and dark mode, without external fonts or images. Wide tables and charts
    /// scroll separately in a narrow window, so that figures stay on one line and labels stay
    /// legible; a shadow at an edge shows that there is more.
    package static let style = """
        :root{color-scheme:light dark;--ground:#fff;--text:#1c2126;--soft:#5b6670;--rule:#d9dee3;\
        --panel:#f5f7f9;--bad:#b3261e;--shade:#0004;--s0:#1f6fb5;--s1:#c4570c;--s2:#23835a;--s3:#8650ad;--s4:#806b00;\
        --s5:#b3306e;--s6:#4c5a67;--s7:#5a7a00}
        @media (prefers-color-scheme:dark){:root{--ground:#14181c;--text:#e4e8ec;--soft:#9aa6b1;\
        --rule:#323a42;--panel:#1c2228;--bad:#ff8a80;--shade:#fff5;--s0:#6cb2f0;--s1:#f29a5c;--s2:#5fc598;\
        --s3:#c79be8;--s4:#d8c257;--s5:#f28fbd;--s6:#a9b7c4;--s7:#b4d455}}
        *{box-sizing:border-box}
        body{margin:0 auto;max-width:64rem;padding:2rem 1.25rem 4rem;background:var(--ground);\
        color:var(--text);font:16px/1.5 system-ui,sans-serif;overflow-wrap:break-word}
        h1{font-size:1.6rem;line-height:1.25;margin:0 0 .25rem}
        h2{font-size:1.15rem;margin:2.5rem 0 .75rem;border-bottom:1px solid var(--rule);\
        padding-bottom:.3rem}
        h3{font-size:1rem;margin:1.5rem 0 .5rem}
        .lead{color:var(--soft);margin:0 0 1.5rem}
        .tiles{display:grid;gap:.75rem;margin:1rem 0}
        @media (min-width:23rem){.tiles{grid-template-columns:repeat(2,minmax(0,1fr))}\
        .tile:last-child:nth-child(odd){grid-column:span 2}}
        @media (min-width:44rem){.tiles{grid-template-columns:repeat(var(--columns),minmax(0,1fr))}\
        .tile:last-child:nth-child(odd){grid-column:auto}}
        .tile{background:var(--panel);border-radius:.5rem;padding:.8rem 1rem}
        .tile b{display:block;font-size:1.1rem;line-height:1.2;font-weight:600}
        @media (min-width:30rem){.tile b{font-size:1.3rem}}
        .tile span{color:var(--soft);font-size:.875rem}
        .scroll,figure{overflow-x:auto;background:\
        linear-gradient(to right,var(--ground) 40%,transparent) left/2rem 100% no-repeat local,\
        linear-gradient(to left,var(--ground) 40%,transparent) right/2rem 100% no-repeat local,\
        linear-gradient(to right,var(--shade),transparent) left/.75rem 100% no-repeat scroll,\
        linear-gradient(to left,var(--shade),transparent) right/.75rem 100% no-repeat scroll}
        table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}
        th,td{text-align:left;vertical-align:top;padding:.35rem .75rem .35rem 0;\
        border-bottom:1px solid var(--rule)}
        th{color:var(--soft);font-weight:500}
        th.n,td.n{text-align:right;white-space:nowrap}
        tr.marked td{font-weight:600}
        @media (max-width:40rem){.facts,.facts tbody{display:block}.facts thead{display:none}\
        .facts tr{display:flex;flex-wrap:wrap;justify-content:space-between;column-gap:.75rem;\
        padding:.35rem 0;border-bottom:1px solid var(--rule)}\
        .facts td,.facts td.n{padding:0;border:0;min-width:0;white-space:normal;max-width:100%}\
        .facts td:first-child{font-weight:500}\
        .facts td:nth-child(3){flex-basis:100%;color:var(--soft)}}
        figure{margin:1.25rem 0}
        figcaption{color:var(--soft);font-size:.9rem;margin-bottom:.4rem}
        svg{display:block;width:100%;min-width:44rem;height:auto;font:12px system-ui,sans-serif}
        svg text{fill:var(--soft)}svg text.v{fill:var(--text)}
        svg .grid{stroke:var(--rule);stroke-width:1}svg .limit{stroke:var(--bad);stroke-width:1.5;\
        stroke-dasharray:5 4}
        .problems,.notes{border-left:4px solid var(--bad);background:var(--panel);padding:.75rem 1rem}
        .notes{border-color:var(--s1)}
        .problems ul,.notes ul{margin:0;padding-left:1.1rem}
        details{margin-top:.75rem}summary{cursor:pointer;color:var(--soft)}
        """
}
