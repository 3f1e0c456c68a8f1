# SPDX-License-Identifier: Apache-2.0
# Sets the environment for this SDK tree, wherever it lies. Source it, from bash, zsh, dash or another POSIX shell:
#
#   . <root>/bin/envsetup.sh
#
# It sets QNN_SDK_ROOT and QAIRT_SDK_ROOT, and puts the tools on PATH and the libraries on LD_LIBRARY_PATH, once.

_qnn_self=
if [ -n "${BASH_VERSION:-}" ]; then
    _qnn_self=$(eval 'printf "%s" "${BASH_SOURCE[0]}"')
elif [ -n "${ZSH_VERSION:-}" ]; then
    _qnn_self=$(eval 'printf "%s" "${(%):-%x}"')
else
    # A plain shell does not tell a sourced file its name, but it holds the file open while it reads it. The inner shell
    # replaces the substitution's process, so its parent is the shell that reads this, also when that is a subshell.
    for _qnn_fd in /proc/"$(exec sh -c 'echo $PPID')"/fd/*; do
        _qnn_file=$(readlink "$_qnn_fd" 2>/dev/null) || continue
        case $_qnn_file in */envsetup.sh) _qnn_self=$_qnn_file ;; esac
    done
fi
_qnn_root=
[ -z "$_qnn_self" ] || _qnn_root=$(CDPATH='' cd -- "$(dirname -- "$_qnn_self")/.." >/dev/null 2>&1 && pwd -P) || _qnn_root=

if [ -n "$_qnn_root" ] && [ -d "$_qnn_root/include/QNN" ]; then
    export QNN_SDK_ROOT="$_qnn_root"
    export QAIRT_SDK_ROOT="$_qnn_root"
    case ":${PATH:-}:" in
    *":$_qnn_root/bin/x86_64-linux-clang:"*) ;;
    *) export PATH="$_qnn_root/bin/x86_64-linux-clang${PATH:+:$PATH}" ;;
    esac
    case ":${LD_LIBRARY_PATH:-}:" in
    *":$_qnn_root/lib/x86_64-linux-clang:"*) ;;
    *) export LD_LIBRARY_PATH="$_qnn_root/lib/x86_64-linux-clang${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" ;;
    esac
    unset _qnn_self _qnn_root _qnn_fd _qnn_file
else
    echo "envsetup.sh: cannot find the SDK tree it belongs to (seen \"${_qnn_self:-nothing}\"); source it as . <root>/bin/envsetup.sh" >&2
    unset _qnn_self _qnn_root _qnn_fd _qnn_file
    return 1 2>/dev/null || exit 1
fi
