/// This binary's version, as `dray --version` prints it.
package let drayVersion = "0.1.0"
