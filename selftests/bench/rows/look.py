#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Rows on stdin, passed on as they come, each through a JSON parser. Exit status 0: all
are JSON, none is void, and none missed its goal."""
import json
import sys


def no_number(word):
    raise ValueError(f"{word} is no number")


def problem(line):
    try:
        row = json.loads(line, parse_constant=no_number)
    except ValueError as error:
        return f"no JSON, {error}: {line}"
    if "void" in row:
        return f"{row['bench']} is void: {row['void']}"
    if row.get("ok") is False:
        return f"{row['bench']} missed its goal, {row['goal']}: {row['value']}"
    return None


bad = False
for line in map(str.rstrip, sys.stdin):
    print(line, flush=True)
    said = None if not line or line.startswith("#") else problem(line)
    if said:
        print(f"# {said}", file=sys.stderr, flush=True)
        bad = True
sys.exit(bad)
