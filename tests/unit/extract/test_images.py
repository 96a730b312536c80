"""Picture files of every kind as pages: how they are stored must not show."""

from __future__ import annotations

import io
import struct
import sys
import tracemalloc
import zlib
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from streams.errors import DocumentError
from streams.extract.images import extract
from streams.extract.outcome import Draft, Request
from streams.extract.tools import pillow
from streams.extract.tools.pillow import open_picture
from streams.records import Detection

KINDS = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "tif": "image/tiff",
    "gif": "image/gif",
    "bmp": "image/bmp",
    "webp": "image/webp",
    "avif": "image/avif",
    "heic": "image/heic",
}

try:
    import pillow_heif
except ImportError:
    KINDS.pop("heic")
else:
    pillow_heif.register_heif_opener()


def _draft(path: Path) -> Draft:
    detection = Detection(media_type=KINDS[path.suffix[1:]], detected_by="test")
    return extract(Request(path=path, detection=detection, max_pages=5))


def _gray(path: Path, number: int = 1, max_pixels: int = 1 << 20) -> Image.Image:
    with open_picture(path, KINDS[path.suffix[1:]]) as picture:
        return picture.gray(number, max_pixels)


def _marked(mode: str = "L", size: tuple[int, int] = (120, 80)) -> Image.Image:
    """Black in the upper left corner, white elsewhere."""
    image = Image.new("L", size, 255)
    ImageDraw.Draw(image).rectangle((0, 0, 29, 19), fill=0)
    return image if mode == "L" else image.convert("RGB").convert(mode)


def _is_marked(image: Image.Image, size: tuple[int, int] = (120, 80)) -> bool:
    dark, light = image.getpixel((8, 8)), image.getpixel((size[0] - 8, size[1] - 8))
    assert isinstance(dark, (int, float))
    assert isinstance(light, (int, float))
    return image.mode == "L" and image.size == size and dark < 20 and light > 235


MODES = {
    "jpg": ["L", "RGB", "CMYK"],
    "tif": ["L", "RGB", "P", "1", "CMYK"],
    "webp": ["L", "RGB"],
    "avif": ["L", "RGB"],
    "heic": ["L", "RGB"],
}
"""Of pixels, where a kind does not hold the usual ones."""


@pytest.mark.parametrize(
    ("kind", "mode"), [(k, m) for k in sorted(KINDS) for m in MODES.get(k, ["L", "RGB", "P", "1"])]
)
def test_kinds_and_modes_give_the_same_gray_page(tmp_path: Path, kind: str, mode: str) -> None:
    path = tmp_path / f"page.{kind}"
    _marked(mode).save(path)
    assert _is_marked(_gray(path))
    draft = _draft(path)
    assert (draft.page_count, draft.warnings, draft.blocks) == (1, [], [])
    points = 0.75 if kind == "bmp" else 1.0  # Pillow writes 96 dpi into a BMP, and nothing into the others
    assert (draft.pages[0].width, draft.pages[0].height) == (120 * points, 80 * points)
    assert draft.pages[0].image_area == 1.0


def test_transparent_is_white(tmp_path: Path) -> None:
    image = Image.new("RGBA", (120, 80), (0, 0, 0, 0))
    ImageDraw.Draw(image).rectangle((0, 0, 29, 19), fill=(0, 0, 0, 255))
    image.save(tmp_path / "page.png")
    image.save(tmp_path / "page.webp", lossless=True)
    image.convert("LA").save(tmp_path / "gray.png")
    assert _is_marked(_gray(tmp_path / "page.png"))
    assert _is_marked(_gray(tmp_path / "page.webp"))
    assert _is_marked(_gray(tmp_path / "gray.png"))


@pytest.mark.parametrize("kind", ["png", "tif"])
def test_sixteen_bits(tmp_path: Path, kind: str) -> None:
    deep = Image.frombytes("I;16", (120, 80), b"".join(struct.pack("<H", v * 257) for v in _marked().tobytes()))
    deep.save(tmp_path / f"deep.{kind}")
    assert _is_marked(_gray(tmp_path / f"deep.{kind}"))


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_carried_out(tmp_path: Path, orientation: int) -> None:
    undo = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }
    stored = _marked() if orientation == 1 else _marked().transpose(undo[orientation])
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored.save(tmp_path / "photo.jpg", exif=exif, quality=95)
    assert _is_marked(_gray(tmp_path / "photo.jpg"))
    page = _draft(tmp_path / "photo.jpg").pages[0]
    assert (page.width, page.height) == (120, 80)


def test_every_frame_of_a_tiff_is_a_page_and_only_the_first_of_a_gif(tmp_path: Path) -> None:
    frames = [_marked(), Image.new("L", (60, 90), 255), _marked(size=(200, 100))]
    frames[0].save(tmp_path / "pages.tif", save_all=True, append_images=frames[1:], dpi=(144, 144))
    frames[0].save(tmp_path / "film.gif", save_all=True, append_images=frames[1:])
    pages = _draft(tmp_path / "pages.tif").pages
    assert [(page.number, page.width, page.height) for page in pages] == [(1, 60, 40), (2, 30, 45), (3, 100, 50)]
    assert _is_marked(_gray(tmp_path / "pages.tif", 3), (200, 100))
    assert _draft(tmp_path / "film.gif").page_count == 1


@pytest.mark.parametrize("kind", ["webp", "avif"])
def test_an_animation_shows_its_first_picture(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"film.{kind}"
    frames = [_marked(), Image.new("L", (120, 80), 255), Image.new("L", (120, 80), 0)]
    frames[0].convert("RGB").save(path, save_all=True, append_images=[f.convert("RGB") for f in frames[1:]])
    assert _draft(path).page_count == 1
    assert _is_marked(_gray(path))


def test_without_its_library_heic_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pillow_heif", None)  # importing it fails
    pillow._has_heif.cache_clear()
    path = tmp_path / "photo.heic"
    path.write_bytes(b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic" + bytes(200))
    try:
        with pytest.raises(DocumentError) as caught, open_picture(path, "image/heic"):
            pass
    finally:
        pillow._has_heif.cache_clear()
    assert caught.value.problem == "unsupported_format"
    assert "pip install pillow-heif" in caught.value.message


@pytest.mark.parametrize(("kind", "mode"), [("png", "LA"), ("png", "PA"), ("tif", "RGBA"), ("gif", "P")])
def test_what_shines_through_is_paper(tmp_path: Path, kind: str, mode: str) -> None:
    image = Image.new("RGBA", (120, 80), (0, 0, 0, 0))
    ImageDraw.Draw(image).rectangle((0, 0, 29, 19), fill=(0, 0, 0, 255))
    path = tmp_path / f"page.{kind}"
    if kind == "gif":
        flat = _marked("P")
        flat.info["transparency"] = flat.getpixel((100, 60))
        flat.save(path, transparency=flat.getpixel((100, 60)))
    else:
        image.convert("RGBA" if mode == "PA" else mode).save(path)
    assert _is_marked(_gray(path))


def test_ink_of_four_colours_is_black_where_it_is_full(tmp_path: Path) -> None:
    image = Image.new("CMYK", (120, 80), (0, 0, 0, 0))
    ImageDraw.Draw(image).rectangle((0, 0, 29, 19), fill=(0, 0, 0, 255))
    for kind in ("jpg", "tif"):
        image.save(tmp_path / f"page.{kind}", quality=95)
        assert _is_marked(_gray(tmp_path / f"page.{kind}"))


def test_three_hundred_pages_take_the_memory_of_one(tmp_path: Path) -> None:
    page = Image.new("1", (1200, 1600), 1)
    page.save(tmp_path / "fax.tif", save_all=True, append_images=[page] * 299, compression="group4")
    detection = Detection(media_type="image/tiff", detected_by="test")
    tracemalloc.start()
    draft = extract(Request(path=tmp_path / "fax.tif", detection=detection, max_pages=300))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert draft.page_count == 300
    assert most < 20 << 20
    assert _gray(tmp_path / "fax.tif", 300).size == (886, 1182)


def test_more_frames_than_allowed(tmp_path: Path) -> None:
    _marked().save(tmp_path / "pages.tif", save_all=True, append_images=[_marked()] * 5)
    with pytest.raises(DocumentError) as caught:
        _draft(tmp_path / "pages.tif")
    assert caught.value.problem == "too_large"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "webp"])
def test_cut_off_pictures_are_said_to_be(tmp_path: Path, kind: str) -> None:
    noise = Image.effect_noise((400, 300), 90)
    noise.save(tmp_path / f"whole.{kind}")
    data = (tmp_path / f"whole.{kind}").read_bytes()
    path = tmp_path / f"cut.{kind}"
    path.write_bytes(data[: len(data) * 6 // 10])
    if kind == "avif":  # its decoder takes all or nothing
        with pytest.raises(DocumentError) as caught:
            _draft(path)
        assert caught.value.problem == "truncated"
    else:
        assert _draft(path).warnings == ["truncated"]


def test_half_a_png_still_shows_its_upper_half(tmp_path: Path) -> None:
    image = Image.effect_noise((400, 300), 90)
    ImageDraw.Draw(image).rectangle((0, 0, 399, 40), fill=0)
    data = io.BytesIO()
    image.save(data, "PNG")
    (tmp_path / "cut.png").write_bytes(data.getvalue()[: len(data.getvalue()) // 2])
    with open_picture(tmp_path / "cut.png", "image/png") as picture:
        assert picture.gray(1, 1 << 20).getpixel((200, 20)) == 0
        assert picture.truncated


def test_garbage_and_wrong_kinds_are_no_pictures(tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(500))
    _marked().save(tmp_path / "real.gif")
    (tmp_path / "y.png").write_bytes((tmp_path / "real.gif").read_bytes())
    (tmp_path / "z.png").write_bytes(b"")
    for name, problems in (("x", {"corrupt"}), ("y", {"corrupt"}), ("z", {"truncated"})):
        with pytest.raises(DocumentError) as caught:
            _draft(tmp_path / f"{name}.png")
        assert caught.value.problem in problems


def _png(width: int, height: int, data: bytes) -> bytes:
    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def test_pixels_beyond_all_measure_are_a_bomb(tmp_path: Path) -> None:
    (tmp_path / "bomb.png").write_bytes(_png(100_000, 100_000, zlib.compress(bytes(1000))))
    with pytest.raises(DocumentError) as caught:
        _draft(tmp_path / "bomb.png")
    assert caught.value.problem == "bomb"


def test_long_pictures_are_scaled_under_the_limit(tmp_path: Path) -> None:
    _marked(size=(1000, 35_000)).save(tmp_path / "long.png")
    image = _gray(tmp_path / "long.png", max_pixels=1 << 20)
    assert image.width * image.height <= 1 << 20
    assert image.height / image.width == pytest.approx(35, rel=0.02)


def test_a_png_whose_data_were_changed_says_so(tmp_path: Path) -> None:
    path = tmp_path / "page.png"
    _marked().save(path)
    data = bytearray(path.read_bytes())
    at = data.index(b"IDAT") + 4
    data[at + 30] ^= 0xFF
    whole = _draft(path).warnings
    path.write_bytes(data)
    try:
        found = _draft(path).warnings
    except DocumentError as error:
        found = [error.problem]
    assert (whole, found) in [([], ["truncated"]), ([], ["corrupt"])]
    _marked().save(path)
    data = bytearray(path.read_bytes())
    end = data.index(b"IEND") - 8  # the sum of the chunk before
    data[end] ^= 0xFF
    path.write_bytes(data)
    assert _draft(path).warnings == ["truncated"]
