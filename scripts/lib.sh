# shellcheck shell=bash
# What the scripts share; to be sourced from one of them.

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

note() { printf '%s\n' "$*" >&2; }

fail() {
    note "$(basename "$0"): $*"
    exit 1
}

# Debian packages of a group, one a line.
packages_of() {
    case $1 in
        build)
            printf '%s\n' libcurl4-openssl-dev libpq-dev libssl-dev libxml2-dev pkg-config \
                zlib1g-dev
            ;;
        run) printf '%s\n' ca-certificates postgresql ;;
        demo) printf '%s\n' nginx-light ;;
        test)
            printf '%s\n' aria2 ceph-common ceph-mgr ceph-mon ceph-osd chromium curl ffmpeg fish groff-base iproute2 \
                mandoc nginx-light postgresql python3-venv radosgw rclone shellcheck strace trafficserver varnish wget zsh
            ;;
        attack) printf '%s\n' openssl postgresql-client python3 ;;
        monitoring) printf '%s\n' prometheus prometheus-alertmanager python3 ;;
        latency) printf '%s\n' libnginx-mod-http-echo ;;
        compare) printf '%s\n' aria2 curl nghttp2-client nginx-light python3 wget2 ;;
        generators) printf '%s\n' nghttp2-client nginx-light python3 wrk ;;
        s3) printf '%s\n' ceph-common ceph-mgr ceph-mon ceph-osd curl nginx-light python3 radosgw rclone ;;
        hls) printf '%s\n' streamlink ;;
        peers) printf '%s\n' python3 python3-venv ;;
        queues) printf '%s\n' postgresql-client python3 python3-venv ;;
        *) fail "unknown package group: $1" ;;
    esac
}

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# Runs a command as root; says which packages are wanted when that cannot be.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        return 1
    fi
}

# install_packages GROUP...: installs those packages of the groups that are missing. Changes
# nothing, and needs no rights, when all are there.
install_packages() {
    local group package packages=() missing=() present
    if ! command -v dpkg-query >/dev/null; then
        note "not a Debian system: taking the packages of $* as installed"
        return
    fi
    for group in "$@"; do
        [ "$group" != run ] || make_server_user
        mapfile -t -O ${#packages[@]} packages < <(packages_of "$group")
    done
    present=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null || true)
    for package in "${packages[@]}"; do
        grep -qxF "$package installed" <<<"$present" || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    note "installing ${missing[*]} ..."
    install_missing "${missing[@]}" ||
        fail "the packages could not be installed; as root, run: apt-get install ${missing[*]}"
}

install_missing() {
    local log package fresh=() status=0
    log=$(mktemp)
    # Debian would make a cluster and keep it running on port 5432; Dray makes its own.
    if ! installed postgresql-common; then
        as_root mkdir -p /etc/postgresql-common/createcluster.d || return 1
        echo 'create_main_cluster = false' |
            as_root tee /etc/postgresql-common/createcluster.d/dray.conf >/dev/null || return 1
    fi
    for package in nginx-common prometheus prometheus-alertmanager trafficserver varnish; do
        installed "$package" || fresh+=("$package")
    done
    {
        as_root apt-get -o DPkg::Lock::Timeout=120 -q update &&
            as_root env DEBIAN_FRONTEND=noninteractive \
                apt-get -o DPkg::Lock::Timeout=120 -q -y --no-install-recommends install "$@"
    } >"$log" 2>&1 || status=$?
    [ "$status" -eq 0 ] || tail -n 20 "$log" >&2
    rm -f "$log"
    # Scripts and tests start their own servers; the packages' services would only hold ports.
    if [ "$status" -eq 0 ] && [ -d /run/systemd/system ]; then
        for package in "${fresh[@]}"; do
            ! installed "$package" || as_root systemctl disable --quiet --now "${package%-common}" 2>/dev/null || true
        done
    fi
    return "$status"
}

require_swift() {
    command -v swift >/dev/null ||
        fail "swift is not on PATH; Swift 6.3 or later is needed: https://www.swift.org/install"
}

# compile_preload SOURCE LIBRARY: makes a shared library of one C file.
compile_preload() {
    # The Swift toolchain's own compiler where it is beside it: another one may not know its convention.
    local compiler
    compiler=$(dirname "$(command -v swift)")/clang
    [ -x "$compiler" ] || compiler=clang
    "$compiler" -O1 -shared -fPIC -o "$2" "$1" || fail "$1 cannot be compiled"
}

# make_server_user: under root, makes the user that PostgreSQL then runs as; Dray would do it itself.
make_server_user() {
    [ "$(id -u)" -eq 0 ] && ! getent passwd dray-postgres >/dev/null || return 0
    useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin dray-postgres ||
        fail "the user dray-postgres, which PostgreSQL runs as under root, could not be made"
}

# A directory in memory where the machine has one.
memory_directory() {
    if [ -d /dev/shm ] && [ -w /dev/shm ]; then printf '/dev/shm\n'; else printf '%s\n' "${TMPDIR:-/tmp}"; fi
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# quietly COMMAND...: its output is shown only when it fails.
quietly() {
    local log status=0
    log=$(mktemp)
    "$@" >"$log" 2>&1 || status=$?
    [ "$status" -eq 0 ] || cat "$log" >&2
    rm -f "$log"
    return "$status"
}

# How tests are built. Whole modules take a tenth less than single files, and keep all processors busy. Debug information
# would add a sixth; a test that fails names its line all the same.
# shellcheck disable=SC2034 # for scripts that source this one
test_scratch=(--scratch-path "$repository/.build/test")
# shellcheck disable=SC2034
test_flags=(-Xswiftc -gnone -Xswiftc -wmo -Xswiftc -num-threads -Xswiftc 2 -Xswiftc -no-emit-module-separately-wmo)

release_binary="$repository/.build/release/dray"
# shellcheck disable=SC2034 # for scripts that source this one
benchmark_binary="$repository/.build/release/dray-benchmark"

# Backtraces name lines; what only a debugger reads would add an eighth to the binary.
release_flags=(-c release --static-swift-stdlib -Xswiftc -gline-tables-only)

# Builds the release binary when a source is newer than the last build, or that had other flags.
build_release() {
    local stamp="$repository/.build/release-stamp"
    if [ -x "$release_binary" ] && [ "$(cat "$stamp" 2>/dev/null)" = "${release_flags[*]}" ]; then
        local newer
        newer=$(find "$repository"/{Sources,deploy,Package.swift} -newer "$stamp" -print -quit)
        [ -n "$newer" ] || return 0
    fi
    require_swift
    note "building dray (release); the first build takes about four minutes ..."
    mkdir -p "$repository/.build"
    # Dated before the build, so that an edit while it runs leads to another one.
    printf '%s\n' "${release_flags[*]}" >"$stamp.next"
    quietly swift build --package-path "$repository" --product dray "${release_flags[@]}" || fail "the build failed"
    mv "$stamp.next" "$stamp"
}

# Builds the release binary of dray-benchmark, which no user gets.
build_benchmark() {
    require_swift
    note "building dray-benchmark (release) ..."
    quietly swift build --package-path "$repository" --product dray-benchmark "${release_flags[@]}" ||
        fail "the build failed"
}

# start_origin ROOT PORT DIRECTORY: nginx serves ROOT on 127.0.0.1:PORT, its own files in DIRECTORY.
# ORIGIN_MAIN, ORIGIN_HTTP and ORIGIN_SERVER are further lines of its configuration: at the top, before the
# access log, and for the server;
# ORIGIN_WORKERS (2) its processes, with ORIGIN_CONNECTIONS (2048) each.
# Sets origin_pid; the caller stops it.
start_origin() {
    local root=$1 port=$2 directory=$3 user=''
    # nginx's workers would drop root's rights, and with them the way to a clone under /root.
    [ "$(id -u)" -ne 0 ] || user='user root;'
    cat >"$directory/nginx.conf" <<CONF
${ORIGIN_MAIN:-}
$user
worker_processes ${ORIGIN_WORKERS:-2};
daemon off;
pid $directory/nginx.pid;
error_log $directory/error.log warn;
worker_rlimit_nofile $((${ORIGIN_CONNECTIONS:-2048} * 2));
events { worker_connections ${ORIGIN_CONNECTIONS:-2048}; }
http {
    include /etc/nginx/mime.types;
    types { text/vtt vtt; video/iso.segment m4s; }
    default_type application/octet-stream;
    ${ORIGIN_HTTP:-}
    access_log ${ORIGIN_ACCESS_LOG:-off};
    sendfile on;
    tcp_nopush on;
    keepalive_requests 100000;
    client_body_temp_path $directory/body;
    proxy_temp_path $directory/proxy;
    fastcgi_temp_path $directory/fastcgi;
    uwsgi_temp_path $directory/uwsgi;
    scgi_temp_path $directory/scgi;
    server {
        listen 127.0.0.1:$port backlog=1024 ${ORIGIN_LISTEN:-};
        root $root;
        ${ORIGIN_SERVER:-}
    }
}
CONF
    "$(nginx_binary)" -p "$directory" -e "$directory/error.log" -c "$directory/nginx.conf" \
        >"$directory/output.log" 2>&1 &
    origin_pid=$!
    local tries
    for tries in $(seq 100); do
        kill -0 "$origin_pid" 2>/dev/null || break
        if [ -s "$directory/nginx.pid" ] && port_in_use "$port"; then return; fi
        [ "$tries" -lt 100 ] || break
        sleep 0.05
    done
    cat "$directory/output.log" "$directory/error.log" >&2 2>/dev/null || true
    fail "nginx did not start on 127.0.0.1:$port"
}

# The simulator that the planner's waits are compared with.
ciw_package() { printf 'ciw==3.2.7\n'; }

# Makes a virtual environment in directory $1 with the other arguments' packages.
make_python() {
    note "installing ${*:2} from the Python package index into a temporary directory ..."
    python3 -m venv "$1"
    quietly "$1/bin/pip" --disable-pip-version-check install "${@:2}" || fail "${*:2} could not be installed"
}

# nginx's module that can wait before an answer.
echo_module() { printf '/usr/lib/nginx/modules/ngx_http_echo_module.so\n'; }

nginx_binary() { command -v nginx || printf '/usr/sbin/nginx\n'; }

# True when something accepts connections on 127.0.0.1:PORT.
port_in_use() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# stop_process PID: asks it to end and waits until it has.
stop_process() {
    kill -TERM "$1" 2>/dev/null || true
    wait "$1" 2>/dev/null || true
}
