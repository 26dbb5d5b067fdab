# host_key.sh make|use NAME, as root
#
# `make` prints the public half of a host key that this server makes itself; it makes one for each NAME, and prints the same one
# each time. `use` gives it to sshd in the place of its ed25519 key. Connections stay open.
set -eu
umask 077
cd /etc/ssh
own=stackloom_host_key_$2
case $1 in
make)
    if [ ! -s "$own.pub" ]; then
        rm -f "$own" "$own.new" "$own.new.pub"
        ssh-keygen -q -t ed25519 -N '' -C '' -f "$own.new"
        mv "$own.new" "$own"
        mv "$own.new.pub" "$own.pub"
        sync
    fi
    cat "$own.pub"
    ;;
use)
    for half in '' .pub; do
        cp "$own$half" "ssh_host_ed25519_key$half.new"
    done
    chmod 644 ssh_host_ed25519_key.pub.new
    mv ssh_host_ed25519_key.new ssh_host_ed25519_key
    mv ssh_host_ed25519_key.pub.new ssh_host_ed25519_key.pub
    sync
    {
        restorecon ssh_host_ed25519_key ssh_host_ed25519_key.pub || :
        # Without a daemon, sshd is started for each connection, and reads the new key by itself.
        systemctl reload ssh || systemctl reload sshd || service ssh reload || kill -HUP "$(cat /run/sshd.pid)" || :
    } >/dev/null 2>&1
    ;;
esac
