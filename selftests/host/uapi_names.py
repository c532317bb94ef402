#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The names and numbers of the netlink contract, and whether they only grow.

uapi_names.py HEADER: prints the list: a line for each command, attribute and enum
value of the uapi header, with its number and, of an attribute, its type.
uapi_names.py HEADER OLDER: exits with 1 if a line of the list OLDER is not in the
header's list any more, and prints these lines.
"""
import sys

from spec_check import Header


def names(header):
    """Unused entries are in the list, too: their numbers are taken."""
    for name, value in header.defines.items():
        if "_GENL_" in name or "_MCGRP_" in name:
            yield f"{name} {value}"
    for enum in header.enums:
        kinds = {name: (kind, nested) for name, _, kind, nested, _ in header.attrs(enum)}
        for name, value, _ in header.enums[enum]:
            kind, nested = kinds[name] if enum.endswith("_attr") else (None, None)
            yield " ".join(str(word) for word in (name, value, kind, nested) if word is not None)


def main():
    now = list(names(Header(sys.argv[1])))
    if len(sys.argv) < 3:
        print("\n".join(now))
        return 0
    with open(sys.argv[2], encoding="utf-8") as f:
        older = [line.strip() for line in f if line.strip() and not line.startswith("#")]
    gone = [line for line in older if line not in now]
    for line in gone:
        print(f"gone or changed: {line}")
    return 1 if gone or not older else 0


if __name__ == "__main__":
    sys.exit(main())
