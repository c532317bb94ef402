#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""zsh_complete.py DIR LINE: the line that zsh makes of LINE when Tab is pressed, with
completion functions of DIR. zsh completes on a terminal only, so this is one."""
import os
import pty
import select
import sys

LIMIT = 30      # s
# Typed earlier, keys would be lost: zsh reads the terminal, and asks it to mark what is pasted.
READS = b"\x1b[?2004h"


unread = b""


def expect(fd, what):
    """Reads up to WHAT. Returns what came before it."""
    global unread
    while what not in unread:
        if not select.select([fd], [], [], LIMIT)[0]:
            sys.exit(f"zsh does not answer; it said {unread!r}")
        unread += os.read(fd, 4096)
    before, unread = unread.split(what, 1)
    return before


pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "dumb"
    os.execvp("zsh", ["zsh", "-f", "-i"])
# In the commands the marks are in two parts, because the terminal echoes the commands.
setup = f"""\
unsetopt prompt_sp; fpath=({sys.argv[1]} $fpath); autoload -Uz compinit; compinit -u -D
show() {{ print -rn -- "<"'line:'"$BUFFER""<"'end>'; BUFFER=; zle accept-line }}
zle -N show; bindkey '^X' show; PS1="<"'ready>'
"""
expect(fd, READS)
os.write(fd, setup.encode())
expect(fd, b"<ready>" + READS)
os.write(fd, sys.argv[2].encode() + b"\t")
os.write(fd, b"\x18")
expect(fd, b"<line:")
print(expect(fd, b"<end>").decode())
os.close(fd)
