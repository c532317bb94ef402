#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Compare a netlink-spec with the uapi header it describes.

spec_check.py SPEC HEADER: prints KTAP, one point for each thing that both
describe, and exits with 1 if any differs. The header is taken as the truth:
types are what its comments say, which is all that C lets an enum tell.
"""
import re
import sys

import yaml

FAMILY = "SWIFTRDMA_"
TYPES = ("u32", "u64", "s32", "s64", "string", "flag", "binary", "nest")


def c_name(prefix, name):
    return (prefix + name).upper().replace("-", "_")


class Header:
    def __init__(self, path):
        self.text = open(path, encoding="utf-8").read()
        self.defines = dict(re.findall(r'^#define (\w+)\s+"?([^"\s/]+)"?', self.text, re.M))
        self.enums = {}
        # The opening comment: which attributes repeat (""), or which enum a u32 is of.
        self.tree = {}
        for name, enum in re.findall(r"(\w+): (?:nest, repeated|u32\s+enum (swiftrdma_\w+))",
                                     self.text):
            self.tree.setdefault(name, []).append(enum)
        for name, body in re.findall(r"^enum (\w+) \{(.*?)^\};", self.text, re.S | re.M):
            self.enums[name] = self.entries(body)

    @staticmethod
    def entries(body):
        """(name, value, comment), in order, without the __..._MAX that ends it."""
        out, value = [], -1
        entry = r"^\t(\w+)(?:\s*=\s*([^,\n]+?))?,?[ \t]*(?:/\*(.*?)\*/)?$"
        for name, expr, comment in re.findall(entry, body, re.S | re.M):
            value = eval(expr, {"__builtins__": {}}) if expr else value + 1
            if not name.startswith("__"):
                out.append((name, value, " ".join(comment.replace("*", " ").split())))
        return out

    def attrs(self, enum):
        """(name, value, type, nested set, repeated) of an attribute enum."""
        out = []
        for name, value, comment in self.enums[enum]:
            kind = re.match(r"(\w+)", comment)
            kind = kind.group(1) if kind and kind.group(1) in TYPES else None
            if name.endswith("_UNSPEC"):
                kind = "unused"
            elif name.endswith("_PAD"):
                kind = "pad"
            nested = re.search(r"nest (\w+)", comment)
            out.append((name, value, kind, nested.group(1) if nested else None,
                        self.repeats(name, comment)))
        return out

    def repeats(self, name, comment):
        """Said at the attribute, or where the opening comment shows its tree."""
        return bool(re.search(r"\brepeated\b", comment)) or \
            any(not enum for enum in self.tree.get(name, []))

    def enum_of(self, name, comment):
        named = re.search(r"enum (swiftrdma_\w+)", comment)
        return named.group(1) if named else next(filter(None, self.tree.get(name, [])), None)


class Points:
    def __init__(self):
        self.n = self.failed = 0

    def point(self, what, differences):
        self.n += 1
        for line in differences:
            print("# " + line)
        self.failed += bool(differences)
        print(f"{'not ok' if differences else 'ok'} {self.n} - {what}")


def compare(spec, header):
    """Lists that should be equal, element by element."""
    out = [f"spec {s}, header {h}" for s, h in zip(spec, header) if s != h]
    out += [f"only in the spec: {s}" for s in spec[len(header):]]
    out += [f"only in the header: {h}" for h in header[len(spec):]]
    return out


def values(entries, prefix, flags=False):
    out, value = [], 0 if flags else -1
    for entry in entries:
        entry = {"name": entry} if isinstance(entry, str) else entry
        if flags:
            bit, value = entry.get("value", value), value + 1
            out.append((c_name(prefix, entry["name"]), 1 << bit))
        else:
            value = entry.get("value", value + 1)
            out.append((c_name(prefix, entry["name"]), value))
    return out


def check_family(points, spec, header):
    wrong = []
    for key, define in (("name", "GENL_NAME"), ("version", "GENL_VERSION")):
        if str(spec.get(key)) != header.defines.get(FAMILY + define):
            wrong.append(f"{key}: spec {spec.get(key)}, header {header.defines.get(FAMILY + define)}")
    for key, define in (("c-family-name", "GENL_NAME"), ("c-version-name", "GENL_VERSION")):
        if c_name("", spec.get(key, "")) != FAMILY + define:
            wrong.append(f"{key}: {spec.get(key)}")
    points.point("family name and version", wrong)
    groups = [g["name"] for g in spec["mcast-groups"]["list"]]
    points.point("multicast groups", compare(
        groups, [v for k, v in header.defines.items() if "_MCGRP_" in k]))


def check_definitions(points, spec, header, covered):
    consts = {c_name(d["name-prefix"], d["name"]): str(d["value"])
              for d in spec["definitions"] if d["type"] == "const"}
    wanted = {k: v for k, v in header.defines.items()
              if v.isdigit() and "GENL" not in k}
    points.point("constants", compare(sorted(consts.items()), sorted(wanted.items())))
    for d in spec["definitions"]:
        if d["type"] == "const":
            continue
        enum = c_name("", d["enum-name"]).lower()
        covered.add(enum)
        points.point("enum " + enum, compare(
            values(d["entries"], d["name-prefix"], d["type"] == "flags"),
            [e[:2] for e in header.enums.get(enum, [])]))


def check_attributes(points, spec, header, covered):
    enum_of = {s["name"]: c_name("", s["enum-name"]).lower() for s in spec["attribute-sets"]}
    defined = {d["name"]: d for d in spec["definitions"]}
    for s in spec["attribute-sets"]:
        enum, value, got, wrong = enum_of[s["name"]], -1, [], []
        covered.add(enum)
        for a in s["attributes"]:
            value = a.get("value", value + 1)
            nested = a.get("nested-attributes")
            got.append((c_name(s["name-prefix"], a["name"]), value, a["type"],
                        enum_of.get(nested, nested), a.get("multi-attr", False)))
            if "enum" in a and a["enum"] not in defined:
                wrong.append(f"{a['name']}: no definition {a['enum']}")
            if a.get("enum-as-flags", False) != \
                    (defined.get(a.get("enum"), {}).get("type") == "flags"):
                wrong.append(f"{a['name']}: enum-as-flags does not go with {a.get('enum')}")
        for name, _, comment in header.enums.get(enum, []):
            named = header.enum_of(name, comment)
            attr = [a for a in s["attributes"] if c_name(s["name-prefix"], a["name"]) == name]
            definition = defined.get(attr[0].get("enum"), {}) if attr else {}
            has = c_name("", definition.get("enum-name", "")).lower()
            if named and named != has:
                wrong.append(f"{name}: enum {has or 'none'}, header {named}")
        want = header.attrs(enum) if enum in header.enums else []
        points.point("attributes of " + enum, compare(got, want) + wrong)


def check_commands(points, spec, header, covered):
    ops, value, got, wrong = spec["operations"], -1, [], []
    names = {a["name"] for s in spec["attribute-sets"] if s["name"] == "swiftrdma"
             for a in s["attributes"]}
    enum = c_name("", ops["enum-name"]).lower()
    covered.add(enum)
    for op in ops["list"]:
        value = op.get("value", value + 1)
        got.append((c_name(ops["name-prefix"], op["name"]), value))
        event = op["name"].endswith("-ntf")
        if event != ("event" in op) or event != ("mcgrp" in op):
            wrong.append(f"{op['name']}: an event has event and mcgrp, a command neither")
        if not event and op["name"] != "unspec" and not {"do", "dump"} & op.keys():
            wrong.append(f"{op['name']}: neither do nor dump")
        for kind in ("do", "dump", "event"):
            part = op.get(kind, {})
            for attrs in (part, part.get("request", {}), part.get("reply", {})):
                for a in attrs.get("attributes", []):
                    if a not in names:
                        wrong.append(f"{op['name']}: no attribute {a}")
    points.point("commands and events", compare(got, [e[:2] for e in header.enums[enum]]) + wrong)


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        spec = yaml.safe_load(f)
    header = Header(sys.argv[2])
    points, covered = Points(), set()

    print("TAP version 13")
    check_family(points, spec, header)
    check_definitions(points, spec, header, covered)
    check_attributes(points, spec, header, covered)
    check_commands(points, spec, header, covered)
    points.point("every enum of the header is in the spec",
                 sorted(set(header.enums) - covered))
    print(f"1..{points.n}")
    return 1 if points.failed else 0


if __name__ == "__main__":
    sys.exit(main())
