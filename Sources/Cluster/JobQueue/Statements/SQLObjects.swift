import FoundationEssentials
import Model

/// Compares the objects of two URLs in SQL: texts for placeholders.
enum SQLObjects {
    /// The `key_queries` of the catalog.
    private static let ofCatalog = "(SELECT key_queries FROM catalog WHERE id = @catalog::bigint)"
    /// The `key_queries` of the asset's catalog.
    private static let ofAsset =
        "(SELECT key_queries FROM catalog WHERE id = (SELECT catalog_id FROM asset WHERE id = @asset::bigint))"

    static let texts: [String: String] = [
        "objectOfB": object(of: "b.url", by: ofCatalog),
        "objectOfC": object(of: "c.url", by: ofCatalog),
        "objectOfA": object(of: "a.url", by: ofCatalog),
        "objectOfExcluded": object(of: "excluded.url", by: ofCatalog),
        "objectOfS": object(of: "s.url", by: ofCatalog),
        "objectOfN": object(of: "n.url", by: ofCatalog),
        "titleOfA": title(of: "a.url", by: ofCatalog),
        "titleOfExcluded": title(of: "excluded.url", by: ofCatalog),
        "sidecarsOfA": sidecars(in: "a.sidecars"),
        "sidecarsOfExcluded": sidecars(in: "excluded.sidecars"),
        "objectOfHolder": object(of: "b.url", by: ofAsset),
        "objectOfSegment": object(of: "c.url", by: ofAsset),
        "titleOfS": title(of: "s.url", by: ofAsset), "titleOfG": title(of: "g.url", by: ofAsset),
        "leavesOut": leavesOut(
            of: "coalesce(s.url, a.url)",
            by: "(SELECT key_queries FROM catalog WHERE id = a.catalog_id)"),
    ]

    /// Returns the text of `catalog.key_queries`; nil for none.
    static func keyQueries(_ rules: [KeyQueryRule]?) throws -> String? {
        guard let rules, !rules.isEmpty else { return nil }
        var patterns: [String: [String: String]] = [:]
        for rule in rules {
            var ofOrigin: [String: String] = [:]
            if let names = rule.keep, !names.isEmpty {
                ofOrigin["keep"] = SignedPatterns.separator(before: names)
            }
            if let names = rule.leaveOut, !names.isEmpty {
                ofOrigin["leaveOut"] = SignedPatterns.parameters(named: names)
            }
            patterns[rule.origin ?? ""] = ofOrigin
        }
        return String(decoding: try JSONEncoder().encode(patterns), as: UTF8.self)
    }

    /// Returns SQL for the object of a URL, by the rules of `SignedQuery.isSameObject`: two URLs
    /// name one object if these are equal.
    private static func object(of url: String, by rules: String) -> String {
        // Names are those of `SignedNames`, which need no quoting; no URL contains a space.
        func without(azure: Bool) -> String {
            "regexp_replace(q.text, '\(SignedPatterns.signature(azure: azure))', '', 'gi')"
        }
        let isAzure = SignedPatterns.azure.map { "q.text ~* '\($0)'" }.joined(separator: " AND ")
        return """
            (SELECT regexp_replace(split_part(\(url), '?', 1),
                 '\(SignedPatterns.path(withTokens: false))', '\\1 ', 'gi') || '?' || ltrim(
                 regexp_replace(CASE
                     WHEN \(isAzure) THEN \(without(azure: true))
                     WHEN q.text ~* '\(SignedPatterns.proof)' THEN \(without(azure: false))
                     ELSE q.text END, q.left_out, '', 'gi'), '&;')
             FROM \(query(of: url, by: rules)) AS q)
            """
    }

    /// Returns SQL for the sidecars of an asset by the objects of their URLs; null for none.
    private static func sidecars(in column: String) -> String {
        """
        (SELECT jsonb_agg(x.value || jsonb_build_object(
             'url', \(object(of: "(x.value ->> 'url')", by: ofCatalog))) ORDER BY x.place)
         FROM jsonb_array_elements(\(column)) WITH ORDINALITY AS x(value, place))
        """
    }

    /// Returns SQL for the URL of a title or of one of its segments without signatures and tokens.
    /// Two URLs with one key name the same object if these are equal.
    private static func title(of url: String, by rules: String) -> String {
        """
        (SELECT regexp_replace(split_part(\(url), '?', 1),
             '\(SignedPatterns.path(withTokens: true))', '\\1 ', 'gi') || '?' || ltrim(
             regexp_replace(
                 regexp_replace(q.text, '\(SignedPatterns.secret)', '', 'gi'),
                 q.left_out, '', 'gi'), '&;')
         FROM \(query(of: url, by: rules)) AS q)
        """
    }

    /// Returns SQL that is true if a URL has a parameter that the rules remove.
    private static func leavesOut(of url: String, by rules: String) -> String {
        "(SELECT q.text ~* q.left_out FROM \(query(of: url, by: rules)) AS q)"
    }

    /// Returns SQL for the query of a URL after a `&`, as `text`. The escapes of name characters
    /// are decoded, and a space precedes the names of kept parameters, so that they match nothing
    /// else. `left_out` matches removed parameters; without rules it matches nothing, because no
    /// URL contains a tab.
    private static func query(of url: String, by rules: String) -> String {
        let query = "'&' || substr(\(url), strpos(\(url) || '?', '?') + 1)"
        let decoded = [("%2D", "-"), ("%2d", "-"), ("%5F", "_"), ("%5f", "_")].reduce(query) {
            "replace(\($0), '\($1.0)', '\($1.1)')"
        }
        return """
            (SELECT regexp_replace(\(decoded), coalesce(p.rule ->> 'keep', '\\t'), '\\1 ', 'gi') AS text,
                    coalesce(p.rule ->> 'leaveOut', '\\t') AS left_out
             FROM (SELECT coalesce(k.rules -> lower(substring(\(url) FROM '^[^/]*//[^/?#]*')),
                                   k.rules -> '') AS rule
                   FROM (SELECT \(rules) AS rules) AS k) AS p)
            """
    }
}
