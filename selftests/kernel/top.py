#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""swiftrdma top on a terminal that this is: what is on its screen is judged.

Points are printed as "ok - NAME". Each waits for what is to be seen, as long as
it takes; a run in which it never comes ends after LIMIT seconds.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

import pyte

LIMIT = 120
failed = False


def point(good, name):
    global failed
    print(f"{'ok' if good else 'not ok'} - {name}", flush=True)
    failed = failed or not good


class Top:
    """The program, and the terminal it draws on."""

    def __init__(self, *words, term="linux", lines=24, columns=80):
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.sent = b""
        self.status = None
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.environ["TERM"] = term
            os.environ.pop("NO_COLOR", None)
            # What it leaves behind is looked at: no shell, no login.
            self_size(1, lines, columns)
            os.execvp("swiftrdma", ["swiftrdma", *words])
        self.size(lines, columns)

    def size(self, lines, columns):
        self.screen.resize(lines, columns)
        self_size(self.fd, lines, columns)

    def read(self, seconds):
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        if not data:
            if self.status is None:
                self.status = os.waitpid(self.pid, 0)[1]
            return False
        self.sent += data
        self.stream.feed(data)
        return True

    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def until(self, what, is_so):
        """Until the screen is so. False: the program ended, or LIMIT."""
        end = time.monotonic() + LIMIT
        while not is_so():
            self.read(1)
            if self.status is not None or time.monotonic() > end:
                print(f"# wanted: {what}, got:")
                print("\n".join("#   " + l for l in self.text().splitlines()))
                return False
        return True

    def sees(self, pattern):
        return self.until(f"/{pattern}/", lambda: re.search(pattern, self.text(), re.M))

    def press(self, keys):
        os.write(self.fd, keys.encode())

    def ends(self):
        """Its status, once it ended and all it wrote was read."""
        end = time.monotonic() + LIMIT
        while self.status is None and time.monotonic() < end:
            self.read(1)
        return self.status

    def is_clean(self):
        """The terminal's modes are what they were: lines, echo, and a cursor."""
        tail = self.sent[-400:]
        return b"\033[?25h" in tail or b"\033[?25" not in self.sent


def self_size(fd, lines, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))


def modes(fd):
    return termios.tcgetattr(fd)[3] & (termios.ECHO | termios.ICANON)


def views():
    top = Top("top", "interval", "200ms")
    point(top.sees(r"^swiftrdma top \d\d:\d\d:\d\d  devices 2, "), "top draws its title")
    point(top.sees(r"^\[1 UARs\] 2 QPs  3 Jobs  4 Ports") and
          top.sees(r"^DEV +UAR +KIND .*\n(?s:.*)^rxe0 +\d+ +context +\d+"),
          "... and the UARs of the devices")
    point(top.sees(r"^rxe0 +\d+ +context +\d+ +\d+ .* [1-9]\d*(\.\d+)?k?/s "),
          "... with rates, once there are two readings")
    point(top.screen.cursor.hidden, "... without a cursor")
    top.press("2")
    point(top.sees(r"^ 1 UARs \[2 QPs\]") and top.sees(r"^rxe\d +\d+ +RC +RTS +.*\bcrowd"),
          "2 shows QPs")
    top.press("/rxe1\r")
    # The title comes first, and what is read may end behind it.
    point(top.sees(r"filter: rxe1 \(\d+ of \d+\)") and top.sees(r"^rxe1 ") and
          top.until("no rxe0", lambda: not re.search(r"^rxe0 ", top.text(), re.M)),
          "/ filters them")
    top.press("\033")
    point(top.sees(r"^rxe0 "), "Escape shows all again")
    top.press("3")
    point(top.sees(r"^JOB +CLASS") and top.sees(r"^kv +latency +[1-9]"), "3 shows jobs")
    top.press("\r")
    point(top.sees(r"filter: job=kv \([1-9]"), "Enter goes to the QPs of one")
    top.press("4")
    point(top.sees(r"^rxe1 +1 +ACTIVE +ethernet"), "4 shows ports")
    top.press("h")
    point(top.sees(r"^ q +quit$"), "h shows the keys")
    top.press("x1s0.3\r")
    point(top.sees(r"every 0\.3 s"), "s sets the interval")
    return top


def fits(top, lines, columns):
    """Title in the first line, keys in the last, cut where the screen ends."""
    first, last = top.screen.display[0], top.screen.display[lines - 1]
    return first.startswith("swiftrdma top ") and last.startswith("q quit  h help") and \
        (columns < 80 or last.rstrip().endswith("p pause"))


def sizes(top):
    for lines, columns in ((12, 50), (50, 160), (3, 20), (24, 80)):
        top.size(lines, columns)
        if not top.until(f"{lines}x{columns}", lambda: fits(top, lines, columns)):
            return False
    return True


def calm(top):
    """A reading later only what changed was sent: that is what flicker is not."""
    top.press("4")
    if not top.sees(r"^\[?.*\[4 Ports\]"):
        return False
    before = len(top.sent)
    clock = top.screen.display[0][14:22]
    if not top.sees(r"^swiftrdma top (?!" + clock + ")"):
        return False
    sent = top.sent[before:]
    print(f"# {len(sent)} bytes for a reading")
    return b"\033[2J" not in sent and b"\033[H\033[J" not in sent and len(sent) < 1200


def ends(top, how, name):
    was = modes(top.fd)
    if isinstance(how, str):
        top.press(how)
    else:
        os.kill(top.pid, how)
    status = top.ends()
    if how in ("q", "\003"):
        right = status is not None and os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0
    else:
        right = status is not None and os.WIFSIGNALED(status) and os.WTERMSIG(status) == how
    if not right:
        print(f"# status {status}")
    point(right and top.is_clean() and not was and
          modes(top.fd) == termios.ECHO | termios.ICANON, name)


def main():
    top = views()
    point(sizes(top), "it fits every size the terminal takes")
    point(calm(top), "a new reading is drawn without clearing the screen")
    os.kill(top.pid, signal.SIGSTOP)
    top.press("1")
    os.kill(top.pid, signal.SIGCONT)
    point(top.sees(r"^\[1 UARs\]"), "it goes on after having been stopped")
    ends(top, "q", "q ends it, and the terminal is as it was")
    for how, name in (("\003", "^C"), (signal.SIGTERM, "SIGTERM"), (signal.SIGHUP, "SIGHUP"),
                      (signal.SIGQUIT, "SIGQUIT")):
        top = Top("top")
        if not top.sees(r"^\[1 UARs\]"):
            point(False, f"top before {name}")
            continue
        ends(top, how, f"... and so does {name}")
    top = Top("top", term="no-such-terminal")
    status = top.ends()
    point(status is not None and os.WEXITSTATUS(status) == 1 and b"--batch" in top.sent,
          "a terminal it does not know is refused, with what to do")
    return failed


if __name__ == "__main__":
    sys.exit(main())
