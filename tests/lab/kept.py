# SPDX-License-Identifier: BSD-3-Clause
"""Recordings that are kept as archives, without the directories of the machine that they were made on."""

import io
import lzma
import re
import tarfile
from pathlib import Path

import numpy as np
from raw_writer import CHUNK_BYTES, CHUNK_MAGIC, HEADER_BYTES, RANK, crc32c, pack

from rankwise.recording import layouts


def unpack(archive: Path, directory: Path) -> Path:
    """Unpack an archive into this directory."""
    # Not all versions of Python 3.10 and 3.11 have filters, later ones want one.
    safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(archive) as opened:
        opened.extractall(directory, **safe)
    return directory


def hidden(content: bytes) -> bytes:
    """Where files lie is nobody's business; as long as it was, because positions are counted."""
    return re.sub(rb'(?<![\w.])/[^\0"\s]*/', lambda found: b"/" + b"x" * (len(found[0]) - 2) + b"/", content)


def sealed_anew(raw: bytes) -> bytes:
    """A raw file with no directories in its ranks' records, and checksums that fit (formats/recording.h)."""
    found, at = bytearray(raw), HEADER_BYTES
    while at < len(found):
        header = np.frombuffer(found, layouts.CHUNK_HEADER, 1, at)[0].copy()
        if header["magic"] == CHUNK_MAGIC and header["kind"] == RANK:
            state, begin = int(header["seal"]) & 0xFFFFFFFF, at + header.nbytes
            end = begin + (state & layouts.SEAL_BYTES)
            found[begin:end] = hidden(bytes(found[begin:end]))
            same = ("kind", "chunks", "rank_chunk", "sequence", "first_chunk", "run")
            sealed = pack(layouts.SEALED, checked=state, **{name: header[name] for name in same})
            header["seal"] = crc32c(found[begin:end] + sealed) << 32 | state
            found[at:begin] = header.tobytes()
        at += CHUNK_BYTES * (int(header["chunks"]) if header["magic"] == CHUNK_MAGIC else 1)
    return bytes(found)


def archive(files: dict[str, bytes]) -> bytes:
    """An archive of files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return lzma.compress(packed.getvalue(), preset=9)
