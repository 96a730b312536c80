"""Pillow behind plain grey pages: the one module that opens image files; all of its exceptions become ours here."""

from __future__ import annotations

import struct
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from PIL import AvifImagePlugin, ExifTags, Image, ImageChops, ImageFile, ImageSequence

from streams.errors import DocumentError

HEIF = "HEIF"
"""Pillow's name for what pillow-heif opens."""

FORMATS = {
    "image/png": "PNG",
    "image/jpeg": "JPEG",
    "image/tiff": "TIFF",
    "image/gif": "GIF",
    "image/bmp": "BMP",
    "image/webp": "WEBP",
    "image/avif": "AVIF",
    "image/heic": HEIF,
    "image/heic-sequence": HEIF,
    "image/heif": HEIF,
    "image/heif-sequence": HEIF,
}
"""Media types that are read, with Pillow's names; an opener of no other format ever sees the bytes."""

MAX_DECODED_BYTES = 640 << 20
"""Bytes that the pixels of one frame may take while they are decoded; a slot has 1.5 GB."""

MAX_SIDE = 1 << 17
"""Pixels of one side; more is no picture of anything."""

MAX_RATIO = 20_000
"""Pixels for each byte of the file, above 100 million of them: a blank sheet of fax compresses 1:1000."""

AvifImagePlugin.DEFAULT_MAX_THREADS = 1
Image.MAX_IMAGE_PIXELS = None  # the limits are above; Pillow's own is a warning first and an error at twice that


class FrameInfo(NamedTuple):
    """A frame as displayed: its size in pixels, and their number per inch where the file says it credibly."""

    width: int
    height: int
    dpi: float | None


# Pillow raises whatever its decoders meet in damaged data; these are all a document's fault here.
_FAULTS: tuple[type[Exception], ...] = (
    OSError,
    SyntaxError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    EOFError,
    struct.error,
    zlib.error,
    NotImplementedError,
    RuntimeError,
)

_SWAPS = (5, 6, 7, 8)  # EXIF orientations that exchange width and height
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


class Picture:
    """An open image file. Frames are numbered from 1."""

    def __init__(self, image: Any, path: Path, size: int) -> None:
        self._image = image
        self._path = path
        self._size = size
        self.truncated = image.format == "PNG" and not _sums_agree(path)  # Pillow reads over changed data

    def frames(self, most: int) -> list[FrameInfo]:
        """All frames of a TIFF, the first of every other format (an animation shows one picture).

        Raises:
            DocumentError: `too_large` for more than `most` frames, `bomb`, `corrupt`.
        """
        found: list[FrameInfo] = []
        try:
            for frame in ImageSequence.Iterator(self._image):
                if len(found) == most:
                    raise DocumentError("too_large", f"It has more than {most} pages.")
                found.append(self._info(frame))
                if self._image.format != "TIFF":
                    break
        except DocumentError:
            raise
        except _FAULTS as error:
            if not found:
                raise _damage(error) from error
            self.truncated = True  # the frames so far can be read
        return found

    def _info(self, frame: Any) -> FrameInfo:
        width, height = frame.size
        if max(width, height) > MAX_SIDE or (width * height > 10**8 and width * height > MAX_RATIO * self._size):
            raise DocumentError("bomb", f"{width} x {height} pixels in {self._size} bytes.")
        if _orientation(frame) in _SWAPS:
            width, height = height, width
        return FrameInfo(width, height, _dpi(frame))

    def gray(self, number: int, max_pixels: int) -> Image.Image:
        """Frame `number` as displayed, in grey on white, scaled down to `max_pixels`. Cut-off data leaves grey below.

        Raises:
            DocumentError: `too_large` when its pixels take more than `MAX_DECODED_BYTES`, `corrupt`, `truncated`.
        """
        try:
            return self._decoded(self._image, number, max_pixels)
        except DocumentError:
            raise
        except _FAULTS as error:
            try:
                with Image.open(self._path, formats=[self._image.format]) as again:
                    page = _with_gaps(lambda: self._decoded(again, number, max_pixels))
            except _FAULTS:
                raise _damage(error) from error
            self.truncated = True
            return page

    def _decoded(self, image: Any, number: int, max_pixels: int) -> Image.Image:
        image.seek(number - 1)
        info = self._info(image)
        if image.format == "JPEG" and info.width * info.height > max_pixels:
            shrink = (max_pixels / (info.width * info.height)) ** 0.5
            image.draft("L", (int(image.width * shrink), int(image.height * shrink)))
        if image.width * image.height * _bytes_per_pixel(image.mode) > MAX_DECODED_BYTES:
            raise DocumentError("too_large", f"{info.width} x {info.height} pixels take too much memory.")
        turn = _TURNS.get(_orientation(image))
        image.load()
        page = scaled(_gray(image), max_pixels)
        return page.transpose(turn) if turn is not None else page


def _sums_agree(path: Path) -> bool:
    """Whether the chunks of a PNG are as they were written (PNG, third edition, 5.3)."""
    with path.open("rb") as file:
        file.seek(8)
        while len(head := file.read(8)) == 8:
            length, kind = struct.unpack(">I4s", head)
            found = zlib.crc32(kind)
            while length and (data := file.read(min(length, 1 << 20))):
                found = zlib.crc32(data, found)
                length -= len(data)
            if length or file.read(4) != struct.pack(">I", found):
                return False
            if kind == b"IEND":
                return True
    return False


def _box_is_cut(path: Path, size: int) -> bool:
    """Whether a box of the outermost level is longer than the file (ISO/IEC 14496-12, 4.2)."""
    at = 0
    with path.open("rb") as file:
        while size - at >= 8:
            file.seek(at)
            head = file.read(16)
            length = int.from_bytes(head[:4], "big")
            if length == 1:
                length = int.from_bytes(head[8:16], "big")
            if length < 8:
                return length != 0  # 0: it reaches to the end of the file
            at += length
    return at > size


def _with_gaps(decode: Callable[[], Image.Image]) -> Image.Image:
    """What can be decoded of damaged data; what is missing stays dark or grey."""
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    try:
        return decode()
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = False


def _damage(error: Exception) -> DocumentError:
    said = str(error).strip() or type(error).__name__
    cut = "truncated" in said or "Truncated" in said or isinstance(error, EOFError) or "unexpected end" in said
    return DocumentError("truncated" if cut else "corrupt", f"The image can't be read: {said[:200]}.")


def _bytes_per_pixel(mode: str) -> int:
    return {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16B": 2, "LA": 4}.get(mode, 4)


def _orientation(image: Any) -> int:
    try:
        return int(image.getexif().get(ExifTags.Base.Orientation, 1))
    except _FAULTS:
        return 1


def _dpi(image: Any) -> float | None:
    try:
        across, down = (float(value) for value in image.info["dpi"])
    except _FAULTS:
        return None
    credible = 72 < across <= 1200 and abs(across - down) < 0.02 * across  # 72 is what programs write who don't know
    return round(across, 1) if credible else None


def _gray(image: Any) -> Image.Image:
    """Any mode as grey 8 bit; what is transparent is white, as paper is."""
    if image.mode in ("I", "F", "I;16", "I;16B", "I;16L"):
        return _deep(image)
    if image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info:
        image = image.convert("RGBA")
        alpha = image.getchannel("A")
        page = Image.new("L", image.size, 255)
        page.paste(image.convert("L"), mask=alpha)
        return page
    if image.mode == "CMYK":
        image = image.convert("RGB")
    # a copy, for the file's own image ends with the file and changes with the next frame
    found: Image.Image = image.copy() if image.mode == "L" else image.convert("L")
    return found


def _deep(image: Any) -> Image.Image:
    """More than 8 bits: from the darkest to the lightest value."""
    wide = image.convert("F") if image.mode == "F" else image.convert("I")
    low, high = wide.getextrema()
    if image.mode.startswith("I;16") or (image.mode == "I" and 255 < high <= 65535 and low >= 0):
        low, high = 0, 65535
    scale = 255.0 / ((high - low) or 1)
    return Image.Image.convert(wide.point(lambda value: value * scale + -low * scale), "L")


def scaled(image: Image.Image, max_pixels: int) -> Image.Image:
    """An image with at most `max_pixels`; smaller ones as they are."""
    width, height = image.size
    if width * height <= max_pixels:
        return image
    factor = (max_pixels / (width * height)) ** 0.5
    size = max(1, int(width * factor)), max(1, int(height * factor))
    return image.resize(size, Image.Resampling.BOX if factor < 0.5 else Image.Resampling.BICUBIC)


def resized(image: Image.Image, factor: float) -> Image.Image:
    """An image `factor` times as wide and as high."""
    size = max(1, round(image.width * factor)), max(1, round(image.height * factor))
    return image.resize(size, Image.Resampling.BICUBIC)


def turned(image: Image.Image, degrees: int) -> Image.Image:
    """An image turned clockwise by 0, 90, 180 or 270 degrees."""
    turn = {90: Image.Transpose.ROTATE_270, 180: Image.Transpose.ROTATE_180, 270: Image.Transpose.ROTATE_90}
    return image.transpose(turn[degrees]) if degrees % 360 else image


def straightened(image: Image.Image, degrees: float) -> Image.Image:
    """An image turned clockwise by a few degrees about its middle; its size stays, its corners become white."""
    return image.rotate(-degrees, Image.Resampling.BICUBIC, fillcolor=255)


def inverted(image: Image.Image) -> Image.Image:
    """Dark for light."""
    return ImageChops.invert(image)


@cache
def _has_heif() -> bool:
    """Whether pillow-heif is there; then Pillow opens what it reads, with one thread as all slots work with."""
    try:
        import pillow_heif
    except ImportError:
        return False
    pillow_heif.options.DECODE_THREADS = 1
    pillow_heif.register_heif_opener(thumbnails=False)
    return True


@contextmanager
def open_picture(path: Path, media_type: str) -> Iterator[Picture]:
    """Open the image at `path`.

    Raises:
        DocumentError: `truncated`, `corrupt`, or `unsupported_format` for a media type that is not in `FORMATS`.
    """
    name = FORMATS.get(media_type)
    if name is None:
        raise DocumentError("unsupported_format", f"No reader for {media_type} is installed.")
    if name == HEIF and not _has_heif():
        message = f"No reader for {media_type} is installed; `pip install pillow-heif` brings one."
        raise DocumentError("unsupported_format", message)
    size = path.stat().st_size
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd metadata; nothing that changes the picture
            image = Image.open(path, formats=[name])
    except _FAULTS as error:
        if size < 32 or (name in ("AVIF", HEIF) and _box_is_cut(path, size)):
            raise DocumentError("truncated", "It ends before the picture does.") from error
        raise _damage(error) from error
    try:
        yield Picture(image, path, size)
    finally:
        image.close()
