"""Texts of our own in many languages, the damage that is done to them, and canon bodies around them."""

from __future__ import annotations

from streams.records import Block, BlockKind, BlockSource, CanonBody, Page

TEXTS = {
    "en": "The canal was dug by hand, and the first lock was opened with music in the spring of that year, when the "
    "road was not yet built. Clay from the cut was carried away in carts and used for bricks in half the houses.",
    "de": "Die Müller müssen früh aufstehen, weil die Bäcker schöne weiße Brötchen für die Gäste backen möchten. "
    "Während der Ernte hört man überall Räder, und die Größe der Käselaibe wird täglich geprüft.",
    "fr": "L’école est fermée à Noël, où l’élève a déjà reçu son cadeau. Ça coûte très cher, mais la bibliothèque "
    "française reste ouverte à côté de la mairie, près de l’église où l’on répète chaque soirée.",
    "es": "El niño pequeño comió jamón y piña en el jardín. ¿Dónde está la canción que mañana cantará su tío? "
    "También aquí el otoño trae lluvia, y la montaña está más cerca de lo que parecía.",
    "pt": "Não há informação sobre a situação da educação, e a decisão não é fácil. À noite as crianças vão à praça, "
    "onde o padeiro já está a vender pão quente e maçãs do verão.",
    "it": "Perché la città è così tranquilla? Il mercato è già chiuso, però più tardi arriverà il caffè dalla collina, "
    "e la società del teatro aprirà le porte con una novità.",
    "cs": "Dílna je do čtvrtka zavřená. Klíč má hlídač ve druhém domě za mostem, žebřík vraťte do kůlny a světlo "
    "zhasněte. V sobotu se bude natírat plot a večer přijdou sousedé na polévku.",
    "pl": "Książka leży na półce, a świat się śmieje. Wczoraj wróciliśmy później niż zwykle, więc światło w oknie było "
    "już zgaszone. Proszę zamknąć drzwi i położyć klucze na stół.",
    "hu": "Az őszi szőlő érett, a gyűjtő örül. A könyvtár hétfőtől péntekig nyitva van, kérjük hozza magával az "
    "igazolványát, és őrizze meg a sorszámot, amíg sorra kerül.",
    "tr": "Çocuklar bahçede oynuyor, ağaçlar yeşil ve güneş parlıyor. Kütüphane pazartesiden cumaya kadar açık, lütfen "
    "kimliğinizi yanınızda getirin ve sıranızı bekleyin.",
    "ro": "Biblioteca este deschisă până vineri, iar cărțile și hărțile se împrumută la ghișeu. Așa că țineți minte să "
    "aduceți și legitimația, fiindcă fără ea nu puteți intra în sală.",
    "sv": "Biblioteket är öppet från måndag till fredag. Ta med din legitimation och vänta på din tur. På våren är det "
    "öppet även på lördagar, då också kaféet vid ån är öppet.",
    "is": "Bókasafnið er opið frá mánudegi til föstudags. Það þarf að hafa með sér skilríki og bíða eftir því að röðin "
    "komi að manni, því að margir koma á sama tíma.",
    "vi": "Thư viện mở cửa từ thứ hai đến thứ sáu. Bạn đọc có thẻ hết hạn vui lòng đến quầy dịch vụ để làm thủ tục, và "
    "nhớ mang theo giấy tờ khi đến nhận thẻ mới.",
    "ru": "Склад открыт с понедельника по пятницу. Заявки принимаются утром, а товар выдаётся после обеда. Лестница "
    "стоит у северной двери, ключ лежит у сторожа, он живёт во втором доме за мостом.",
    "uk": "Склад відчинено з понеділка до п’ятниці. Заявки приймаються вранці, а товар видають після обіду. Драбина "
    "стоїть біля північних дверей, ключ має сторож, він живе у другому будинку.",
    "el": "Το πλοίο φεύγει κάθε πρωί στις επτά από το μικρό λιμάνι. Τα εισιτήρια πωλούνται στο καφενείο δίπλα στην "
    "εκκλησία, και όποιος θέλει να κάθεται στη σκιά πρέπει να έρθει νωρίς.",
    "he": "הספרייה פתוחה מיום ראשון עד יום חמישי. נא להביא תעודה מזהה ולחכות לתור, כי הרבה אנשים באים באותה שעה.",
    "ar": "المكتبة مفتوحة من يوم الأحد إلى يوم الخميس. يرجى إحضار بطاقة الهوية وانتظار الدور لأن كثيرا من الناس يأتون.",
    "hi": "पुस्तकालय सोमवार से शुक्रवार तक खुला रहता है। कृपया पहचान पत्र साथ लाएं और अपनी बारी का इंतजार करें।",
    "th": "ห้องสมุดเปิดตั้งแต่วันจันทร์ถึงวันศุกร์ กรุณานำบัตรประชาชนมาด้วย และรอคิวที่หน้าเคาน์เตอร์",
    "ja": "来週の月曜日から、二階の会議室は改装工事のため使えません。打ち合わせには三階の小会議室を使ってください。",
    "zh": "从下周一开始，阅览室的开放时间改为上午九点到下午五点。借书证过期的读者请到服务台办理手续，并带上身份证件。",
    "ko": "도서관은 월요일부터 금요일까지 엽니다. 신분증을 가지고 오시고 차례를 기다려 주십시오.",
}
UNLISTED = {
    "et": "Raamatukogu on avatud esmaspäevast reedeni. Palume kaasa võtta isikut tõendav dokument. Laenutamine toimub "
    "teisel korrusel, tagastamine fuajees. Suvel on lahtiolekuajad lühemad ja lugemissaal on suletud kogu juulikuu "
    "jooksul remondi tõttu.",
    "cy": "Mae'r llyfrgell ar agor o ddydd Llun i ddydd Gwener. Dewch â dogfen adnabod gyda chi os gwelwch yn dda. Mae "
    "benthyca ar yr ail lawr, a dychwelyd yn y cyntedd. Yn yr haf mae'r oriau yn fyrrach.",
}
"""Languages without a word list."""

SPACED = sorted(set(TEXTS) - {"th", "ja", "zh", "ko"})
MEMO = (
    "To all: the lift stops at noon on Friday for two hours. Please take the stairs near the kitchen. "
    "Thanks, the house team"
)


def paragraph(text: str, *, kind: BlockKind = BlockKind.PARAGRAPH, page: int | None = None) -> Block:
    return Block(kind=kind, text=text, page=page, source=BlockSource.MARKUP)


def canon(
    *blocks: Block | str, media_type: str = "text/plain", language: str | None = None, pages: list[Page] | None = None
) -> CanonBody:
    return CanonBody(
        content_hash="0" * 64,
        fingerprint="f",
        extractor="test",
        extractor_version="1",
        media_type=media_type,
        language=language,
        pages=pages or [],
        page_count=len(pages) if pages else None,
        blocks=[paragraph(b) if isinstance(b, str) else b for b in blocks],
    )


def page(number: int, *, image_area: float = 0.0, source: BlockSource = BlockSource.TEXT_LAYER) -> Page:
    return Page(number=number, width=595, height=842, source=source, image_area=image_area)


def pdf(*texts: str, image_area: float = 0.0, kind: BlockKind = BlockKind.PARAGRAPH) -> CanonBody:
    """One page for each text."""
    return canon(
        *(paragraph(text, page=n, kind=kind) for n, text in enumerate(texts, 1) if text),
        media_type="application/pdf",
        pages=[page(n, image_area=image_area) for n in range(1, len(texts) + 1)],
    )


def shifted(text: str, by: int = 3) -> str:
    """Letters moved along the alphabet, as a font without a way back gives them."""
    return "".join(chr((ord(c.lower()) - 97 + by) % 26 + 97) if c.isascii() and c.isalpha() else c for c in text)


def raw_codes(text: str) -> str:
    """Glyph numbers shown as characters: everything 29 lower, spaces as control characters."""
    return "".join(chr(ord(c) - 29) if 32 <= ord(c) < 127 else c for c in text)
