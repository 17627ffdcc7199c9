import Foundation
import TestSupport

/// Runs shells without the files of a user.
enum Shell {
    static func isInstalled(_ name: String) -> Bool {
        let directories = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return directories.contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/\(name)")
        }
    }

    /// Returns the lines that `script` prints; they must not be on stderr.
    static func run(
        _ shell: String, _ script: String, in directory: TemporaryDirectory
    ) async throws -> [String] {
        let clean = ["bash": ["--norc", "--noprofile"], "zsh": ["-f"], "fish": ["--no-config"]]
        let child = try ChildProcess(
            ["env", "HOME=\(directory.path)", shell] + (clean[shell] ?? []) + ["-c", script],
            workingDirectory: directory.path)
        try await child.wait(deadlineSeconds: 30)
        return (child.output + child.errors).split(separator: "\n").map(String.init)
    }

    /// A script that types its argument and a tab into an interactive zsh, and prints the matches
    /// that completion functions add.
    static let zshCapture = """
        zmodload zsh/zpty
        line=$1
        cat > rc.zsh <<'R'
        PROMPT="" RPS1=""
        fpath=($PWD $fpath)
        autoload -Uz compinit; compinit -u -D
        compadd() {
            local -a found given
            if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return $?; fi
            builtin compadd -A found "$@"
            zparseopts -E P:=given
            print -rl -- $IPREFIX${given[2]}${^found} >> ./matches
            builtin compadd "$@"
        }
        bindkey "^I" list-choices
        finish() { print done > ./finished }
        zle -N finish
        bindkey "^X" finish
        print started > ./started
        R
        rm -f matches started finished; : > matches
        zpty shell zsh -f -i
        zpty -w shell 'source ./rc.zsh'
        wait_for() { local n=0; while [[ ! -s $1 && n -lt 500 ]]; do zpty -r -t shell out; sleep 0.02; n=$((n + 1)); done; }
        wait_for started
        zpty -w -n shell "$line"$'\\t'$'\\x18'
        wait_for finished
        zpty -d shell
        sort -u matches | sed -e 's/^--format=//' -e 's/\\\\//g' -e '/^$/d'
        """
}

extension String {
    /// The text in single quotes, for tests without quotes in it.
    var quoted: String { "'\(self)'" }
}
