"""Files made by hand to deceive a reader: each case writes some into a folder, and says what is to be read and what the
error is to say. None may run anything, load a part, or need much memory.

Read as a script this is a process that reads them: requests and answers are lines of JSON.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import signal
import struct
import sys
import tarfile
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kshell.errors import QError
from kshell.session import Session
from kshell.store.archive import head
from kshell.store.snapshot import Encoder
from tests.support.damage import STATE, WHOLE, Run, memory, peak_from_here, reading, size_of

Members = dict[str, bytes]
MADE: Members = {}


class Case(NamedTuple):
    """What writes the files, the name of what is read, and what the error says; OPENS if it may be read."""

    write: Callable[[Path], Any]
    name: str
    error: str


CASES: dict[str, Case] = {}
OPENS = ""  # objects of unknown classes are shown, and are not made


def case(name: str, error: str) -> Callable[[Callable[[Path], Any]], Callable[[Path], Any]]:
    """The case of a function that writes `name` into a folder."""

    def add(fn: Callable[[Path], Any]) -> Callable[[Path], Any]:
        CASES[fn.__name__] = Case(fn, name, error)
        return fn

    return add


def stored(members: Sequence[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> bytes:
    """A zip of these members, with right checksums."""
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", method) as z:
        warnings.simplefilter("ignore")  # a name that is there twice
        for name, data in members:
            z.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()


# ------------------------------------------------------------------ snapshots


def snapshot() -> Members:
    """The members of a good snapshot, made once."""
    if not MADE:
        MADE.update(_make())
    return dict(MADE)


def _make() -> Members:
    with tempfile.TemporaryDirectory() as folder:
        s = Session(out=io.StringIO())
        s.run(WHOLE)
        s.run(f"l:1 2 3f;snapshot`:{folder}/a.ks")
        with zipfile.ZipFile(f"{folder}/a.ks") as z:
            return {i: z.read(i) for i in z.namelist()}


def ks(name: str, error: str, **arrays: bytes) -> Callable[[Callable[[dict[str, Any]], Any]], None]:
    """A case of a snapshot with its manifest changed by a function, with right checksums."""

    def add(change: Callable[[dict[str, Any]], Any]) -> None:
        def write(folder: Path) -> None:
            held = snapshot()
            manifest = json.loads(held["manifest.json"])
            found = change(manifest)
            held["manifest.json"] = json.dumps(manifest if found is None else found).encode()
            held |= {f"arrays/{k[1:]}.npy": v for k, v in arrays.items()}
            (folder / "a.ks").write_bytes(stored(list(held.items())))

        CASES[name] = Case(write, "a.ks", error)

    return add


def npy(text: str, data: bytes = b"") -> bytes:
    """A .npy file with that text as its head."""
    head = text.encode().ljust(118 - len(text) % 64 if len(text) > 117 else 117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


def place(m: dict[str, Any], name: str) -> int:
    """The number of the array of variable `name`."""
    return m["spaces"]["."][name][-1]


EVIL = pickle.dumps(Run(os.system, "touch ran"), 2)


@case("a.ks", "arrays are missing")
def ks_member_with_a_pickle(folder: Path) -> None:
    (folder / "a.ks").write_bytes(stored([*snapshot().items(), ("data.pkl", EVIL)]))


@case("a.ks", "damaged: 'arrays/0.npy'")
def ks_member_that_leaves_the_folder(folder: Path) -> None:
    held = [(k if k != "arrays/0.npy" else "../../arrays/0.npy", v) for k, v in snapshot().items()]
    (folder / "a.ks").write_bytes(stored(held))


@case("a.ks", "is there twice")
def ks_member_twice(folder: Path) -> None:
    held = list(snapshot().items())
    (folder / "a.ks").write_bytes(stored([*held, held[-1]]))


@case("a.ks", "is compressed")
def ks_zip_bomb(folder: Path) -> None:
    held = {**snapshot(), "manifest.json": b"[" + b" " * (100 << 20) + b"]"}
    (folder / "a.ks").write_bytes(stored(list(held.items()), zipfile.ZIP_DEFLATED))


@case("a.ks", "out of bounds|wrong head")
def ks_overlapping_members(folder: Path) -> None:
    """All entries of the directory lead to one member."""
    data = bytearray(stored([("a", b"x" * 1000), *((f"{i}", b"") for i in range(1000))]))
    at = data.index(b"PK\1\2")
    while data[at : at + 4] == b"PK\1\2":
        struct.pack_into("<I", data, at + 42, 0)
        struct.pack_into("<II", data, at + 20, 1000, 1000)
        at += 46 + struct.unpack_from("<H", data, at + 28)[0]
    (folder / "a.ks").write_bytes(data)


@case("a.ks", "out of bounds|out of place|damaged")
def ks_huge_declared_size(folder: Path) -> None:
    data = bytearray(stored(list(snapshot().items())))
    at = data.index(b"PK\1\2")
    struct.pack_into("<II", data, at + 20, 0xFFFFFFF0, 0xFFFFFFF0)
    (folder / "a.ks").write_bytes(data)


@case("a.ks", "out of place|not that of a zip|missing")
def ks_two_ends(folder: Path) -> None:
    """Another zip in the comment of the first: which directory counts?"""
    data = bytearray(stored(list(snapshot().items())))
    other = stored([("manifest.json", b"{}")])
    struct.pack_into("<H", data, len(data) - 2, len(other))
    (folder / "a.ks").write_bytes(bytes(data) + other)


@case("a.ks", "out of place")
def ks_directory_of_millions(folder: Path) -> None:
    one = struct.pack("<4s4xHHHHIIIHHHHHII", b"PK\1\2", 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    n = 1_000_000
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    end64 = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, n, n, n * len(one), 4)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, 4 + n * len(one), 1)
    (folder / "a.ks").write_bytes(b"PK\3\4" + one * n + end64 + locator + end)


@case("a.ks", "is refused.* memory")
def ks_manifest_of_lists(folder: Path) -> None:
    """4 MB of text that would be 250 MB of empty lists."""
    (folder / "a.ks").write_bytes(stored([("manifest.json", b"[" + b"[]," * (4 << 20) + b"[]]")]))


@case("a.ks", "is refused.* memory")
def ks_deep_manifest(folder: Path) -> None:
    (folder / "a.ks").write_bytes(stored([("manifest.json", b"[" * 3_000_000)]))


@case("a.ks", "is refused.* memory")
def ks_wide_text(folder: Path) -> None:
    """20 MB of text whose last character makes each of them need 4 bytes."""
    m = {**json.loads(snapshot()["manifest.json"]), "zz": "a" * 20_000_000 + "\U0001F600"}
    (folder / "a.ks").write_bytes(stored([("manifest.json", json.dumps(m, ensure_ascii=False).encode())]))


def ks_array(name: str, data: bytes) -> None:
    """A case of a snapshot with a variable that is kdb+'s form of a value in an array of bytes."""
    def write(folder: Path) -> None:
        held = snapshot()
        m = json.loads(held["manifest.json"])
        n = len(m["arrays"])
        m["arrays"].append(["|u1", [len(data)]])
        m["spaces"]["."]["zz"] = ["Q", n]
        held = {**held, "manifest.json": json.dumps(m).encode(), f"arrays/{n}.npy": head("|u1", [len(data)]) + data}
        (folder / "a.ks").write_bytes(stored([*held.items()]))

    CASES[name] = Case(write, "a.ks", "is refused.* memory")


ks_array("ks_list_of_empty_lists", b"\0\0" + struct.pack("<i", 1_000_000) + bytes(6_000_000))
ks_array("ks_list_of_functions", b"\0\0" + struct.pack("<i", 20_000) + b"\x64\0\x0a\0\5\0\0\0{x+1}" * 20_000)
ks_array("ks_millions_of_symbols", b"\x0b\0" + struct.pack("<i", 1_000_000) + b"".join(
    b"zz%d\0" % i for i in range(1_000_000)))


@ks("ks_many_tensors", "is refused.* memory")
def _tensors(m: dict[str, Any]) -> None:
    o = m["objects"]
    first, n = len(o["tensor"]), 40_000
    o["tensor"] += [o["tensor"][0]] * n
    o["handle"] += [{"kind": "vector", "obj": list(range(first, first + n))}]
    m["spaces"]["."]["zz"] = ["h", len(o["handle"]) - 1]


@ks("ks_many_modules", "is refused.* memory")
def _modules(m: dict[str, Any]) -> None:
    o = m["objects"]
    o["module"] += [{"type": "relu", "name": "", "owner": None, "training": True, "recompute": False, "parms": [],
                     "buffers": [], "children": []}] * 10_000


@case("a.ks", "is damaged")
def ks_manifest_that_is_no_text(folder: Path) -> None:
    (folder / "a.ks").write_bytes(stored([("manifest.json", b'{"format":"kshell snapshot","\xff\xfe":1}')]))


@case("a.ks", "is there twice")
def ks_manifest_with_a_name_twice(folder: Path) -> None:
    held = snapshot()
    held["manifest.json"] = held["manifest.json"][:-1] + b',"version":1}'
    (folder / "a.ks").write_bytes(stored(list(held.items())))


@case("a.ks", "links|symbolic")
def ks_link_to_itself(folder: Path) -> None:
    (folder / "a.ks").symlink_to(folder / "a.ks")


@case("a.ks", "no file|not a snapshot")
def ks_pipe(folder: Path) -> None:
    os.mkfifo(folder / "a.ks")


@ks("ks_objects_of_numpy", "wrong type", _0=npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", EVIL))
def _objects(m: dict[str, Any]) -> None:
    m["arrays"][0] = ["|O", [1]]


@ks("ks_code_in_a_head", "wrong (head|length)",
    _0=npy("{'descr': __import__('os').system('touch ran'), 'fortran_order': False, 'shape': (1,), }", b"\0" * 8))
def _code(m: dict[str, Any]) -> None:
    m["spaces"] = {".": {"a": ["v", 7, "", 0]}}
    m["arrays"][0] = ["<i8", [1]]


@ks("ks_type_with_code", "is damaged")
def _descr(m: dict[str, Any]) -> None:
    m["arrays"][place(m, "a")] = ["__import__('os').system('touch ran')", [1]]


@ks("ks_huge_shape", "wrong length")
def _huge(m: dict[str, Any]) -> None:
    m["arrays"][place(m, "a")][1] = [1 << 40]


@ks("ks_shape_that_overflows", "wrong length")
def _overflow(m: dict[str, Any]) -> None:
    m["arrays"][place(m, "a")][1] = [1 << 32, 1 << 32, 50]


@ks("ks_negative_shape", "wrong type")
def _negative(m: dict[str, Any]) -> None:
    m["arrays"][place(m, "a")][1] = [-1, -50]


@ks("ks_wrong_type_of_items", "wrong (type|head)")
def _other(m: dict[str, Any]) -> None:
    m["arrays"][place(m, "a")][0] = "<f8"


@ks("ks_wrong_length_of_items", "wrong (length|head)")
def _narrow(m: dict[str, Any]) -> None:
    m["arrays"][place(m, "a")][0] = "<i4"


@ks("ks_array_twice", "is not there")
def _twice(m: dict[str, Any]) -> None:
    m["spaces"]["."]["b"] = m["spaces"]["."]["a"]


@ks("ks_array_that_is_missing", "is damaged")
def _missing(m: dict[str, Any]) -> None:
    m["spaces"]["."]["a"][-1] = len(m["arrays"])


@ks("ks_tensor_past_its_memory", "out of bounds")
def _past(m: dict[str, Any]) -> None:
    m["objects"]["tensor"][0]["offset"] = 1 << 40


@ks("ks_tensor_with_negative_strides", "wrong tensor")
def _strides(m: dict[str, Any]) -> None:
    m["objects"]["tensor"][0]["stride"] = [-1] * len(m["objects"]["tensor"][0]["stride"])


@ks("ks_gradient_of_itself", "part of itself")
def _gradient(m: dict[str, Any]) -> None:
    m["objects"]["tensor"][0]["gradient"] = 0


@ks("ks_module_of_itself", "is damaged")
def _cycle(m: dict[str, Any]) -> None:
    for rec in m["objects"]["module"]:
        rec["children"] = [["0", 0]]


@ks("ks_modules_that_own_one_another", "is damaged")
def _owner(m: dict[str, Any]) -> None:
    found = m["objects"]["module"]
    for i, rec in enumerate(found):
        rec["owner"] = (i + 1) % len(found)


@ks("ks_class_by_its_name", "is damaged")
def _class(m: dict[str, Any]) -> None:
    m["objects"]["module"][1]["type"] = "os.system"


def options(text: str) -> Callable[[dict[str, Any]], None]:
    """Options in q for module 1 of a snapshot."""

    def change(m: dict[str, Any]) -> None:
        m["objects"]["module"][1] |= {"type": text.split()[0], "children": [], "owner": None}
        m["objects"]["module"][1]["options"] = Encoder()._coded(Session().run(text.split(" ", 1)[1]))

    return change


ks("ks_huge_module", "larger than the file|is damaged")(options("linear `in`out!30000 30000"))
ks("ks_huge_batchnorm", "larger than the file|is damaged")(options("batchnorm1d (enlist`in)!enlist 1000000000"))
ks("ks_module_of_millions", "more than the file|is damaged")(
    options("transformer `in`heads`elayers`dlayers`dim!8 2 10000000 1 4"))
ks("ks_recurrent_module_of_millions", "more than the file|larger|is damaged")(
    options("lstm `in`out`layers!1 1 100000000"))


@ks("ks_function_that_is_code", "damaged")
def _function(m: dict[str, Any]) -> None:
    m["spaces"]["."]["f"] = ["f", 'system"touch ran"', "."]


@ks("ks_view_that_is_code", "damaged")
def _view(m: dict[str, Any]) -> None:
    m["views"] = {"v": '1\nsystem"touch ran"'}


@ks("ks_builtins", "wrong name")
def _builtins(m: dict[str, Any]) -> None:
    m["spaces"]["."]["__builtins__"] = ["hole"]


@ks("ks_a_helper_of_the_compiler", "wrong name")
def _helper(m: dict[str, Any]) -> None:
    m["spaces"]["."]["_get"] = ["hole"]


@ks("ks_namespaces_without_end", "wrong namespace")
def _spaces(m: dict[str, Any]) -> None:
    m["spaces"][".a" * 20000] = {}


@ks("ks_settings_of_another_kind", "wrong")
def _settings(m: dict[str, Any]) -> None:
    m["session"]["settings"]["c"] = ["a", {}]


@ks("ks_state_of_another_kind", "is damaged")
def _state(m: dict[str, Any]) -> None:
    m["session"]["kapi"] = [1]


@ks("ks_wrong_state_of_random_numbers", "is damaged")
def _random(m: dict[str, Any]) -> None:
    m["random"] = ["d", ["q", "/wEAAAAAAABxAA=="], ["l", [["q", "/wQAAgAAAAEC"]], ""], ""]


@ks("ks_newer", "version 99 of the format")
def _newer(m: dict[str, Any]) -> None:
    m["version"] = 99


@ks("ks_booleans_of_two", "wrong type", _0=npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", b"\2\2"))
def _booleans(m: dict[str, Any]) -> None:
    m["spaces"] = {".": {"a": ["v", 1, "", 0]}}
    m["arrays"][0] = ["|b1", [2]]


@ks("ks_symbols_past_the_last", "damaged")
def _symbols(m: dict[str, Any]) -> None:
    m["spaces"] = {".": {"a": ["s", "", 0, ["q", "/wEAAAAAAABxAA=="]]}}
    m["arrays"][0] = ["<i4", [1]]


# ------------------------------------------------------------------ .pt


def pt(name: str, error: str, data: bytes, storages: Members | None = None, more: Members | None = None) -> None:
    """A case of a .pt file with this pickle, memory and other members, with right checksums."""
    held = {"archive/data.pkl": data, "archive/byteorder": b"little"}
    held |= {f"archive/data/{k}": v for k, v in (storages or {}).items()} | (more or {})
    CASES[name] = Case(lambda folder: (folder / "a.pt").write_bytes(stored(list(held.items()))), "a.pt", error)


def named(name: str) -> bytes:
    module, _, last = name.rpartition(".")
    return f"c{module}\n{last}\n".encode()


def text(s: str) -> bytes:
    return b"X" + struct.pack("<I", len(s.encode())) + s.encode()


def whole(n: int) -> bytes:
    data = n.to_bytes(16, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


def many(*items: bytes) -> bytes:
    return b"(" + b"".join(items) + b"t"


def call(name: str, *args: bytes) -> bytes:
    return named(name) + many(*args) + b"R"


def storage(key: str, n: int, kind: str = "FloatStorage") -> bytes:
    return many(text("storage"), named(f"torch.{kind}"), text(key), text("cpu"), whole(n)) + b"Q"


def tensor(held: bytes, offset: int, shape: Sequence[int], stride: Sequence[int], grad: bytes = b"\x89") -> bytes:
    return call("torch._utils._rebuild_tensor_v2", held, whole(offset), many(*map(whole, shape)),
                many(*map(whole, stride)), grad, call("collections.OrderedDict"))


def pickled(*parts: bytes) -> bytes:
    return b"\x80\2" + b"".join(parts) + b"."


F2 = struct.pack("<2f", 1, 2)
GOOD = tensor(storage("0", 2), 0, [2], [1])

pt("pt_runs_a_command", OPENS, pickled(call("posix.system", text("touch ran"))))
pt("pt_evaluates", OPENS, pickled(call("__builtin__.eval", text("open('ran', 'w')"))))
pt("pt_executes", OPENS, pickled(call("builtins.exec", text("open('ran', 'w')"))))
pt("pt_hub", OPENS, pickled(call("torch.hub.load", text("a/b"), text("c"))))
pt("pt_load_in_a_load", OPENS, pickled(call("torch.load", text("b.pt"))))
pt("pt_attribute_of_a_module", OPENS, pickled(call("builtins.getattr", named("torch._utils._rebuild_tensor_v2"),
                                                  text("__globals__"))))
pt("pt_attribute_behind_a_dot", OPENS, pickled(named("torch._C._jit_clear_class_registry")[:-1] + b".x\n"))
pt("pt_by_the_name_on_the_stack", OPENS, pickled(text("os"), text("system"), b"\x93", many(text("touch ran")), b"R"))
pt("pt_object_of_a_class", OPENS, pickled(named("subprocess.Popen"), many(text("touch ran")), b"\x81"))
pt("pt_instance", OPENS, pickled(b"(" + text("touch ran") + b"ios\nsystem\n"))
pt("pt_extension", OPENS, pickled(b"\x82\1"))
pt("pt_storage_that_is_called", OPENS, pickled(call("torch.FloatStorage", whole(10**10))))
pt("pt_tensor_that_is_called", OPENS, pickled(call("torch.Tensor", whole(10**10))))
pt("pt_bytes_by_their_number", OPENS, pickled(call("builtins.bytearray", whole(10**11))))
pt("pt_numpy", OPENS, pickled(call("numpy.core.multiarray._reconstruct", text("x"))))
pt("pt_state_of_a_tensor", OPENS, pickled(GOOD, many(storage("0", 2), whole(0)), b"b"), {"0": F2})
pt("pt_method_by_an_attribute", OPENS, pickled(call("torch._tensor._rebuild_from_type_v2", named(
    "torch._utils._rebuild_tensor_v2"), named("torch.Tensor"), many(storage("0", 2), whole(0), many(whole(2)), many(
        whole(1)), b"\x89", b"}"), b"}" + text("numel") + whole(1) + b"s")), {"0": F2})
pt("pt_object_kept_elsewhere", OPENS, pickled(text("os.system"), b"Q"))
pt("pt_module_kept_elsewhere", OPENS, pickled(many(text("module"), named("torch.FloatStorage"), text("0"), text("cpu"), whole(
    2)), b"Q"), {"0": F2})
pt("pt_id_in_a_line", OPENS, pickled(b"P0\n"))
pt("pt_memory_outside_the_file", "is not there", pickled(tensor(storage("../../../etc/passwd", 2), 0, [2], [1])))
pt("pt_memory_of_another_length", "wrong length", pickled(tensor(storage("0", 1 << 40), 0, [2], [1])), {"0": F2})
pt("pt_memory_of_two_lengths", "wrong length", pickled(many(GOOD, tensor(storage("0", 1), 0, [1], [1]))), {"0": F2})
pt("pt_tensor_past_its_memory", "out of bounds", pickled(tensor(storage("0", 2), 0, [1 << 30], [1])), {"0": F2})
pt("pt_tensor_by_a_wide_stride", "out of bounds", pickled(tensor(storage("0", 2), 0, [2], [1 << 62])), {"0": F2})
pt("pt_tensor_before_its_memory", "wrong tensor", pickled(tensor(storage("0", 2), 1, [2], [-1])), {"0": F2})
pt("pt_tensor_of_negative_size", "wrong tensor", pickled(tensor(storage("0", 2), 0, [-2], [1])), {"0": F2})
pt("pt_size_that_overflows", "is damaged", pickled(tensor(storage("0", 2), 0, [0, 1 << 100], [1, 1])), {"0": F2})
pt("pt_booleans_of_two", "wrong booleans", pickled(tensor(storage("0", 2, "BoolStorage"), 0, [2], [1])), {"0": b"\2\2"})
pt("pt_gradient_of_whole_numbers", OPENS, pickled(tensor(storage("0", 1, "LongStorage"), 0, [1], [1], b"\x88")),
   {"0": bytes(8)})
pt("pt_sparse_past_its_size", "is damaged", pickled(call(
    "torch._utils._rebuild_sparse_tensor", call("torch.serialization._get_layout", text("torch.sparse_coo")), many(
        tensor(storage("1", 1, "LongStorage"), 0, [1, 1], [1, 1]), tensor(storage("0", 2), 0, [1], [1]), many(whole(1))))),
   {"0": F2, "1": struct.pack("<q", 1000)})
pt("pt_other_machine", "unknown order", pickled(GOOD), {"0": F2}, {"archive/byteorder": b"middle"})
pt("pt_two_pickles", "two of data.pkl", pickled(GOOD), {"0": F2}, {"other/data.pkl": pickled(b"N")})
pt("pt_program", OPENS, pickled(GOOD), {"0": F2}, {"archive/constants.pkl": pickled(b"N")})
pt("pt_text_after_the_end", "end where it should", pickled(b"N") + EVIL)
pt("pt_text_that_is_no_text", "is damaged", pickled(b"X\2\0\0\0\xff\xfe"))
pt("pt_text_past_the_end", "cut off", pickled(b"X\xff\xff\xff\x7fabc"))
pt("pt_bytes_past_the_end", "cut off", pickled(b"\x8e" + struct.pack("<Q", 1 << 62)))
pt("pt_list_of_itself", "limit", pickled(b"]q\0h\0a"))
pt("pt_laughs", "limit|memory", pickled(b"(]q\0", *(b"](" + (b"h" + bytes([i])) * 10 + b"eq" + bytes(
    [i + 1]) for i in range(12)), b"t"))
pt("pt_bytes_made_again", "is refused.* memory", pickled(
    b"](X" + struct.pack("<I", 100_000) + b"a" * 100_000 + text("latin1") + b"\x86q\1" + named("_codecs.encode") + b"q\2",
    b"h\2h\1R" * 3_000 + b"e"))
pt("pt_dictionaries_made_again", "is refused.* memory", pickled(
    b"]((](" + b"".join(b"M" + struct.pack("<H", i) + b"N\x86" for i in range(5_000)) + b"etq\1" + named(
        "collections.OrderedDict") + b"q\2", b"h\2h\1R" * 3_000 + b"e"))
pt("pt_tensors_again", "is refused.* memory", pickled(
    b"](" + named("torch._utils._rebuild_tensor_v2") + b"q\2" + tensor(storage("0", 2), 0, [2], [1])[
        len(named("torch._utils._rebuild_tensor_v2")):-1] + b"q\3", b"h\2h\3R" * 200_000 + b"e"), {"0": F2})
pt("pt_wide_text", OPENS, pickled(text("a" * 20_000_000 + "\U0001F600")))
pt("pt_lists_of_nothing", "memory", pickled(b"](" + b"]" * (6 << 20) + b"e"))
pt("pt_deep_tuples", "limit|memory|too deep", pickled(b")" + b"\x85" * 200_000))
pt("pt_deep_key", OPENS, pickled(b"}" + b")" + b"\x85" * 200_000 + b"Ns"))
pt("pt_list_as_a_key", OPENS, pickled(b"}]Ns"))
pt("pt_mark_without_end", "is damaged", pickled(b"(N"))
pt("pt_nothing_on_the_stack", "is damaged", pickled(b"ss"))
pt("pt_class_as_a_value", OPENS, pickled(named("torch.FloatStorage")))


@case("a.pt", OPENS)
def pt_bare_pickle(folder: Path) -> None:
    (folder / "a.pt").write_bytes(EVIL)


@case("a.pt", OPENS)
def pt_before_version_1_6(folder: Path) -> None:
    (folder / "a.pt").write_bytes(pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2) + EVIL)


@case("a.pt", "is (not a checkpoint|damaged)")
def pt_tar(folder: Path) -> None:
    with tarfile.open(folder / "a.pt", "w") as t:
        for name in ("storages", "tensors", "pickle"):
            info = tarfile.TarInfo(name)
            info.size = len(EVIL)
            t.addfile(info, io.BytesIO(EVIL))


@case("a.pt", "more memory|wrong length")
def pt_zip_bomb(folder: Path) -> None:
    held = [("archive/data.pkl", pickled(GOOD)), ("archive/data/0", bytes(100 << 20))]
    (folder / "a.pt").write_bytes(stored(held, zipfile.ZIP_DEFLATED))


@case("a.pt", "wrong checksum")
def pt_wrong_checksum(folder: Path) -> None:
    data = stored([("archive/data.pkl", pickled(GOOD)), ("archive/data/0", F2)])
    (folder / "a.pt").write_bytes(data.replace(F2, F2[::-1]))


@case("a.pt", OPENS)
def pt_wrong_checksum_of_what_is_not_asked_for(folder: Path) -> None:
    data = stored([("archive/data.pkl", pickled(b"N")), ("archive/data/0", F2)])
    (folder / "a.pt").write_bytes(data.replace(F2, F2[::-1]))


@case("a.pt", "out of bounds|wrong head")
def pt_overlapping_members(folder: Path) -> None:
    data = bytearray(stored([("archive/data.pkl", pickled(GOOD)), ("archive/data/0", F2), ("archive/data/1", F2)]))
    at = data.rindex(b"PK\1\2")
    struct.pack_into("<I", data, at + 42, data.index(b"PK\3\4", 4))
    (folder / "a.pt").write_bytes(data)


# ------------------------------------------------------------------ .safetensors, folders


def header(data: bytes, more: bytes = b"") -> bytes:
    return struct.pack("<Q", len(data)) + data + more


def one(name: str = "a", at: int = 0) -> str:
    return f'"{name}":{{"dtype":"F32","shape":[2],"data_offsets":[{at},{at + 8}]}}'


GOOD_ONE = header(f"{{{one()}}}".encode(), F2)


def st(name: str, error: str, data: bytes) -> None:
    CASES[name] = Case(lambda folder: (folder / "a.safetensors").write_bytes(data), "a.safetensors", error)


st("st_length_past_the_file", "wrong length", struct.pack("<Q", 1 << 40) + b"{}")
st("st_length_of_100_MB", "wrong length", struct.pack("<Q", 100_000_000) + b"{}")
st("st_other_encoding", "is damaged", header(f"{{{one()}}}".encode("utf-16"), F2))
st("st_name_that_is_no_text", "is damaged", header(f"{{{one('~')}}}".encode().replace(b"~", b"\xff"), F2))
st("st_name_twice", "twice", header(f"{{{one()},{one('a', 8)}}}".encode(), F2 + F2))
st("st_overlap", "out of place", header(f"{{{one()},{one('b', 4)}}}".encode(), F2 + F2[:4]))
st("st_hole", "out of place", header(f"{{{one()},{one('b', 9)}}}".encode(), F2 + F2 + b"x"))
st("st_no_number", "no number", header(f"{{{one().replace('[2]', '[NaN]')}}}".encode(), F2))
st("st_deep", "is refused.* memory", header(b"[" * 2_000_000))
st("st_bomb", "memory", header(b"[" + b"[]," * (4 << 20) + b"[]]"))
st("st_huge_dimensions", "is damaged|limit", header(f'{{{one().replace("[2]", "[0," + str(1 << 70) + "]").replace(",8", ",0")}}}'.encode()))
st("st_many_dimensions", "is damaged", header(f'{{{one().replace("[2]", "[" + "1," * 10000 + "2]")}}}'.encode(), F2))


def index(name: str, error: str, write: Callable[[Path], Any], where: Any = None, text: bytes | None = None) -> None:
    """A case of a folder with an index."""

    def all_of(folder: Path) -> None:
        (folder / "dir").mkdir()
        write(folder / "dir")
        data = json.dumps({"weight_map": where}).encode() if text is None else text
        (folder / "dir" / "model.safetensors.index.json").write_bytes(data)

    CASES[name] = Case(all_of, "dir", error)


def shard(folder: Path) -> None:
    (folder / "a.safetensors").write_bytes(GOOD_ONE)


def outside(folder: Path) -> None:
    (folder.parent / "a.safetensors").write_bytes(GOOD_ONE)


index("index_leads_outside", "outside the folder", outside, {"a": "../a.safetensors"})
index("index_leads_to_the_root", "outside the folder", shard, {"a": "/etc/a.safetensors"})
index("index_leads_to_another_kind", "outside the folder", shard, {"a": "model.safetensors.index.json"})
index("index_leads_to_a_number", "outside the folder", shard, {"a": 1})
index("index_without_its_file", "No such file", lambda folder: None, {"a": "a.safetensors"})
index("index_of_another_tensor", "has no b", shard, {"b": "a.safetensors"})
index("index_to_a_link_to_itself", "links|symbolic",
      lambda folder: (folder / "a.safetensors").symlink_to("a.safetensors"), {"a": "a.safetensors"})
index("index_to_a_folder", "no file", lambda folder: (folder / "a.safetensors").mkdir(), {"a": "a.safetensors"})
index("index_to_a_pipe", "no file", lambda folder: os.mkfifo(folder / "a.safetensors"), {"a": "a.safetensors"})
index("index_of_lists", "is damaged", shard, [["a", "a.safetensors"]])
index("index_with_a_name_twice", "twice", shard,
      text=b'{"weight_map":{"a":"a.safetensors","a":"b.safetensors"}}')
index("index_bomb", "memory", shard, text=b'{"weight_map":[' + b"[]," * (4 << 20) + b"[]]}")



# ------------------------------------------------------------------ the process

SECONDS = 30
PICKLED = 48  # bytes of memory for a byte of a pickle


def answer(s: Session, name: str, folder: Path) -> dict[str, Any]:
    """What becomes of a case: `error`, None if there was none; `whole`: are names, values and handles as they were?;
    `beyond`: the bytes of memory needed at most, beside twice the size of the files, and what a pickle may need."""
    case = CASES[name]
    case.write(folder)
    path = folder / case.name
    size = size_of(path)
    start, handles, error = peak_from_here(), len(s.handles), None
    try:
        s.run(reading(path))
    except QError as e:
        error = e.text
    peak = memory("VmHWM") - start
    whole = s.run(f"before~({STATE};`before _ value`.)") and len(s.handles) == handles
    allowed = (2 + PICKLED * case.name.endswith(".pt")) * size
    return {"error": error, "whole": bool(whole), "beyond": peak - allowed}


def main() -> None:
    """Answer until there are no more requests."""
    snapshot()
    s = Session(out=io.StringIO(), err=io.StringIO())
    s.run(WHOLE.replace("50", "60").replace(".1", ".2"))
    s["before"] = s.run(f"({STATE};value`.)")
    for line in sys.stdin:
        name, folder = json.loads(line)
        signal.alarm(SECONDS)
        try:
            found = answer(s, name, Path(folder))
        except BaseException as e:
            found = {"error": f"not caught: {e!r}", "whole": False, "beyond": 0}
        signal.alarm(0)
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
